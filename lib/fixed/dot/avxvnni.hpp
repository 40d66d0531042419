// AVX-VNNI: VPDPBUSD on eight lanes; all else as with AVX2.
#pragma once
#include "fixed/dot/avx2_weights.hpp"
#include "fixed/dot/vnni.hpp"

namespace fovea::fixed {

struct avxvnni_registers : avx2_registers {
  static constexpr bool multiplies_all_bytes = true; // dot_bytes is exact for all of them
  static FOVEA_INLINE reg flip(reg bytes) { return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)); }
  static FOVEA_INLINE void dot_bytes(reg& sum, reg u, reg s) {
    sum = kept(_mm256_dpbusd_avx_epi32(sum, u, s));
  }
  static FOVEA_INLINE __m128i dot_four(__m128i sum, __m128i u, __m128i s) {
    return _mm_dpbusd_avx_epi32(sum, u, s);
  }
  static FOVEA_INLINE void dot_words(reg& sum, reg a, reg b) {
    sum = kept(_mm256_dpwssd_avx_epi32(sum, a, b));
  }

 private:
  static FOVEA_INLINE reg kept(reg sum) {
#if !defined(__clang__)
    asm volatile("" : "+x"(sum)); // without it gcc reorders products until accumulators spill
#endif
    return sum;
  }
};

using avxvnni_keys = vnni_keys<avxvnni_registers>;
using avxvnni_values = word_quads<avxvnni_registers>;

} // namespace fovea::fixed
