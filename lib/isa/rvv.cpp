// RISC-V with vectors: sixteen pairs of registers with four lanes each, a tile of 6 x 16 takes twelve of
// them.
#include "common/build.hpp"

#if FOVEA_WITH_RVV
#include "isa/operations.hpp"
#include "isa/rvv_isa.hpp"

namespace fovea::f32 {
namespace {
struct rvv : rvv_isa {
  using shapes = shape_list<shape<6, 1>, shape<4, 1>, shape<2, 2>, shape<1, 4>>;
  using product_shapes = shapes;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace

template <>
struct registers_of<isa::rvv> {
  using type = rvv;
};
template struct operations<isa::rvv>;

} // namespace fovea::f32
#endif
