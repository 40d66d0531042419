// AVX2 with fma, and AVX-512: what xsimd offers, and transpositions that need fewer shuffles.
#pragma once
#include "common/features.hpp"
#include "isa/xsimd_isa.hpp"

namespace fovea::f32 {

// sum += a * b by an instruction that compilers cannot turn around: they would let the product land where a
// or b was. That cost 4 to 5 % of a prefill with AVX2.
template <class Raw, class Reg>
FOVEA_INLINE void add_in_place(Reg& sum, Raw a, Raw b) {
  Raw in_place = sum;
  __asm__("vfmadd231ps %2, %1, %0" : "+v"(in_place) : "v"(a), "v"(b));
  sum = in_place;
}

// Shuffles within fours of numbers, 128 bits, for registers of either width.
FOVEA_INLINE __m256 low_pairs(__m256 a, __m256 b) { return _mm256_unpacklo_ps(a, b); }
FOVEA_INLINE __m256 high_pairs(__m256 a, __m256 b) { return _mm256_unpackhi_ps(a, b); }
template <int How>
FOVEA_INLINE __m256 picked(__m256 a, __m256 b) {
  return _mm256_shuffle_ps(a, b, How);
}
#if defined(__AVX512F__)
FOVEA_INLINE __m512 low_pairs(__m512 a, __m512 b) { return _mm512_unpacklo_ps(a, b); }
FOVEA_INLINE __m512 high_pairs(__m512 a, __m512 b) { return _mm512_unpackhi_ps(a, b); }
template <int How>
FOVEA_INLINE __m512 picked(__m512 a, __m512 b) {
  return _mm512_shuffle_ps(a, b, How);
}
#endif

// t[i] gets number i of all fours of a, b, c and d.
template <class Raw, class Reg>
FOVEA_INLINE void transpose_fours(Raw a, Raw b, Raw c, Raw d, Reg* t) {
  const Raw ab = low_pairs(a, b), cd = low_pairs(c, d), high_ab = high_pairs(a, b),
            high_cd = high_pairs(c, d);
  t[0] = picked<0x44>(ab, cd), t[1] = picked<0xee>(ab, cd);
  t[2] = picked<0x44>(high_ab, high_cd), t[3] = picked<0xee>(high_ab, high_cd);
}
// The last steps of the fixed tree, + 2 and + 1: lane i of each four is what joins that four of x[i].
template <class Raw, class Reg, class Op>
FOVEA_INLINE Reg join_fours(const Reg (&x)[4], Op op) {
  const auto pair = [&](Raw a, Raw b)
                        FOVEA_LAMBDA_INLINE { return op(Reg(picked<0x44>(a, b)), Reg(picked<0xee>(a, b))); };
  const Raw low = pair(x[0], x[1]), high = pair(x[2], x[3]);
  return op(Reg(picked<0x88>(low, high)), Reg(picked<0xdd>(low, high)));
}

// 32-bit lanes: the first n of eight.
alignas(64) constexpr int32_t eight_and_none[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
FOVEA_INLINE __m256i first_of_eight(int n) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(eight_and_none + 8 - n));
}
// Masks have lanes of 32 bits: pairs of halves, and the last one where n is odd.
FOVEA_INLINE void copy_first_halves(uint16_t* to, const uint16_t* p, int n) {
  __m256i x = _mm256_maskload_epi32(reinterpret_cast<const int32_t*>(p), first_of_eight(n / 2));
  if (n % 2) {
    const __m256i last = _mm256_set1_epi32(p[n - 1]);
    x = _mm256_blendv_epi8(last, x, first_of_eight(n / 2));
    x = _mm256_and_si256(x, first_of_eight(n / 2 + 1));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
}

// For shuffles within 128 bits that move byte i of each four to their top, over zeros.
FOVEA_INLINE __m128i byte_order(int i) {
  return _mm_add_epi32(_mm_setr_epi32(0x00808080, 0x04808080, 0x08808080, 0x0c808080),
                       _mm_set1_epi32(i << 24));
}

struct avx_isa : xsimd_isa<xsimd::fma3<xsimd::avx2>> {
  static constexpr bool joins_rows = true, four_row_shapes = features::few_row_tiles, fetches_values = true;
  static constexpr bool divides_by_products = true, narrows_32 = true, widens_bf16 = true, widens_s8 = true,
                        has_masks = true;
  static constexpr int pin_sums_from = 13; // of 16 registers
  static FOVEA_INLINE void add_product(reg& sum, reg a, reg b) { add_in_place<__m256>(sum, a, b); }
  static FOVEA_INLINE reg load_first(const float* p, int n) {
    return _mm256_maskload_ps(p, first_of_eight(n));
  }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) {
    _mm256_maskstore_ps(p, first_of_eight(n), x);
  }
  static FOVEA_INLINE reg if_shown(const uint8_t* p, reg a, reg b) {
    const __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    return _mm256_blendv_ps(a, b, _mm256_castsi256_ps(_mm256_cmpeq_epi32(x, _mm256_setzero_si256())));
  }
  static FOVEA_INLINE void copy_first(uint16_t* to, const uint16_t* p, int n) { copy_first_halves(to, p, n); }
  static FOVEA_INLINE reg load_bf16(const uint16_t* p) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  static constexpr bool mixes_bf16 = true;
  static FOVEA_INLINE void load_mixed(const uint16_t* p, reg (&x)[2]) {
    const __m256i pairs = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    x[0] = _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16));
    x[1] = _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(-65536)));
  }
  static FOVEA_INLINE void unmix(reg (&x)[2]) {
    const __m256 low = low_pairs(x[0], x[1]), high = high_pairs(x[0], x[1]);
    x[0] = _mm256_permute2f128_ps(low, high, 0x20);
    x[1] = _mm256_permute2f128_ps(low, high, 0x31);
  }
  static FOVEA_INLINE reg load_s8(const int8_t* p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static constexpr bool shuffles_bytes = true;
  static FOVEA_INLINE reg load_once(const int8_t* p) {
    __m256 bytes = _mm256_loadu_ps(reinterpret_cast<const float*>(p));
    __asm__("" : "+x"(bytes));
    return bytes;
  }
  // A shift, a shuffle and a product of words, which no two pipes have to share.
  static FOVEA_INLINE reg byte_on_top(reg x, int i) {
    const __m256i bytes = _mm256_castps_si256(x);
    if (i == 0) return _mm256_castsi256_ps(_mm256_slli_epi32(bytes, 24));
    if (i == 2) return _mm256_castsi256_ps(_mm256_mullo_epi16(bytes, _mm256_set1_epi32(1 << 24)));
    return _mm256_castsi256_ps(_mm256_shuffle_epi8(bytes, _mm256_broadcastsi128_si256(byte_order(i))));
  }
  static FOVEA_INLINE void store_halves(uint16_t* p, reg x) {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
    const __m256i mixed = _mm256_shuffle_epi8(_mm256_castps_si256(x), order),
                  both = _mm256_permute4x64_epi64(mixed, 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(both));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 16), _mm256_extracti128_si256(both, 1));
  }
