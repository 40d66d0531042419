// AVX2 with fma: sixteen registers, a tile of 6 x 16 takes twelve of them.
#include "common/build.hpp"

#if FOVEA_WITH_AVX2
#include "isa/avx_isa.hpp"
#include "isa/operations.hpp"

namespace fovea::f32 {
namespace {
struct avx2 : avx_isa {
  using shapes = shape_list<shape<6, 1>, shape<4, 1>, shape<2, 2>, shape<1, 4>>;
  using product_shapes = shapes;
  using four_row_scores = shape<4, 2, 8>;
  using four_row_values = shape<4, 3, 8>; // three passes over V instead of four
  static constexpr int rows = 48, batched_rows = 128;
};
} // namespace

template <>
struct registers_of<isa::avx2> {
  using type = avx2;
};
template struct operations<isa::avx2>;

} // namespace fovea::f32
#endif
