// AVX-512 VNNI: VPDPBUSD on sixteen lanes; weights of 32 keys at a time in 16-bit lanes.
#pragma once
#include <immintrin.h>

#include "fixed/arithmetic.hpp"
#include "fixed/dot/distances.hpp"
#include "fixed/dot/vnni.hpp"
#include "fixed/dot/words.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

struct avx512_registers {
  using reg = __m512i;
  static constexpr int lanes = 16;
  static constexpr bool multiplies_all_bytes = true; // dot_bytes is exact for all of them
  static FOVEA_INLINE reg load(const void* p) { return _mm512_loadu_si512(p); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm512_storeu_si512(p, x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm512_set1_epi32(x); }
  template <class Floats>
  static FOVEA_INLINE void load_halves(const void* p, Floats (&x)[1]) { // sixteen float16 as floats
    x[0] = _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
  }
  static FOVEA_INLINE reg first(int32_t x) { return _mm512_zextsi128_si512(_mm_cvtsi32_si128(x)); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm512_add_epi32(a, b); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return _mm512_max_epi32(a, b); }
  static FOVEA_INLINE reg smaller(reg a, reg b) { return _mm512_min_epi32(a, b); }
  static FOVEA_INLINE __m128i by(int shift) { return _mm_cvtsi32_si128(shift); }
  static FOVEA_INLINE reg shift_left(reg x, __m128i by) { return _mm512_sll_epi32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, __m128i by) { return _mm512_sra_epi32(x, by); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) {
    return shift_right(add(x, spread(1 << (shift - 1))), by(shift));
  }
  static FOVEA_INLINE reg high_product(reg a, reg b) { // b: one number
    const reg odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), b);
    return _mm512_mask_shuffle_epi32(odd, 0x5555, _mm512_mul_epi32(a, b), static_cast<_MM_PERM_ENUM>(0xf5));
  }
  static FOVEA_INLINE reg mixed_high_product(reg a, reg b) { return high_product(a, b); } // in order
  // The low words of products of 64 bits that were shifted.
  static FOVEA_INLINE reg shifted_product(reg a, reg b, __m128i by) {
    const reg odd = _mm512_mul_epi32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));
    return _mm512_mask_shuffle_epi32(_mm512_srl_epi64(_mm512_mul_epi32(a, b), by), 0xaaaa,
                                     _mm512_srl_epi64(odd, by), static_cast<_MM_PERM_ENUM>(0xa0));
  }
  static FOVEA_INLINE void store_mixed(int8_t* p, const reg (&x)[4], reg words) { // and words are added
    const reg y = _mm512_packs_epi16(_mm512_adds_epi16(_mm512_packs_epi32(x[0], x[1]), words),
                                     _mm512_adds_epi16(_mm512_packs_epi32(x[2], x[3]), words));
    store(p, _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                                      y));
  }
  static FOVEA_INLINE uint32_t total(reg x) { return static_cast<uint32_t>(_mm512_reduce_add_epi32(x)); }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[1]) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtsepi32_epi16(x[0]));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[1]) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtsepi32_epi8(x[0]));
  }

  static FOVEA_INLINE int smallest(reg words) {
    const __m256i x = _mm256_min_epi16(_mm512_castsi512_si256(words), _mm512_extracti64x4_epi64(words, 1));
    const __m128i y = _mm_min_epi16(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)),
                  sign = _mm_set1_epi16(-32768);
    return static_cast<int16_t>(
        _mm_extract_epi16(_mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(y, sign)), sign), 0));
  }

  static FOVEA_INLINE reg flip(reg bytes) { return _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)); }
  static FOVEA_INLINE reg widened(const int8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static FOVEA_INLINE reg spread_quad(int64_t x) { return _mm512_set1_epi64(x); }
  static FOVEA_INLINE reg load_in_pairs(const int32_t* p) { // half a register of numbers, each followed by 0
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static FOVEA_INLINE reg first_in_pairs(reg x) { return _mm512_cvtepu32_epi64(_mm512_castsi512_si256(x)); }
  static FOVEA_INLINE reg last_in_pairs(reg x) {
    return _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(x, 1));
  }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) {
    const reg evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return add(_mm512_permutex2var_epi32(a, evens, b),
               _mm512_permutex2var_epi32(a, _mm512_add_epi32(evens, spread(1)), b));
  }
  static FOVEA_INLINE void dot_bytes(reg& sum, reg u, reg s) { sum = kept(_mm512_dpbusd_epi32(sum, u, s)); }
  // The same by four bytes in memory: gcc would spread them with an instruction of their own.
  static FOVEA_INLINE void dot_bytes_by(reg& sum, reg u, const int8_t* four) {
#if defined(__clang__)
    int32_t s;
    std::memcpy(&s, four, sizeof s);
    sum = _mm512_dpbusd_epi32(sum, u, spread(s));
#else
    struct bytes {
      int8_t at[4];
    };
    asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(u), "m"(*reinterpret_cast<const bytes*>(four)));
