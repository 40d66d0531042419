// AVX2: VPMADDWD of bytes widened to 16 bits, for weights of 15 bits. avx2_bytes.hpp multiplies bytes.
#pragma once
#include <immintrin.h>

#include "fixed/dot/words.hpp"
#include "fixed/groups.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

struct avx2_registers {
  using reg = __m256i;
  static constexpr int lanes = 8;
  static FOVEA_INLINE reg load(const void* p) { return _mm256_loadu_si256(static_cast<const reg*>(p)); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm256_storeu_si256(static_cast<reg*>(p), x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm256_set1_epi32(x); }
  template <class Floats>
  static FOVEA_INLINE void load_halves(const void* p, Floats (&x)[2]) { // sixteen float16 as floats
#if defined(__F16C__) // each core with AVX2 has it, but not each build
    for (int i = 0; i < 2; ++i) x[i] = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p) + i));
#else
    alignas(32) float all[16];
    floats_of_halves(static_cast<const unsigned char*>(p), all);
    std::memcpy(x, all, sizeof all);
#endif
  }
  static FOVEA_INLINE reg first(int32_t x) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(x)); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return _mm256_max_epi32(a, b); }
  static FOVEA_INLINE reg smaller(reg a, reg b) { return _mm256_min_epi32(a, b); }
  static FOVEA_INLINE __m128i by(int shift) { return _mm_cvtsi32_si128(shift); }
  static FOVEA_INLINE reg shift_left(reg x, __m128i by) { return _mm256_sll_epi32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, __m128i by) { return _mm256_sra_epi32(x, by); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) {
    return shift_right(add(x, spread(1 << (shift - 1))), by(shift));
  }
  // High words, in each half those of lanes 0 2 1 3.
  static FOVEA_INLINE reg mixed_high_product(reg a, reg b) {
    const __m256 even = _mm256_castsi256_ps(_mm256_mul_epi32(a, b)),
                 odd = _mm256_castsi256_ps(_mm256_mul_epi32(_mm256_shuffle_epi32(a, 0xf5), b));
    return _mm256_castps_si256(_mm256_shuffle_ps(even, odd, 0xdd));
  }
  // b holds one number in all lanes.
  static FOVEA_INLINE reg high_product(reg a, reg b) {
    return _mm256_shuffle_epi32(mixed_high_product(a, b), 0xd8);
  }
  // The low words of products of 64 bits that were shifted.
  static FOVEA_INLINE reg shifted_product(reg a, reg b, __m128i by) {
    const reg odd = _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
    return _mm256_blend_epi32(_mm256_srl_epi64(_mm256_mul_epi32(a, b), by),
                              _mm256_shuffle_epi32(_mm256_srl_epi64(odd, by), 0xa0), 0xaa);
  }
  static FOVEA_INLINE uint32_t total(reg x) {
    __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_add_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 0xb1))));
  }
  static FOVEA_INLINE int smallest(reg words) {
    const __m128i y = _mm_min_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)),
                  sign = _mm_set1_epi16(-32768);
    return static_cast<int16_t>(
        _mm_extract_epi16(_mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(y, sign)), sign), 0));
  }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[2]) {
    store(p, _mm256_permute4x64_epi64(_mm256_packs_epi32(x[0], x[1]), 0xd8));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[2]) {
    const reg y = _mm256_permute4x64_epi64(_mm256_packs_epi32(x[0], x[1]), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm_packs_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
  }

  // Numbers as mixed_high_product leaves them, plus words.
  static FOVEA_INLINE void store_mixed(int8_t* p, const reg (&x)[4], reg words) {
    const reg y = _mm256_packs_epi16(_mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), words),
                                     _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), words));
    const reg quads = _mm256_permutevar8x32_epi32(y, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    store(p, _mm256_shuffle_epi8(quads, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                            0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15))));
  }

  static FOVEA_INLINE reg widened(const int8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static FOVEA_INLINE reg spread_quad(int64_t x) { return _mm256_set1_epi64x(x); }
  // Half a register of numbers, each followed by 0.
  static FOVEA_INLINE reg load_in_pairs(const int32_t* p) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static FOVEA_INLINE reg first_in_pairs(reg x) { return _mm256_cvtepu32_epi64(_mm256_castsi256_si128(x)); }
  static FOVEA_INLINE reg last_in_pairs(reg x) {
    return _mm256_cvtepu32_epi64(_mm256_extracti128_si256(x, 1));
  }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) {
    return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8);
  }
  static FOVEA_INLINE void dot_words(reg& sum, reg y, reg x) {
    reg product; // left to itself, gcc moves sums from register to register and spills
    asm("vpmaddwd %[y], %[x], %[product]\n\tvpaddd %[product], %[sum], %[sum]"
        : [sum] "+x"(sum), [product] "=&x"(product)
        : [x] "x"(x), [y] "x"(y));
  }
};

using avx2_pairs = word_pairs<avx2_registers>;
using avx2_quads = word_quads<avx2_registers>;

} // namespace fovea::fixed
