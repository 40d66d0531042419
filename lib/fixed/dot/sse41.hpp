// SSE4.1: products as with AVX2, four lanes.
#pragma once
#include <immintrin.h>

#include "fixed/dot/bytes.hpp"
#include "fixed/dot/words.hpp"
#include "fixed/groups.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

struct sse41_registers {
  using reg = __m128i;
  static constexpr int lanes = 4;
  static constexpr bool multiplies_all_bytes = false;
  static FOVEA_INLINE reg load(const void* p) { return _mm_loadu_si128(static_cast<const reg*>(p)); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm_storeu_si128(static_cast<reg*>(p), x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm_set1_epi32(x); }
  template <class Floats>
  static FOVEA_INLINE void load_halves(const void* p, Floats (&x)[4]) { // sixteen float16 as floats
    alignas(16) float all[16];
    floats_of_halves(static_cast<const unsigned char*>(p), all);
    std::memcpy(x, all, sizeof all);
  }
  static FOVEA_INLINE reg first(int32_t x) { return _mm_cvtsi32_si128(x); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm_add_epi32(a, b); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return _mm_max_epi32(a, b); }
  static FOVEA_INLINE reg by(int shift) { return _mm_cvtsi32_si128(shift); }
  static FOVEA_INLINE reg shift_left(reg x, reg by) { return _mm_sll_epi32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, reg by) { return _mm_sra_epi32(x, by); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) {
    return shift_right(add(x, spread(1 << (shift - 1))), by(shift));
  }
  static FOVEA_INLINE reg mixed_high_product(reg a, reg b) { // of lanes 0 2 1 3; b: one number
    const __m128 even = _mm_castsi128_ps(_mm_mul_epi32(a, b)),
                 odd = _mm_castsi128_ps(_mm_mul_epi32(_mm_shuffle_epi32(a, 0xf5), b));
    return _mm_castps_si128(_mm_shuffle_ps(even, odd, 0xdd));
  }
  static FOVEA_INLINE reg high_product(reg a, reg b) {
    return _mm_shuffle_epi32(mixed_high_product(a, b), 0xd8);
  }
  static FOVEA_INLINE uint32_t total(reg x) {
    const reg y = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 0xb1))));
  }
  static FOVEA_INLINE int smallest(reg words) {
    const reg sign = _mm_set1_epi16(-32768);
    return static_cast<int16_t>(
        _mm_extract_epi16(_mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(words, sign)), sign), 0));
  }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[4]) {
    store(p, _mm_packs_epi32(x[0], x[1]));
    store(p + 8, _mm_packs_epi32(x[2], x[3]));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[4]) {
    store(p, _mm_packs_epi16(_mm_packs_epi32(x[0], x[1]), _mm_packs_epi32(x[2], x[3])));
  }

  // Numbers as mixed_high_product leaves them, plus words.
  static FOVEA_INLINE void store_mixed(int8_t* p, const reg (&x)[4], reg words) {
    const reg y = _mm_packs_epi16(_mm_adds_epi16(_mm_packs_epi32(x[0], x[1]), words),
                                  _mm_adds_epi16(_mm_packs_epi32(x[2], x[3]), words));
    store(p, _mm_shuffle_epi8(y, _mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15)));
  }

  static FOVEA_INLINE reg widened(const int8_t* p) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const reg*>(p)));
  }
  static FOVEA_INLINE reg spread_quad(int64_t x) { return _mm_set1_epi64x(x); }
  static FOVEA_INLINE reg load_in_pairs(const int32_t* p) { // half a register of numbers, each followed by 0
    return _mm_cvtepu32_epi64(_mm_loadl_epi64(reinterpret_cast<const reg*>(p)));
  }
  static FOVEA_INLINE reg first_in_pairs(reg x) { return _mm_cvtepu32_epi64(x); }
  static FOVEA_INLINE reg last_in_pairs(reg x) { return _mm_unpackhi_epi32(x, _mm_setzero_si128()); }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) { return _mm_hadd_epi32(a, b); }
  static FOVEA_INLINE void dot_words(reg& sum, reg y, reg x) { sum = add(sum, _mm_madd_epi16(x, y)); }
  // Exact while the unsigned bytes are small, as the four bits of a weight are.
  static FOVEA_INLINE reg pair_products(reg u, reg s) { return _mm_maddubs_epi16(u, s); }
  static FOVEA_INLINE reg add_pairs(reg sum, reg pairs) {
    return add(sum, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
  }
  using byte_element = int32_t;
  static FOVEA_INLINE reg spread_four(const int32_t* p) {
    int64_t x;
    std::memcpy(&x, p, sizeof x);
    return spread_quad(x);
  }
  static FOVEA_INLINE reg flip(reg x, reg which) { return _mm_xor_si128(x, which); }
  static FOVEA_INLINE void dot_bytes(reg& sum, reg u, reg s) { sum = add_pairs(sum, pair_products(u, s)); }
  static FOVEA_INLINE reg dot_four(reg sum, reg u, reg s) {
    dot_bytes(sum, u, s);
    return sum;
  }
};

using sse41_keys = byte_quads<sse41_registers, 2>;
using sse41_quads = word_quads<sse41_registers>;

} // namespace fovea::fixed
