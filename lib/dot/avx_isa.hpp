// AVX2 with fma, and AVX-512: what xsimd offers, and transpositions that need fewer shuffles.
#pragma once
#include "kernel/xsimd_isa.hpp"

namespace fovea {

struct avx_isa : xsimd_isa<xsimd::fma3<xsimd::avx2>> {
  static constexpr bool joins_rows = true;
  // Sixteen lanes of each of eight rows, joined by the fixed tree: i and i + 8, then + 4, + 2, + 1; a lane for each row.
  template <class Op>
  static FOVEA_INLINE reg join_rows(const float* rows, Op op) {
    reg four[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256 a = op(load(rows + 16 * i), load(rows + 16 * i + 8)), b = op(load(rows + 16 * i + 64), load(rows + 16 * i + 72));
      four[i] = op(reg(_mm256_permute2f128_ps(a, b, 0x20)), reg(_mm256_permute2f128_ps(a, b, 0x31)));
    }
    const auto pair = [&](const reg& a, const reg& b)
                          FOVEA_LAMBDA_INLINE { return op(reg(_mm256_shuffle_ps(a, b, 0x44)), reg(_mm256_shuffle_ps(a, b, 0xee))); };
    const reg low = pair(four[0], four[1]), high = pair(four[2], four[3]);
    return op(reg(_mm256_shuffle_ps(low, high, 0x88)), reg(_mm256_shuffle_ps(low, high, 0xdd)));
  }
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
  static constexpr bool joins_rows = true;
  template <class Op>
  static FOVEA_INLINE reg join_rows(const float* rows, Op op) { // sixteen of them
    reg four[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto halves = [&](int r) FOVEA_LAMBDA_INLINE {
        const __m512 a = load(rows + 16 * r), b = load(rows + 16 * r + 64);
        return op(reg(_mm512_shuffle_f32x4(a, b, 0x44)), reg(_mm512_shuffle_f32x4(a, b, 0xee)));
      };
      const __m512 ab = halves(i), cd = halves(i + 8);
      four[i] = op(reg(_mm512_shuffle_f32x4(ab, cd, 0x88)), reg(_mm512_shuffle_f32x4(ab, cd, 0xdd)));
    }
    const auto pair = [&](const reg& a, const reg& b)
                          FOVEA_LAMBDA_INLINE { return op(reg(_mm512_shuffle_ps(a, b, 0x44)), reg(_mm512_shuffle_ps(a, b, 0xee))); };
    const reg low = pair(four[0], four[1]), high = pair(four[2], four[3]);
    return op(reg(_mm512_shuffle_ps(low, high, 0x88)), reg(_mm512_shuffle_ps(low, high, 0xdd)));
  }
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
  // Eight columns with half the loads: a register holds eight numbers of rows l and l + 4. What comes out are columns i and i + 4 of keys
  // 0 .. 7 in t[i], of the others in t[i + 4].
  static constexpr int columns_at_once = 8;
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[8]) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const auto two = [&](int l) FOVEA_LAMBDA_INLINE {
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(row(8 * h + l))), _mm256_loadu_ps(row(8 * h + l + 4)), 1);
      };
      const __m512 a = two(0), b = two(1), c = two(2), d = two(3);
      const __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);
      const __m512 high_ab = _mm512_unpackhi_ps(a, b), high_cd = _mm512_unpackhi_ps(c, d);
      t[4 * h] = _mm512_shuffle_ps(ab, cd, 0x44), t[4 * h + 1] = _mm512_shuffle_ps(ab, cd, 0xee);
      t[4 * h + 2] = _mm512_shuffle_ps(high_ab, high_cd, 0x44), t[4 * h + 3] = _mm512_shuffle_ps(high_ab, high_cd, 0xee);
    }
  }
  static FOVEA_INLINE reg column(const reg (&t)[8], int i) {
    return i < 4 ? _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88) : _mm512_shuffle_f32x4(t[i - 4], t[i], 0xdd);
  }
};
#endif

} // namespace fovea
