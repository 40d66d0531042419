// AVX2: bytes widened to 16 bits, PMADDWD. Exact; PMADDUBSW would saturate. A register holds four lanes, two halves of each.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "fixed/tile.hpp"
#include "fovea/fixed.h"

namespace fovea {

struct avx2_registers {
  using reg = __m256i;
  static constexpr int lanes = 8;
  static FOVEA_INLINE reg load(const void* p) { return _mm256_loadu_si256(static_cast<const reg*>(p)); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm256_storeu_si256(static_cast<reg*>(p), x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm256_set1_epi32(x); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm256_add_epi32(a, b); }
  static FOVEA_INLINE reg shift_round(reg x, int by) { return _mm256_sra_epi32(add(x, spread(1 << (by - 1))), _mm_cvtsi32_si128(by)); }
};

struct avx2_dot : avx2_registers {
  using element = int16_t;
  using acc = reg;
  using piece = reg;
  using chunk = reg; // four elements, four times
  static constexpr int rows = 1, group = 4, deep = 4, regs = 4, planes = 1, block_step = 64, key_offset = 0;

  static FOVEA_INLINE chunk take(const int16_t* a) {
    int64_t x;
    std::memcpy(&x, a, sizeof x);
    return _mm256_set1_epi64x(x);
  }
  static FOVEA_INLINE piece load(const int8_t* b) { return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(b))); }
  static FOVEA_INLINE piece load(const int16_t* b) { return avx2_registers::load(b); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    reg product; // left to itself, gcc moves sums from register to register and spills
    asm("vpmaddwd %[y], %[x], %[product]\n\tvpaddd %[product], %[sum], %[sum]"
        : [sum] "+x"(sum), [product] "=&x"(product)
        : [x] "x"(x), [y] "xm"(y));
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start start) {
    const reg x = _mm256_set1_epi64x(static_cast<uint32_t>(start(0)));
    sum[0] = sum[1] = sum[2] = sum[3] = x;
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[2]) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) out[i] = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sum[2 * i], sum[2 * i + 1]), 0xd8);
  }
};

// Weights of 32 keys at a time, in 16-bit lanes.
struct avx2_weights : avx2_registers {
  struct constants {
    reg base, multiplier;
    __m128i up;
    template <bool Octaves>
    FOVEA_INLINE reg below(const int32_t* s) const { // base - octaves; octaves are the high half of (s << up) * multiplier
      reg t = load(s);
      if constexpr (!Octaves) {
        t = _mm256_sll_epi32(t, up);
        t = _mm256_blend_epi32(_mm256_srli_epi64(_mm256_mul_epi32(t, multiplier), 32),
                               _mm256_mul_epi32(_mm256_srli_epi64(t, 32), multiplier), 0xaa);
      }
      return _mm256_sub_epi32(base, t);
    }
  };
  static FOVEA_INLINE constants make(const fovea_fixed_scale& scale, int32_t reference) {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16));
    return {base, spread(scale.score_multiplier), _mm_cvtsi32_si128(32 - scale.score_shift)};
  }

  // y[h] holds keys 0-3, 8-11 | 4-7, 12-15 of its half: PACKUS works within 128 bits.
  static FOVEA_INLINE reg fractions(reg u0, reg u1) {
    const reg zero = _mm256_setzero_si256();
    return _mm256_srli_epi16(_mm256_packus_epi32(_mm256_blend_epi16(u0, zero, 0xaa), _mm256_blend_epi16(u1, zero, 0xaa)), 1);
  }
  static FOVEA_INLINE reg exp2(reg f) {
    const reg c3 = _mm256_set1_epi16(-1291), c2 = _mm256_set1_epi16(7513), c1 = _mm256_set1_epi16(-22478), c0 = _mm256_set1_epi16(32510);
    reg y = _mm256_add_epi16(_mm256_mulhrs_epi16(c3, f), c2);
    y = _mm256_add_epi16(_mm256_mulhrs_epi16(y, f), c1);
    return _mm256_add_epi16(_mm256_mulhrs_epi16(y, f), c0);
  }
  // Two registers of weights from four of distances; the bytes of 2^(15-k) come from a table, k >= 16 sets bit 7 and gives 0.
  static FOVEA_INLINE void weights(const reg (&u)[4], reg (&y)[2]) {
    const reg low = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1));
    const reg high = _mm256_broadcastsi128_si256(_mm_setr_epi8(-128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    reg k[2];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      k[h] = _mm256_packus_epi32(_mm256_srli_epi32(u[2 * h], 16), _mm256_srli_epi32(u[2 * h + 1], 16));
      y[h] = exp2(fractions(u[2 * h], u[2 * h + 1]));
    }
    const reg k8 = _mm256_adds_epu8(_mm256_packus_epi16(k[0], k[1]), _mm256_set1_epi8(0x70));
    const reg low_bytes = _mm256_shuffle_epi8(low, k8), high_bytes = _mm256_shuffle_epi8(high, k8);
    // k = 0 multiplies by -32768, which gives -y exactly.
    y[0] = _mm256_abs_epi16(_mm256_mulhrs_epi16(y[0], _mm256_unpacklo_epi8(low_bytes, high_bytes)));
    y[1] = _mm256_abs_epi16(_mm256_mulhrs_epi16(y[1], _mm256_unpackhi_epi8(low_bytes, high_bytes)));
  }

  // leave(j, y): keys j .. j + 15 in order. False, and nothing summed, when a key lies above the reference.
  template <bool Octaves, class Leave>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int32_t* sum, const int16_t* by,
                                 Leave leave) {
    const constants c = make(scale, reference);
    reg sign = _mm256_setzero_si256(), total = load(sum);
#pragma GCC unroll 2
    for (int j = 0; j < 64; j += 32) {
      reg u[4], y[2];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        u[i] = c.below<Octaves>(s + j + 8 * i);
        sign = _mm256_or_si256(sign, u[i]);
      }
      weights(u, y);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        total = add(total, _mm256_madd_epi16(y[h], _mm256_set1_epi16(1)));
        reg p = _mm256_permute4x64_epi64(y[h], 0xd8);
        if (by) p = _mm256_mulhrs_epi16(p, load(by + j + 16 * h));
        leave(j + 16 * h, p);
      }
    }
    if (_mm256_movemask_ps(_mm256_castsi256_ps(sign))) return false;
    store(sum, total);
    return true;
  }
};

} // namespace fovea
