// Integer attention with AVX2: sixteen registers, 3 rows x 16 lanes in halves take twelve.
#include "dot/avx2.hpp"
#include "fixed/attend.hpp"
#include "fixed/widen.hpp"
#include "isa/fixed_table.hpp"

namespace fovea {
namespace {

struct avx2 : avx2_registers {
  using arranged = int16_t; // a widening load costs as much as a product
  static constexpr auto arrange = widen;
  using keys_dot = avx2_dot;
  using values_dot = avx2_dot;
  using shapes = fixed_shapes<fixed_shape<3, 1, 3, 1>, fixed_shape<2, 1, 2, 1>, fixed_shape<1, 1, 1, 1>>;

  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int16_t* p, int32_t* sum,
                                 const int16_t* by) {
    return avx2_weights::weigh<Octaves>(s, scale, reference, sum, by, [&](int j, __m256i y) FOVEA_LAMBDA_INLINE { store(p + j, y); });
  }
};

} // namespace
const fixed_kernel fixed_avx2_kernel = fixed_kernel_of<avx2>(FOVEA_FIXED_AVX2, fixed_unit_rows);
} // namespace fovea
