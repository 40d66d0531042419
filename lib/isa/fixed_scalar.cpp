// Integer attention on any core: the reference.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_SCALAR
#include "fixed/reference.hpp"
#include "fixed/row_product.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

void attend_reference(const fixed_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) scalar_row(job, job.row + r, job.scratch).attend();
}
size_t reference_scratch(const fixed_plan& p, int32_t) { return scalar_row::scratch(p); }

struct plain_core {
  using element = int8_t;
  static void put(const int8_t (&x)[16], int8_t* to) { std::memcpy(to, x, sizeof x); }
  static void multiply(const int8_t* x, const int8_t* panel, int32_t depth, int32_t* sums) {
    for (int lane = 0; lane < 16; ++lane) sums[lane] = 0;
    for (int32_t c = 0; c < depth; ++c)
      for (int lane = 0; lane < 16; ++lane) sums[lane] += x[c] * panel[in_panel(lane, c)];
  }
};

} // namespace
const fixed_kernel fixed_scalar_kernel = {FOVEA_FIXED_SCALAR, 1, reference_scratch, attend_reference};
const fixed_product fixed_scalar_product = row_product<plain_core>::exact(FOVEA_FIXED_SCALAR);
const fixed_layer fixed_scalar_layer = layer_of<row_product<plain_core>>::at(FOVEA_FIXED_SCALAR);
const fixed_scaling fixed_scalar_scaling = fixed_scaling_of<group_product<row_product<plain_core>>>(
    FOVEA_FIXED_SCALAR);
} // namespace fovea::fixed
#endif
