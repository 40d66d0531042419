// x86 without fma: every product is rounded before it is added, so this ISA alone carries no bit promise.
#include "build.hpp"

#if FOVEA_WITH_SSE41
#include "isa/table.hpp"
#include "kernel/attend.hpp"
#include "kernel/xsimd_isa.hpp"

namespace fovea {
namespace {
struct sse41 : xsimd_isa<xsimd::sse4_1> {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace
const kernel sse41_kernel = kernel_of<sse41>(FOVEA_SSE41);
} // namespace fovea
#endif
