// x86 without fma: every product is rounded before it is added, so this ISA alone carries no bit promise.
#include "common/build.hpp"

#if FOVEA_WITH_SSE41
#include "f32/kernel/attend.hpp"
#include "isa/table.hpp"
#include "isa/xsimd_isa.hpp"

namespace fovea::f32 {
namespace {
struct sse41 : xsimd_isa<xsimd::sse4_1> {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace
const kernel sse41_kernel = kernel_of<sse41>(FOVEA_SSE41);
} // namespace fovea::f32
#endif
