// Cortex-M4, M7, M33: SMLAD, two products an instruction. Two lanes by two rows, four deep: one LDRD of bytes, two LDRD of pairs,
// four SXTB16, eight SMLAD for 16 products.
#pragma once
#include <arm_acle.h>

#include "dot/plain.hpp"

namespace fovea {

struct dsp_core {
  using element = int16_t;
  static constexpr int lanes = 2;
  // Four elements of a row stand as SXTB16 leaves bytes: 0 2 1 3.
  static int place(int rows, int g, int i) { return (i & ~3) * rows + g * 4 + ((i & 1) << 1 | (i & 2) >> 1); }
  static FOVEA_COMPACT int32_t cap(int32_t u) { return static_cast<int32_t>(__builtin_arm_usat(u, 21)); } // below zero: `sign` tells

  template <class One, class T>
  static FOVEA_COMPACT void put_four(element* to, int, One&& one, const T* s) {
    to[0] = static_cast<element>(one(s[0]));
    to[2] = static_cast<element>(one(s[1]));
    to[1] = static_cast<element>(one(s[2]));
    to[3] = static_cast<element>(one(s[3]));
  }

  static FOVEA_COMPACT int32_t odd_bytes(int32_t x) {
    int32_t pair;
    asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(x));
    return pair;
  }
  template <int Step, class T>
  static FOVEA_COMPACT void load_two(const T*& at, int32_t& x, int32_t& y) { // and move on by Step bytes
    asm volatile("ldrd %0, %1, [%2], %3" : "=&r"(x), "=&r"(y), "+r"(at) : "i"(Step) : "memory");
  }

  template <int G>
  static FOVEA_COMPACT void step(const element*& a, const int8_t*& b, int32_t (&x)[lanes][G]) {
    int32_t bytes[lanes], pairs[G][2];
    load_two<64>(b, bytes[0], bytes[1]);
#pragma GCC unroll 2
    for (int g = 0; g < G; ++g) load_two<8>(a, pairs[g][0], pairs[g][1]);
#pragma GCC unroll 2
    for (int l = 0; l < lanes; ++l) {
      const int32_t even = __sxtb16(bytes[l]), odd = odd_bytes(bytes[l]);
#pragma GCC unroll 2
      for (int g = 0; g < G; ++g) x[l][g] = __smlad(even, pairs[g][0], x[l][g]);
#pragma GCC unroll 2
      for (int g = 0; g < G; ++g) x[l][g] = __smlad(odd, pairs[g][1], x[l][g]);
    }
  }

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth, int32_t (&o)[lanes][G]) {
    for (const int8_t* end = b + depth * 16; b != end;) {
      step(a, b, o);
      step(a, b, o);
    }
  }
};

using dsp_dot = plain_dot<dsp_core>;

} // namespace fovea
