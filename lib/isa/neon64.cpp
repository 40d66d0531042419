// 64-bit Arm: 32 registers of four lanes, a tile of 4 x 16 takes sixteen, so that eight can wait for the next
// vector.
#include "common/build.hpp"

#if FOVEA_WITH_NEON64
#include "isa/neon_isa.hpp"
#include "isa/operations.hpp"

namespace fovea::f32 {
namespace {
struct neon64 : neon_isa {
  using shapes = shape_list<shape<4, 1>, shape<2, 2>, shape<1, 4>>;
  using product_shapes = shapes;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

template <>
struct registers_of<isa::neon64> {
  using type = neon64;
};
template struct operations<isa::neon64>;

} // namespace fovea::f32
#endif
