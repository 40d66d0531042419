// AVX2 with fma, and AVX-512: what xsimd offers, and transpositions that need fewer shuffles.
#pragma once
#include "kernel/xsimd_isa.hpp"

namespace fovea {

struct avx_isa : xsimd_isa<xsimd::fma3<xsimd::avx2>> {
  // Halves of rows l and l + 4 share a register from the load on, so nothing has to cross halves later.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const auto both = [&](int l) FOVEA_LAMBDA_INLINE { return _mm256_loadu2_m128(row(l + 4), row(l)); };
    const __m256 a = both(0), b = both(1), c = both(2), d = both(3);
    const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    const __m256 high_ab = _mm256_unpackhi_ps(a, b), high_cd = _mm256_unpackhi_ps(c, d);
    t[0] = _mm256_shuffle_ps(ab, cd, 0x44), t[1] = _mm256_shuffle_ps(ab, cd, 0xee);
    t[2] = _mm256_shuffle_ps(high_ab, high_cd, 0x44), t[3] = _mm256_shuffle_ps(high_ab, high_cd, 0xee);
  }
};

#if defined(__AVX512F__)
struct avx512_isa : xsimd_isa<xsimd::avx512dq> {
  // The same with quarters: rows l, l + 4, l + 8 and l + 12 share a register.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const auto four = [&](int l) FOVEA_LAMBDA_INLINE {
      const __m512 low = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(row(l))), _mm_loadu_ps(row(l + 4)), 1);
      return _mm512_insertf32x4(_mm512_insertf32x4(low, _mm_loadu_ps(row(l + 8)), 2), _mm_loadu_ps(row(l + 12)), 3);
    };
    const __m512 a = four(0), b = four(1), c = four(2), d = four(3);
    const __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);
    const __m512 high_ab = _mm512_unpackhi_ps(a, b), high_cd = _mm512_unpackhi_ps(c, d);
    t[0] = _mm512_shuffle_ps(ab, cd, 0x44), t[1] = _mm512_shuffle_ps(ab, cd, 0xee);
    t[2] = _mm512_shuffle_ps(high_ab, high_cd, 0x44), t[3] = _mm512_shuffle_ps(high_ab, high_cd, 0xee);
  }
};
#endif

} // namespace fovea
