// AVX-512: 32 registers, a tile of 12 x 32 takes 24 of them.
#include "common/build.hpp"

#if FOVEA_WITH_AVX512
#include "isa/avx_isa.hpp"
#include "isa/operations.hpp"

namespace fovea::f32 {
namespace {
struct avx512 : avx512_isa {
  using shapes = shape_list<shape<12, 2>, shape<8, 2>, shape<6, 4>, shape<4, 4>, shape<2, 4>, shape<1, 4>>;
  using product_shapes = shape_list<shape<12, 2>, shape<8, 2>, shape<4, 4>, shape<2, 4>, shape<1, 4>>;
  static constexpr bool smaller_stairs = true; // sixteen registers are enough to be fast
  static constexpr int rows = 48, batched_rows = 128;
};
} // namespace

template <>
struct registers_of<isa::avx512> {
  using type = avx512;
};
template struct operations<isa::avx512>;

} // namespace fovea::f32
#endif