#if defined(__F16C__)
  static constexpr bool converts_f16 = true, narrows_f16 = true;
  static FOVEA_INLINE reg load_f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static FOVEA_INLINE void store_f16(uint16_t* p, reg x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
#endif
  // Sixteen lanes of each of eight rows, joined by the fixed tree: i and i + 8, then + 4, + 2, + 1; a lane
  // for each row.
  template <class Op>
  static FOVEA_INLINE reg join_rows(const float* rows, Op op) {
    reg four[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256 a = op(load(rows + 16 * i), load(rows + 16 * i + 8)),
                   b = op(load(rows + 16 * i + 64), load(rows + 16 * i + 72));
      four[i] = op(reg(_mm256_permute2f128_ps(a, b, 0x20)), reg(_mm256_permute2f128_ps(a, b, 0x31)));
    }
    return join_fours<__m256>(four, op);
  }
  // Halves of rows l and l + 4 share a register from the load on, so nothing has to cross halves later.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const auto both = [&](int l) FOVEA_LAMBDA_INLINE { return _mm256_loadu2_m128(row(l + 4), row(l)); };
    transpose_fours<__m256>(both(0), both(1), both(2), both(3), t);
  }
};

#if defined(__AVX512F__)
struct avx512_isa : xsimd_isa<xsimd::avx512dq> {
  static constexpr bool joins_rows = true, scores_4x4 = features::few_row_tiles, tells_fraction = true,
                        fetches_values = true;
  static constexpr bool divides_by_products = true, converts_f16 = true, narrows_f16 = true,
                        widens_bf16 = true, widens_s8 = true, has_masks = true;
  static constexpr int pin_sums_from = 29; // of 32
  static FOVEA_INLINE void add_product(reg& sum, reg a, reg b) { add_in_place<__m512>(sum, a, b); }
  static FOVEA_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1); }
  static FOVEA_INLINE reg load_first(const float* p, int n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
  }
  static FOVEA_INLINE void store_first(float* p, reg x, int n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
  }
  static FOVEA_INLINE reg if_shown(const uint8_t* p, reg a, reg b) {
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm512_mask_blend_ps(_mm512_test_epi32_mask(x, x), b, a);
  }
  static FOVEA_INLINE void copy_first(uint16_t* to, const uint16_t* p, int n) { copy_first_halves(to, p, n); }
  static FOVEA_INLINE reg load_f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static FOVEA_INLINE void store_f16(uint16_t* p, reg x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static FOVEA_INLINE reg load_bf16(const uint16_t* p) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
  static FOVEA_INLINE reg load_s8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static constexpr bool shuffles_bytes = true;
  static FOVEA_INLINE reg load_once(const int8_t* p) {
    __m512 bytes = _mm512_loadu_ps(p);
    __asm__("" : "+v"(bytes));
    return bytes;
  }
  static FOVEA_INLINE reg byte_on_top(reg x, int i) {
    const __m512i bytes = _mm512_castps_si512(x);
    if (i == 0) return _mm512_castsi512_ps(_mm512_slli_epi32(bytes, 24));
    if (i == 2) return _mm512_castsi512_ps(_mm512_mullo_epi16(bytes, _mm512_set1_epi32(1 << 24)));
    return _mm512_castsi512_ps(_mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(byte_order(i))));
  }
  static FOVEA_INLINE void store_halves(uint16_t* p, reg x) {
    // clang-format off
    const __m512i order = _mm512_set_epi16(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1,
                                           30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    // clang-format on
    _mm512_storeu_si512(p, _mm512_permutexvar_epi16(order, _mm512_castps_si512(x)));
  }
  // x - its nearest integer; of infinity 0.
  static FOVEA_INLINE reg fraction(reg x) {
    __m512 rest = _mm512_reduce_ps(x, _MM_FROUND_TO_NEAREST_INT);
    __asm__("" : "+v"(rest)); // gcc 12 may keep it in memory, and load it for each product of the exponential
    return rest;
  }
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
    return join_fours<__m512>(four, op);
  }
  // Four numbers of each of four rows, `step` rows apart.
  template <class Row>
  static FOVEA_INLINE __m512 quarters_of(Row row, int step) {
    const __m512 low = _mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(row(0))),
                                          _mm_loadu_ps(row(step)), 1);
    return _mm512_insertf32x4(_mm512_insertf32x4(low, _mm_loadu_ps(row(2 * step)), 2),
                              _mm_loadu_ps(row(3 * step)), 3);
  }
  // The same with quarters: rows l, l + 4, l + 8 and l + 12 share a register.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[4]) {
    const auto four = [&](int l) FOVEA_LAMBDA_INLINE {
      return quarters_of([&](int i) FOVEA_LAMBDA_INLINE { return row(l + i); }, 4);
    };
    transpose_fours<__m512>(four(0), four(1), four(2), four(3), t);
  }
  // Quarters of a register: four numbers of each of four rows, in t[i] number i of each four times.
  template <class Row>
  static FOVEA_INLINE void spread_within_quarters(Row row, reg (&t)[4]) {
    const __m512 x = quarters_of(row, 1);
    t[0] = _mm512_permute_ps(x, 0x00), t[1] = _mm512_permute_ps(x, 0x55);
    t[2] = _mm512_permute_ps(x, 0xaa), t[3] = _mm512_permute_ps(x, 0xff);
  }
  // Sixteen numbers of each of four rows; quarter j of t[i] holds number 4j + i of all four.
  template <class Row>
  static FOVEA_INLINE void transpose_quarters(Row row, reg (&t)[4]) {
    const auto all = [&](int l) FOVEA_LAMBDA_INLINE { return _mm512_loadu_ps(row(l)); };
    transpose_fours<__m512>(all(0), all(1), all(2), all(3), t);
  }
  static FOVEA_INLINE reg spread_four(const float* p) { return _mm512_broadcast_f32x4(_mm_loadu_ps(p)); }
  // Quarter m of four registers becomes register m.
  static FOVEA_INLINE void gather_quarters(const reg* x, reg* out) {
    const __m512 low01 = _mm512_shuffle_f32x4(x[0], x[1], 0x44),
                 high01 = _mm512_shuffle_f32x4(x[0], x[1], 0xee);
    const __m512 low23 = _mm512_shuffle_f32x4(x[2], x[3], 0x44),
                 high23 = _mm512_shuffle_f32x4(x[2], x[3], 0xee);
    out[0] = _mm512_shuffle_f32x4(low01, low23, 0x88), out[1] = _mm512_shuffle_f32x4(low01, low23, 0xdd);
    out[2] = _mm512_shuffle_f32x4(high01, high23, 0x88), out[3] = _mm512_shuffle_f32x4(high01, high23, 0xdd);
  }
  // Quarter m of four registers is row m.
  static FOVEA_INLINE void store_quarters(float* p, ptrdiff_t stride, const reg* x) {
    reg rows[4];
    gather_quarters(x, rows);
#pragma GCC unroll 4
    for (int m = 0; m < 4; ++m) store(p + m * stride, rows[m]);
  }
  // Sixteen columns, each line of memory loaded once.
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[16]) {
    reg x[4][4];
#pragma GCC unroll 4
    for (int g = 0; g < 4; ++g) {
      reg four[4];
      transpose_quarters([&](int l) FOVEA_LAMBDA_INLINE { return row(4 * g + l); }, four);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) x[i][g] = four[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      reg every_fourth[4];
      gather_quarters(x[i], every_fourth);
#pragma GCC unroll 4
      for (int m = 0; m < 4; ++m) t[4 * m + i] = every_fourth[m];
    }
  }
  // Eight columns with half the loads: a register holds eight numbers of rows l and l + 4. What comes out are
  // columns i and i + 4 of keys 0 .. 7 in t[i], of the others in t[i + 4].
  static constexpr int columns_at_once = 8;
  template <class Row>
  static FOVEA_INLINE void columns(Row row, reg (&t)[8]) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const auto two = [&](int l) FOVEA_LAMBDA_INLINE {
        return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(row(8 * h + l))),
                                  _mm256_loadu_ps(row(8 * h + l + 4)), 1);
      };
      transpose_fours<__m512>(two(0), two(1), two(2), two(3), t + 4 * h);
    }
  }
  static FOVEA_INLINE reg column(const reg (&t)[8], int i) {
    return i < 4 ? _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88) : _mm512_shuffle_f32x4(t[i - 4], t[i], 0xdd);
  }
};
#endif

} // namespace fovea::f32
