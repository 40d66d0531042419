// Cortex-M4, M7, M33: SMLAD, two products an instruction. Two lanes by two rows, four deep: one LDRD of
// bytes, two LDRD of pairs, four SXTB16, eight SMLAD for 16 products. One row takes four lanes, so that its
// pairs are loaded half as often.
#pragma once
#include <arm_acle.h>

#include <cstring>

#include "fixed/dot/plain.hpp"

namespace fovea::fixed {

struct dsp_core {
  using element = int16_t;
  static constexpr int most_rows = 2, lanes[] = {0, 4, 2}, high_words = 4;
  static constexpr int panel_alignment = 4, query_alignment = 4; // of LDRD and of LDR
  // Four elements of a row stand in the order that SXTB16 gives to bytes: 0 2 1 3.
  static int place(int rows, int g, int i) { return (i & ~3) * rows + g * 4 + ((i & 1) << 1 | (i & 2) >> 1); }

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth,
                                     int32_t (&o)[lanes[G]][G]) {
    for (const int8_t* end = b + depth * 16; b != end;) {
      step(a, b, o);
      step(a, b, o);
    }
  }

  static FOVEA_COMPACT int32_t high_word(int32_t a, int32_t b) {
    int32_t high; // compilers would take SMULL, which needs one more register
    asm("smmul %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
  }
  static FOVEA_COMPACT int32_t odd_bytes(int32_t x) {
    int32_t pair;
    asm("sxtb16 %0, %1, ror #8" : "=r"(pair) : "r"(x));
    return pair;
  }
  template <int Bits>
  static FOVEA_COMPACT int32_t saturate(int32_t x) {
    return __builtin_arm_ssat(x, Bits);
  }

  static void put_four(element* to, int, const int8_t* q) {
    int32_t bytes;
    std::memcpy(&bytes, __builtin_assume_aligned(q, query_alignment), sizeof bytes);
    reinterpret_cast<int32_t*>(to)[0] = __sxtb16(bytes);
    reinterpret_cast<int32_t*>(to)[1] = odd_bytes(bytes);
  }

  // Negative when a key lies above the base. Two keys at a time are rounded, summed and stored.
  static FOVEA_COMPACT int32_t weigh(const int32_t* t, int keys, int32_t base, element* to, int rows,
                                     uint32_t& total) {
    horner h = {base, 0, -1270 * (1 << 17), 3672, -11313, (16255 << 15) + (1 << 14)};
    int32_t sum = static_cast<int32_t>(total), ones = 0x10001;
    asm("" : "+r"(h.c3), "+r"(h.c2), "+r"(h.c1), "+r"(h.c0), "+r"(ones));
    for (const int32_t* end = t + keys; t != end; t += 4, to += 4 * rows)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const uint32_t first = h.twice_weight(t[i]), second = h.twice_weight(t[i + 2]);
        const int32_t pair = static_cast<int32_t>(
            __uhadd16(first | second << 16, static_cast<uint32_t>(ones)));
        sum = __smlad(pair, ones, sum);
        reinterpret_cast<int32_t*>(to)[i] = pair;
        asm volatile("" : : : "memory"); // pair by pair: interleaved, they would spill each other's registers
      }
    total = static_cast<uint32_t>(sum);
    return h.sign;
  }

 private:
  // exp2_cubic. SMMLAR of y << 17 is multiply_round and the sum after it, where the sum fits.
  struct horner {
    int32_t base, sign, c3, c2, c1, c0;
    FOVEA_COMPACT uint32_t twice_weight(int32_t t) {
      const int32_t below = base - t;
      sign |= below;
      const int32_t u = __builtin_arm_usat(below, 21),
                    h = ((u >> 1) & 0x7fff) - 32768; // `sign` tells of u < 0
      int32_t y, z;
      asm("smmlar %0, %1, %2, %3" : "=r"(y) : "r"(c3), "r"(h), "r"(c2));
      asm("smmlar %0, %1, %2, %3" : "=r"(z) : "r"(left_shift(y, 17)), "r"(h), "r"(c1));
      return static_cast<uint32_t>((z * h + c0) >> 15) * 2 >> (u >> 16);
    }
  };

  template <int Step, class T>
  static FOVEA_COMPACT void load_two(const T*& at, int32_t& x, int32_t& y) { // and move on by Step bytes
    asm volatile("ldrd %0, %1, [%2], %3" : "=&r"(x), "=&r"(y), "+r"(at) : "i"(Step) : "memory");
  }

  template <int L, int G>
  static FOVEA_COMPACT void step(const element*& a, const int8_t*& b, int32_t (&x)[L][G]) {
    int32_t pairs[G][2];
#pragma GCC unroll 2
    for (int g = 0; g < G; ++g) load_two<8>(a, pairs[g][0], pairs[g][1]);
#pragma GCC unroll 2
    for (int l = 0; l < L; l += 2) {
      int32_t bytes[2];
      if (l + 2 < L)
        load_two<8>(b, bytes[0], bytes[1]);
      else
        load_two<64 - 4 * L + 8>(b, bytes[0], bytes[1]);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const int32_t even = __sxtb16(bytes[i]), odd = odd_bytes(bytes[i]);
#pragma GCC unroll 2
        for (int g = 0; g < G; ++g) x[l + i][g] = __smlad(even, pairs[g][0], x[l + i][g]);
#pragma GCC unroll 2
        for (int g = 0; g < G; ++g) x[l + i][g] = __smlad(odd, pairs[g][1], x[l + i][g]);
      }
    }
  }
};

using dsp_dot = plain_dot<dsp_core>;

} // namespace fovea::fixed
