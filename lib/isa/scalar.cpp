// Plain floats. On x86 this file is compiled for fma, and chosen only where the CPU has it.
#include "common/build.hpp"

#if FOVEA_WITH_SCALAR
#include "isa/operations.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {
namespace {
// A core with 32 registers holds 4 rows x 4 lanes; a tile walks the sixteen lanes of a panel in groups, and
// the chains stay the same.
struct scalar : scalar_isa {
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  using product_shapes = shape_list<shape<4, 1, 4>, shape<1, 2, 8>>;
  static constexpr int rows = 24;
};
} // namespace

template <>
struct registers_of<isa::scalar> {
  using type = scalar;
};
template struct operations<isa::scalar>;

} // namespace fovea::f32
#endif