#endif
  }
  static FOVEA_INLINE __m128i dot_four(__m128i sum, __m128i u, __m128i s) {
    return _mm_dpbusd_epi32(sum, u, s);
  }
  static FOVEA_INLINE void dot_words(reg& sum, reg a, reg b) { sum = kept(_mm512_dpwssd_epi32(sum, a, b)); }

 private:
  static FOVEA_INLINE reg kept(reg sum) {
#if !defined(__clang__)
    asm volatile("" : "+v"(sum)); // without it gcc reorders products until accumulators spill
#endif
    return sum;
  }
};

using avx512vnni_keys = vnni_keys<avx512_registers>;

// Values are the signed operand as they stand. A weight is two unsigned bytes, each with a sum of its own:
// widening values to words would take two shuffles for each two products.
struct avx512vnni_values : avx512_registers, dot_defaults {
  using element = int8_t; // four low bytes and four high bytes, then the next four weights
  struct acc {
    reg low, high;
  };
  using piece = reg;
  using chunk = const int8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 1, regs = 1, piece_step = 64, planes = 2,
                       block_step = 128;
  static constexpr bool resumes = true;
  static FOVEA_INLINE chunk take(const int8_t* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[1]) {
    y[0] = load(b);
    asm("" : "+v"(y[0]));
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, reg y, chunk x) {
    int32_t low, high;
    std::memcpy(&low, x, sizeof low);
    std::memcpy(&high, x + 4, sizeof high);
    dot_bytes(sum.low, spread(low), y);
    dot_bytes(sum.high, spread(high), y);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[1], Start start) {
    sum[0] = {spread(start(0)), spread(0)};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[1], int, reg (&out)[1]) {
    out[0] = avx512_registers::add(sum[0].low, _mm512_slli_epi32(sum[0].high, 8));
  }
  static FOVEA_INLINE void resume(acc (&sum)[1], const int32_t* from) { sum[0] = {load(from), spread(0)}; }
  static FOVEA_INLINE void resume(acc (&sum)[1], const reg (&x)[1]) { sum[0] = {x[0], spread(0)}; }
};

