// 32-bit Arm with NEON and fma: sixteen registers of four lanes.
#include "common/build.hpp"

#if FOVEA_WITH_NEON
#include "isa/neon_isa.hpp"
#include "isa/operations.hpp"

namespace fovea::f32 {
namespace {
struct neon : neon_isa {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  using product_shapes = shapes;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

template <>
struct registers_of<isa::neon> {
  using type = neon;
};
template struct operations<isa::neon>;

} // namespace fovea::f32
#endif
