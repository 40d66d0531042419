// Integer attention with AVX-VNNI: sixteen registers; 6 rows x 16 keys take twelve, and so do 3 rows x 16 values in two bytes.
#include "dot/avxvnni.hpp"
#include "fixed/attend.hpp"
#include "isa/fixed_table.hpp"

namespace fovea {
namespace {

struct avxvnni : avx2_registers {
  using arranged = int8_t;
  static constexpr decltype(fixed_kernel::arrange) arrange = nullptr;
  using keys_dot = avxvnni_keys;
  using values_dot = avxvnni_values;
  using shapes = fixed_shapes<fixed_shape<6, 1, 3, 1>, fixed_shape<4, 1, 2, 1>, fixed_shape<2, 2, 2, 1>, fixed_shape<1, 2, 1, 1>>;

  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, uint8_t* p, int32_t* sum,
                                 const int16_t* by) {
    return avx2_weights::weigh<Octaves>(s, scale, reference, sum, by, [&](int j, __m256i y) FOVEA_LAMBDA_INLINE {
      const __m256i low = _mm256_and_si256(y, _mm256_set1_epi16(255)), high = _mm256_srli_epi16(y, 8);
      const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8); // low bytes, then high bytes
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p + j), _mm256_castsi256_si128(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p + avxvnni_values::plane + j), _mm256_extracti128_si256(bytes, 1));
    });
  }
};

} // namespace
const fixed_kernel fixed_avxvnni_kernel = fixed_kernel_of<avxvnni>(FOVEA_FIXED_AVXVNNI, fixed_unit_rows);
} // namespace fovea