// Constants are pinned to registers: gcc would compute them again for each row.
struct avx512_weigher : distances_below<avx512_registers> {
  static FOVEA_INLINE reg pinned(reg x) {
    asm("" : "+v"(x));
    return x;
  }
  static FOVEA_INLINE reg evens() {
    alignas(64) static constexpr int16_t numbers[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20,
                                                        22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42,
                                                        44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
    return load(numbers);
  }
  const reg low_halves = pinned(evens()),
            high_halves = pinned(_mm512_add_epi16(evens(), _mm512_set1_epi16(1)));
  const reg c3 = pinned(_mm512_set1_epi16(-1270)), c2 = pinned(_mm512_set1_epi16(3672)),
            c1 = pinned(_mm512_set1_epi16(-11313)), c0 = pinned(_mm512_set1_epi16(16255)),
            one = pinned(_mm512_set1_epi16(1)), ones = pinned(_mm512_set1_epi16(-1));

  template <int Count>
  FOVEA_INLINE void exp2(reg (&h)[Count]) const { // of f, given h = f - 1
    reg y[Count];
#pragma GCC unroll 2
    for (int i = 0; i < Count; ++i) y[i] = _mm512_add_epi16(_mm512_mulhrs_epi16(c3, h[i]), c2);
#pragma GCC unroll 2
    for (int i = 0; i < Count; ++i) y[i] = _mm512_add_epi16(_mm512_mulhrs_epi16(y[i], h[i]), c1);
#pragma GCC unroll 2
    for (int i = 0; i < Count; ++i) h[i] = _mm512_add_epi16(_mm512_mulhrs_epi16(y[i], h[i]), c0);
  }

  // Scores, or octaves, become distances below the reference: the fraction less 1 in Q15 at `to`, the whole
  // octaves 64 numbers later. (An average with ones is half of a number plus 2^15.)
  template <bool Octaves, int Count>
  FOVEA_INLINE void measure(const reg (&s)[Count], const distance_scale& x, int32_t reference,
                            int16_t* to) const {
    const reg base = _mm512_slli_epi32(spread(reference), 16);
    reg u[Count];
#pragma GCC unroll 4
    for (int i = 0; i < Count; ++i)
      u[i] = _mm512_sub_epi32(base, Octaves ? s[i] : high_product(shift_left(s[i], x.up), x.multiplier));
#pragma GCC unroll 2
    for (int i = 0; i < Count; i += 2, to += 32) {
      const reg &a = u[i], &b = u[i + 1 < Count ? i + 1 : i]; // after the last key anything may stand
      store(to, _mm512_avg_epu16(_mm512_permutex2var_epi16(a, low_halves, b), ones));
      store(to + 64, _mm512_permutex2var_epi16(a, high_halves, b));
    }
  }

  FOVEA_INLINE void hide(int16_t* distances, int from, int end) const {
    for (int i = from & -32; i < end; i += 32) {
      const __mmask32 out = static_cast<__mmask32>(~uint64_t{0} << (from > i ? from - i : 0));
      int16_t* const octaves = distances + fixed_block + i;
      store(octaves, _mm512_mask_mov_epi16(load(octaves), out, _mm512_set1_epi16(hidden)));
    }
  }

  // Thirty-two weights, as the dot of values takes them: words, or low and high bytes of each four.
  static FOVEA_INLINE void store_weights(int16_t* p, int register_of, reg y) {
    store(p + 32 * register_of, y);
  }
  FOVEA_INLINE void store_weights(int8_t* p, int register_of, reg y) const {
    const reg order = _mm512_broadcast_i32x4(
        _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
    store(p + 64 * register_of, _mm512_shuffle_epi8(y, order));
  }

  // Returns by how many octaves the reference rises. If it does, only the whole octaves of the distances and
  // the sum so far change.
  template <int Keys, class Element>
  FOVEA_INLINE int weigh(const int16_t* distances, Element* p, int32_t* sum, const int16_t* factors) const {
    constexpr int count = Keys / 32;
    reg y[count], k[count], sums = load(sum);
#pragma GCC unroll 2
    for (int i = 0; i < count; ++i) y[i] = load(distances + 32 * i), k[i] = load(distances + 64 + 32 * i);
    exp2(y);
    const reg nearest = _mm512_min_epi16(k[0], k[count - 1]);
    int rise = 0;
    if (__builtin_expect(_mm512_movepi16_mask(nearest) != 0, 0)) {
      rise = -smallest(nearest);
      sums = first(static_cast<int32_t>(shift_round_sum(total(sums), rise)));
      const reg by = _mm512_set1_epi16(static_cast<int16_t>(rise));
#pragma GCC unroll 2
      for (int i = 0; i < count; ++i) k[i] = _mm512_add_epi16(k[i], by);
    }
#pragma GCC unroll 2
    for (int h = 0; h < count; ++h) { // (2y >> k, plus 1) >> 1
      y[h] = _mm512_avg_epu16(_mm512_srlv_epi16(_mm512_add_epi16(y[h], y[h]), k[h]), _mm512_setzero_si512());
      sums = _mm512_dpwssd_epi32(sums, y[h], one);
      if (factors) y[h] = _mm512_mulhrs_epi16(y[h], load(factors + 32 * h));
      store_weights(p, h, y[h]);
    }
    store(sum, sums);
    return rise;
  }
};

} // namespace fovea::fixed
