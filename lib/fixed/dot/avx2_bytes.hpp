// AVX2: unsigned by signed bytes by VPMADDUBSW. Exact only where two products fit 16 bits, as those of sizes
// up to 128 and of the four bits of a weight do.
#pragma once
#include "fixed/dot/avx2.hpp"
#include "fixed/dot/bytes.hpp"
#include "fixed/dot/vnni.hpp"

namespace fovea::fixed {

struct avx2_byte_registers : avx2_registers {
  static constexpr bool multiplies_all_bytes = false;
  static FOVEA_INLINE reg pair_products(reg u, reg s) { return _mm256_maddubs_epi16(u, s); }
  static FOVEA_INLINE reg add_pairs(reg sum, reg pairs) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  using byte_element = int16_t;
  static FOVEA_INLINE reg spread_four(const int16_t* p) {
    int32_t x;
    std::memcpy(&x, p, sizeof x);
    return spread(x);
  }
  static FOVEA_INLINE reg flip(reg x, reg which) { return _mm256_xor_si256(x, which); }
  static FOVEA_INLINE void dot_bytes(reg& sum, reg u, reg s) {
    dot_words(sum, pair_products(u, s), _mm256_set1_epi16(1));
  }
  static FOVEA_INLINE __m128i dot_four(__m128i sum, __m128i u, __m128i s) {
    return _mm_add_epi32(sum, _mm_madd_epi16(_mm_maddubs_epi16(u, s), _mm_set1_epi16(1)));
  }
};

using avx2_keys = byte_quads<avx2_byte_registers>;

} // namespace fovea::fixed
