// x86 without fma: every product is rounded before it is added, so this ISA alone carries no bit promise.
#include "common/build.hpp"

#if FOVEA_WITH_SSE41
#include "isa/operations.hpp"
#include "isa/xsimd_isa.hpp"

namespace fovea::f32 {
namespace {
struct sse41 : xsimd_isa<xsimd::sse4_1> {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  using product_shapes = shapes;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

template <>
struct registers_of<isa::sse41> {
  using type = sse41;
};
template struct operations<isa::sse41>;

} // namespace fovea::f32
#endif
