// AVX-512 VNNI: VPDPBUSD on sixteen lanes four deep. Keys are the unsigned operand (their bytes plus 128, taken back by the start
// of the sums); weights are unsigned too, as two bytes.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "fixed/tile.hpp"
#include "fovea/fixed.h"

namespace fovea {

struct avx512_registers {
  using reg = __m512i;
  static constexpr int lanes = 16;
  static FOVEA_INLINE reg load(const void* p) { return _mm512_loadu_si512(p); }
  static FOVEA_INLINE void store(void* p, reg x) { _mm512_storeu_si512(p, x); }
  static FOVEA_INLINE reg spread(int32_t x) { return _mm512_set1_epi32(x); }
  static FOVEA_INLINE reg add(reg a, reg b) { return _mm512_add_epi32(a, b); }
  static FOVEA_INLINE reg shift_round(reg x, int by) { return _mm512_sra_epi32(add(x, spread(1 << (by - 1))), _mm_cvtsi32_si128(by)); }
  static FOVEA_INLINE reg four(const void* a) { // bytes, sixteen times
    int32_t x;
    std::memcpy(&x, a, sizeof x);
    return spread(x);
  }
  static FOVEA_INLINE void pin(reg& x) { // gcc reorders products until accumulators spill, unless each stays where it is
#if !defined(__clang__)
    asm volatile("" : "+v"(x));
#else
    (void)x;
#endif
  }
};

struct avx512vnni_keys : avx512_registers {
  using element = int8_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, regs = 1, key_offset = -128;

  static FOVEA_INLINE chunk take(const int8_t* a) { return a; }
  static FOVEA_INLINE piece load(const int8_t* b) { return _mm512_xor_si512(avx512_registers::load(b), _mm512_set1_epi8(-128)); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    sum = _mm512_dpbusd_epi32(sum, y, four(x));
    pin(sum);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[1], Start start) {
    sum[0] = spread(start(0));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[1], int, reg (&out)[1]) { out[0] = sum[0]; }
};

struct avx512vnni_values : avx512_registers {
  using element = uint8_t; // 256 low bytes of a row, then 256 high bytes
  struct acc {
    reg low, high;
  };
  using piece = reg;
  using chunk = const uint8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, regs = 1, planes = 2, block_step = 64, plane = 256;

  static FOVEA_INLINE chunk take(const uint8_t* a) { return a; }
  static FOVEA_INLINE piece load(const int8_t* b) { return avx512_registers::load(b); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    sum.low = _mm512_dpbusd_epi32(sum.low, four(x), y);
    pin(sum.low);
    sum.high = _mm512_dpbusd_epi32(sum.high, four(x + plane), y);
    pin(sum.high);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[1], Start) {
    sum[0] = {spread(0), spread(0)};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[1], int, reg (&out)[1]) {
    out[0] = avx512_registers::add(_mm512_slli_epi32(sum[0].high, 8), sum[0].low);
  }
};

struct avx512_weights : avx512_registers {
  struct constants {
    reg base, multiplier;
    __m128i up;
    template <bool Octaves>
    FOVEA_INLINE reg below(const int32_t* s) const { // base - octaves; octaves are the high half of (s << up) * multiplier
      reg t = load(s);
      if constexpr (!Octaves) {
        t = _mm512_sll_epi32(t, up);
        const reg odd = _mm512_mul_epi32(_mm512_srli_epi64(t, 32), multiplier);
        t = _mm512_mask_shuffle_epi32(odd, 0x5555, _mm512_mul_epi32(t, multiplier), static_cast<_MM_PERM_ENUM>(0xf5));
      }
      return _mm512_sub_epi32(base, t);
    }
  };

  static FOVEA_INLINE reg exp2(reg f) {
    const reg c3 = _mm512_set1_epi16(-1291), c2 = _mm512_set1_epi16(7513), c1 = _mm512_set1_epi16(-22478), c0 = _mm512_set1_epi16(32510);
    reg y = _mm512_add_epi16(_mm512_mulhrs_epi16(c3, f), c2);
    y = _mm512_add_epi16(_mm512_mulhrs_epi16(y, f), c1);
    return _mm512_add_epi16(_mm512_mulhrs_epi16(y, f), c0);
  }

  // False, and nothing summed, when a key lies above the reference.
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, uint8_t* p, int32_t* sum,
                                 const int16_t* by) {
    alignas(64) static constexpr int16_t evens[32] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                                      32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};
    const reg low_halves = load(evens), high_halves = _mm512_add_epi16(low_halves, _mm512_set1_epi16(1));
    const constants c{spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16)), spread(scale.score_multiplier),
                      _mm_cvtsi32_si128(32 - scale.score_shift)};
    reg sign = _mm512_setzero_si512(), total = load(sum);
#pragma GCC unroll 2
    for (int j = 0; j < 64; j += 32) {
      const reg u0 = c.below<Octaves>(s + j), u1 = c.below<Octaves>(s + j + 16);
      sign = _mm512_ternarylogic_epi32(sign, u0, u1, 0xfe);
      const reg f = _mm512_srli_epi16(_mm512_permutex2var_epi16(u0, low_halves, u1), 1), k = _mm512_permutex2var_epi16(u0, high_halves, u1);
      const reg y = exp2(f);
      reg w = _mm512_avg_epu16(_mm512_srlv_epi16(_mm512_add_epi16(y, y), k), _mm512_setzero_si512()); // (2y >> k, plus 1) >> 1
      total = _mm512_dpwssd_epi32(total, w, _mm512_set1_epi16(1));
      if (by) w = _mm512_mulhrs_epi16(w, load(by + j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + j), _mm512_cvtepi16_epi8(w));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + avx512vnni_values::plane + j), _mm512_cvtepi16_epi8(_mm512_srli_epi16(w, 8)));
    }
    if (_mm512_movepi32_mask(sign)) return false;
    store(sum, total);
    return true;
  }
};

} // namespace fovea
