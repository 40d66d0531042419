// AVX2: bytes widened to 16 bits, PMADDWD. Exact; PMADDUBSW would saturate.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "dot/quads.hpp"
#include "fovea/fixed.h"

namespace fovea {

struct avx2_registers {
  using reg = __m256i;
  static constexpr int lanes = 8;
  static FOVEA_INLINE reg load(const void* p) { return _mm256_loadu_si256(static_cast<const reg*>(p)); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm256_storeu_si256(static_cast<reg*>(p), x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm256_set1_epi32(x); }
  static FOVEA_INLINE reg first(int32_t x) { return _mm256_zextsi128_si256(_mm_cvtsi32_si128(x)); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return _mm256_max_epi32(a, b); }
  static FOVEA_INLINE __m128i by(int shift) { return _mm_cvtsi32_si128(shift); }
  static FOVEA_INLINE reg shift_left(reg x, __m128i by) { return _mm256_sll_epi32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, __m128i by) { return _mm256_sra_epi32(x, by); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) { return shift_right(add(x, spread(1 << (shift - 1))), by(shift)); }
  // High words, in each half those of lanes 0 2 1 3.
  static FOVEA_INLINE reg mixed_high_product(reg a, reg b) {
    const __m256 even = _mm256_castsi256_ps(_mm256_mul_epi32(a, b)),
                 odd = _mm256_castsi256_ps(_mm256_mul_epi32(_mm256_srli_epi64(a, 32), b));
    return _mm256_castps_si256(_mm256_shuffle_ps(even, odd, 0xdd));
  }
  static FOVEA_INLINE reg high_product(reg a, reg b) { return _mm256_shuffle_epi32(mixed_high_product(a, b), 0xd8); } // b: one number
  static FOVEA_INLINE uint32_t total(reg x) {
    __m128i y = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    y = _mm_add_epi32(y, _mm_shuffle_epi32(y, 0x4e));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(_mm_add_epi32(y, _mm_shuffle_epi32(y, 0xb1))));
  }
  static FOVEA_INLINE int smallest(reg words) {
    const __m128i y = _mm_min_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)), sign = _mm_set1_epi16(-32768);
    return static_cast<int16_t>(_mm_extract_epi16(_mm_xor_si128(_mm_minpos_epu16(_mm_xor_si128(y, sign)), sign), 0));
  }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[2]) {
    store(p, _mm256_permute4x64_epi64(_mm256_packs_epi32(x[0], x[1]), 0xd8));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[2]) {
    const reg y = _mm256_permute4x64_epi64(_mm256_packs_epi32(x[0], x[1]), 0xd8);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1)));
  }

  static FOVEA_INLINE reg widened(const int8_t* p) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); }
  static FOVEA_INLINE reg spread_quad(int64_t x) { return _mm256_set1_epi64x(x); }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) { return _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xd8); }
  static FOVEA_INLINE void dot_words(reg& sum, reg y, reg x) {
    reg product; // left to itself, gcc moves sums from register to register and spills
    asm("vpmaddwd %[y], %[x], %[product]\n\tvpaddd %[product], %[sum], %[sum]"
        : [sum] "+x"(sum), [product] "=&x"(product)
        : [x] "x"(x), [y] "x"(y));
  }
};

enum class two_deep : int16_t {}; // an element of panels [sixteen lanes][2]

// A group of bytes four deep becomes two groups of 16 bits two deep. The bytes stand in the second half of the room: front to back, the
// writer never passes the reader.
static inline void widen_and_split(int8_t* room, ptrdiff_t count) {
  const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const auto split = [&](const int8_t* at) FOVEA_LAMBDA_INLINE { // of eight lanes
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(avx2_registers::load(at), order), 0xd8);
  };
  for (const int8_t *from = room + count, *const end = from + count; from != end; from += 64, room += 128) {
    const __m256i a = split(from), b = split(from + 32);
    avx2_registers::store(room, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(a)));
    avx2_registers::store(room + 32, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(b)));
    avx2_registers::store(room + 64, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(a, 1)));
    avx2_registers::store(room + 96, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(b, 1)));
  }
}

// Panels two deep: each lane has its sum.
struct avx2_pairs : avx2_registers {
  using element = int16_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int16_t*;
  static constexpr int rows = 1, group = 2, deep = 2, slices = 1, regs = 2, piece_step = 16, planes = 1, block_step = 64, key_offset = 0;

  static FOVEA_INLINE chunk take(const int16_t* a) { return a; }
  static FOVEA_INLINE void load_column(const two_deep* b, piece (&y)[2]) { y[0] = load(b), y[1] = load(b + 16); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    int32_t pair;
    std::memcpy(&pair, x, sizeof pair);
    dot_words(sum, y, spread(pair));
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[2], Start start) {
    sum[0] = sum[1] = spread(start(0));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[2], int, reg (&out)[2]) { out[0] = sum[0], out[1] = sum[1]; }
};

using avx2_quads = word_quads<avx2_registers>;

} // namespace fovea
