// AVX-VNNI: VPDPBUSD on eight lanes four deep. Keys and weights are the unsigned operands, as in AVX-512 VNNI.
#pragma once
#include "dot/avx2.hpp"

namespace fovea {

struct avxvnni_registers : avx2_registers {
  static FOVEA_INLINE reg four(const void* a) {
    int32_t x;
    std::memcpy(&x, a, sizeof x);
    return spread(x);
  }
  static FOVEA_INLINE void pin(reg& x) { // gcc reorders products until accumulators spill, unless each stays where it is
#if !defined(__clang__)
    asm volatile("" : "+x"(x));
#else
    (void)x;
#endif
  }
};

struct avxvnni_keys : avxvnni_registers {
  using element = int8_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, regs = 2, key_offset = -128;

  static FOVEA_INLINE chunk take(const int8_t* a) { return a; }
  static FOVEA_INLINE piece load(const int8_t* b) { return _mm256_xor_si256(avx2_registers::load(b), _mm256_set1_epi8(-128)); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    sum = _mm256_dpbusd_avx_epi32(sum, y, four(x));
    pin(sum);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[2], Start start) {
    sum[0] = sum[1] = spread(start(0));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[2], int, reg (&out)[2]) { out[0] = sum[0], out[1] = sum[1]; }
};

struct avxvnni_values : avxvnni_registers {
  using element = uint8_t; // 256 low bytes of a row, then 256 high bytes
  struct acc {
    reg low, high;
  };
  using piece = reg;
  using chunk = const uint8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, regs = 2, planes = 2, block_step = 64, plane = 256;

  static FOVEA_INLINE chunk take(const uint8_t* a) { return a; }
  static FOVEA_INLINE piece load(const int8_t* b) { return avx2_registers::load(b); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    sum.low = _mm256_dpbusd_avx_epi32(sum.low, four(x), y);
    pin(sum.low);
    sum.high = _mm256_dpbusd_avx_epi32(sum.high, four(x + plane), y);
    pin(sum.high);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[2], Start) {
    sum[0] = sum[1] = {spread(0), spread(0)};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[2], int, reg (&out)[2]) {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) out[i] = avx2_registers::add(_mm256_slli_epi32(sum[i].high, 8), sum[i].low);
  }
};

} // namespace fovea
