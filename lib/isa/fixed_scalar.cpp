// Integer attention on any core: the reference.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_SCALAR
#include "fixed/reference.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

void attend_reference(const fixed_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) scalar_row(job, job.row + r, job.scratch).attend();
}
size_t reference_scratch(const fixed_plan& p, int32_t) { return scalar_row::scratch(p); }

} // namespace
const fixed_kernel fixed_scalar_kernel = {
    FOVEA_FIXED_SCALAR, 1, reference_scratch, attend_reference, {nullptr, 1}, {nullptr, 1}};
} // namespace fovea::fixed
#endif
