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
  static constexpr bool scales_fours = true, scales_and_narrows = true;
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

  // Four weights of a row: multiply_round, halves by halves.
  static FOVEA_COMPACT void scale_four(element* weights, const int16_t* by) {
    int32_t* const pairs = static_cast<int32_t*>(__builtin_assume_aligned(weights, 4)); // 0 2, 1 3
    const int32_t half = 1 << 14, even = pairs[0], odd = pairs[1];
    const auto pair = [](int32_t low, int32_t high) FOVEA_COMPACT_INLINE {
      return ((low >> 15) & 0xffff) | static_cast<int32_t>(static_cast<uint32_t>(high) << 1 & 0xffff0000u);
    };
    pairs[0] = pair(__smlabb(even, by[0], half), __smlatb(even, by[2], half));
    pairs[1] = pair(__smlabb(odd, by[1], half), __smlatb(odd, by[3], half));
  }

  // exp2_cubic and shift_weight of four keys a turn. SMMLAR of y << 17 is multiply_round and the sum after
  // it, where the sum fits. Two keys at a time are rounded, summed and stored. Negative when a key lies above
  // the base. In assembly: compilers spill `sign`, `to` and what they load. Low registers, where shifts that
  // set flags take two bytes.
  static FOVEA_COMPACT int32_t weigh(const int32_t* t, int keys, int32_t base, element* to, int rows,
                                     uint32_t& total) {
    int32_t sign = 0, h;
    register int32_t a asm("r4"), b asm("r5"), y asm("r6");
    const int32_t* const end = t + keys;
    const int32_t step = 8 * rows;
    asm volatile(
        ".macro fovea_weight u, y\n" // twice the weight, in \y
        "sub \\u, %[base], \\u\n"
        "orr %[sign], %[sign], \\u\n"
        "usat \\u, #21, \\u\n"
        "ubfx %[h], \\u, #1, #15\n"
        "sub %[h], %[h], #32768\n"
        "smmlar \\y, %[c3], %[h], %[c2]\n"
        "lsls \\y, \\y, #17\n"
        "smmlar \\y, \\y, %[h], %[c1]\n"
        "mla \\y, \\y, %[h], %[c0]\n"
        "asrs \\y, \\y, #15\n"
        "lsls \\y, \\y, #1\n"
        "lsrs \\u, \\u, #16\n"
        "lsrs \\y, \\u\n"
        ".endm\n"
        "1:\n"
        ".irp at, 0, 4\n" // keys 0 and 2, then 1 and 3
        "ldr %[a], [%[t]], #4 + \\at\n"
        ".if \\at\n"
        "ldr %[b], [%[t]], #4\n"
        ".else\n"
        "ldr %[b], [%[t], #4]\n"
        ".endif\n"
        "fovea_weight %[a], %[y]\n"
        "fovea_weight %[b], %[a]\n"
        "orr %[y], %[y], %[a], lsl #16\n"
        "uhadd16 %[y], %[y], %[ones]\n"
        "smlad %[sum], %[y], %[ones], %[sum]\n"
        "str %[y], [%[to], #\\at]\n"
        ".endr\n"
        "ldr %[a], %[step]\n"
        "ldr %[b], %[end]\n"
        "add %[to], %[to], %[a]\n"
        "cmp %[t], %[b]\n"
        "bne 1b\n"
        ".purgem fovea_weight\n"
        : [t] "+r"(t), [to] "+r"(to), [sum] "+r"(total), [sign] "+r"(sign), [a] "=&r"(a), [b] "=&r"(b),
          [h] "=&r"(h), [y] "=&r"(y)
        : [base] "r"(base), [c3] "r"(-1270 * (1 << 17)), [c2] "r"(3672), [c1] "r"(-11313),
          [c0] "r"((16255 << 15) + (1 << 14)), [ones] "r"(0x10001), [end] "m"(end), [step] "m"(step)
        : "cc", "memory");
    return sign;
  }

 private:
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
