// Cortex-M4, M7, M33: SMLAD, two products an instruction. Two lanes by two rows, four deep: one LDRD of
// bytes, one LDM of pairs, four SXTB16, eight SMLAD for 16 products. One row takes four lanes, so that its
// pairs are loaded half as often.
#pragma once
#include <arm_acle.h>

#include <cstring>

#include "fixed/dot/plain.hpp"

namespace fovea::fixed {

struct dsp_core {
  using element = int16_t;
  static constexpr int most_rows = 2;
  static constexpr int panel_alignment = 4, query_alignment = 4; // of LDRD and of LDR
  static constexpr bool scales_fours = true, scales_and_narrows = true;
  static constexpr int weigh_step = 4; // keys
  // Four elements of a row stand in the order that SXTB16 gives to bytes: 0 2 1 3.
  static int place(int rows, int g, int i) { return (i & ~3) * rows + g * 4 + ((i & 1) << 1 | (i & 2) >> 1); }

  // to[g * stride + lane] += sum over depth of row g * panel[lane]: lane_tiles in assembly.
  FOVEA_HOT static void add(int rows, const element* a, const int8_t* panel, int depth, int panel_depth,
                            int32_t* to, int stride, int count) {
    const int32_t* const end = to + count;
    tile x{a, a + rows * depth, nullptr, (rows == 1 ? 16 : 8) - 16 * depth, 4 * stride};
    do {
      x.last = end - to < 16 ? end : to + 16;
      if (rows == 1)
        add_fours(x, panel, to);
      else
        add_pairs(x, panel, to);
      panel += 16 * (panel_depth - 4);
    } while (to != end);
  }

  // Compilers would take SMULL, which needs one more register.
  static FOVEA_COMPACT void high_pair(int32_t*& x, int32_t multiplier, int up) {
    int32_t a, b;
    asm volatile(
        "ldrd %[a], %[b], [%[x]]\n"
        "lsls %[a], %[up]\n"
        "lsls %[b], %[up]\n"
        "smmul %[a], %[a], %[by]\n"
        "smmul %[b], %[b], %[by]\n"
        "strd %[a], %[b], [%[x]], #8\n"
        : [x] "+r"(x), [a] "=&l"(a), [b] "=&l"(b)
        : [by] "r"(multiplier), [up] "l"(up)
        : "cc", "memory");
  }
  static FOVEA_COMPACT int32_t scaled(int32_t x, int left, int32_t multiplier, int32_t half) {
    x = left_shift(x, left);
    asm("smmla %0, %0, %1, %2" : "+r"(x) : "r"(multiplier), "r"(half));
    return x;
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
      int32_t both;
      asm("pkhtb %0, %1, %2, asr #15" : "=r"(both) : "r"(left_shift(high, 1)), "r"(low));
      return both;
    };
    pairs[0] = pair(__smlabb(even, by[0], half), __smlatb(even, by[2], half));
    pairs[1] = pair(__smlabb(odd, by[1], half), __smlatb(odd, by[3], half));
  }

  // exp2_cubic and shift_weight of two keys a turn, 0 and 2 of a four, then 1 and 3, whose address has bit 2.
  // SMMLAR of y << 17 is multiply_round and the sum after it, where the sum fits. Negative when a key lies
  // above the base. In assembly: compilers spill `sign`, `to` and what they load. Low registers, where shifts
  // that set flags take two bytes.
  static FOVEA_COMPACT int32_t weigh(const int32_t* t, int keys, int32_t base, element* to, int rows,
                                     uint32_t& total) {
    int32_t sign = 0, h;
    register int32_t a asm("r4"), b asm("r5"), y asm("r6");
    const int32_t* const end = t + keys;
    const int32_t others = 8 * (rows - 1); // bytes of other rows between fours of this one
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
        "ldr %[b], [%[t], #8]\n"
        "ldr %[a], [%[t]], #4\n"
        "fovea_weight %[a], %[y]\n"
        "fovea_weight %[b], %[a]\n"
        "orr %[y], %[y], %[a], lsl #16\n"
        "uhadd16 %[y], %[y], %[ones]\n"
        "smlad %[sum], %[y], %[ones], %[sum]\n"
        "str %[y], [%[to]], #4\n"
        "lsls %[a], %[t], #29\n"
        "bmi 1b\n"
        "ldr %[a], %[others]\n"
        "ldr %[b], %[end]\n"
        "add %[t], #8\n"
        "add %[to], %[to], %[a]\n"
        "cmp %[t], %[b]\n"
        "bne 1b\n"
        ".purgem fovea_weight\n"
        : [t] "+r"(t), [to] "+r"(to), [sum] "+r"(total), [sign] "+r"(sign), [a] "=&r"(a), [b] "=&r"(b),
          [h] "=&r"(h), [y] "=&r"(y)
        : [base] "r"(base), [c3] "r"(-1270 * (1 << 17)), [c2] "r"(3672), [c1] "r"(-11313),
          [c0] "r"((16255 << 15) + (1 << 14)), [ones] "r"(0x10001), [end] "m"(end), [others] "m"(others)
        : "cc", "memory");
    return sign;
  }

 private:
  // Lanes up to the end of a panel. Of each tile, a runs from `first` to `end`; then the panel is moved by
  // `skip` to the next lanes, until `to` comes to `last`. Rows of sums are `apart` bytes apart. In assembly:
  // compilers spill pointers in the loop, and take LDRD where LDM loads four.
  struct tile {
    const element *first, *end;
    const int32_t* last;
    int skip, apart;
  };
  // The end of both loops, with r2 where the next sums stand and r3 the skip. gcc counts lines to choose its
  // branches, and not what assembler macros make of them: hence the empty ones.
#define FOVEA_NEXT_LANES \
  "add %[b], r3\n"       \
  "ldr r3, %[last]\n"    \
  "str r2, %[to]\n"      \
  "ldr %[a], %[first]\n" \
  "cmp r2, r3\n"         \
  "bne 2b\n"             \
  "\n\n\n\n\n\n\n\n\n\n\n\n"

  // Four lanes by one row.
  static FOVEA_COMPACT void add_fours(const tile& x, const int8_t*& panel, int32_t*& to) {
    const element* a = x.first;
    asm volatile(
        ".macro fovea_lane sum, bytes, even, odd\n"
        "sxtb16 lr, \\bytes\n"
        "sxtb16 \\bytes, \\bytes, ror #8\n"
        "smlad \\sum, lr, \\even, \\sum\n"
        "smlad \\sum, \\bytes, \\odd, \\sum\n"
        ".endm\n"
        ".macro fovea_four_deep even, odd\n"
        "ldrd r2, r3, [%[b]], #8\n"
        "fovea_lane r4, r2, \\even, \\odd\n"
        "fovea_lane r5, r3, \\even, \\odd\n"
        "ldrd r2, r3, [%[b]], #56\n"
        "fovea_lane r6, r2, \\even, \\odd\n"
        "fovea_lane r8, r3, \\even, \\odd\n"
        ".endm\n"
        "ldr r2, %[to]\n"
        "2:\n"
        "ldmia r2, {r4, r5, r6, r8}\n"
        "1:\n"
        "ldmia %[a]!, {r9, r10, r11, r12}\n"
        "fovea_four_deep r9, r10\n"
        "fovea_four_deep r11, r12\n"
        "cmp %[a], %[end]\n"
        "bne 1b\n"
        "ldr r2, %[to]\n"
        "ldr r3, %[skip]\n"
        "stmia r2!, {r4, r5, r6, r8}\n" FOVEA_NEXT_LANES
        ".purgem fovea_lane\n"
        ".purgem fovea_four_deep\n"
        : [a] "+r"(a), [b] "+r"(panel), [to] "+m"(to)
        : [end] "r"(x.end), [first] "m"(x.first), [skip] "m"(x.skip), [last] "m"(x.last)
        : "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
  }

  // Two lanes by two rows.
  static FOVEA_COMPACT void add_pairs(const tile& x, const int8_t*& panel, int32_t*& to) {
    const element* a = x.first;
    asm volatile(
        ".macro fovea_lane sum, other, bytes\n"
        "sxtb16 lr, \\bytes\n"
        "sxtb16 \\bytes, \\bytes, ror #8\n"
        "smlad \\sum, lr, r9, \\sum\n"
        "smlad \\other, lr, r11, \\other\n"
        "smlad \\sum, \\bytes, r10, \\sum\n"
        "smlad \\other, \\bytes, r12, \\other\n"
        ".endm\n"
        "ldr r2, %[to]\n"
        "ldr lr, %[apart]\n"
        "2:\n"
        "ldrd r4, r5, [r2]\n"
        "add r3, r2, lr\n"
        "ldrd r6, r8, [r3]\n"
        "1:\n"
        ".rept 2\n"
        "ldmia %[a]!, {r9, r10, r11, r12}\n"
        "ldrd r2, r3, [%[b]], #64\n"
        "fovea_lane r4, r6, r2\n"
        "fovea_lane r5, r8, r3\n"
        ".endr\n"
        "cmp %[a], %[end]\n"
        "bne 1b\n"
        "ldr r2, %[to]\n"
        "ldr lr, %[apart]\n"
        "add r3, r2, lr\n"
        "strd r6, r8, [r3]\n"
        "ldr r3, %[skip]\n"
        "strd r4, r5, [r2], #8\n" FOVEA_NEXT_LANES ".purgem fovea_lane\n"
        : [a] "+r"(a), [b] "+r"(panel), [to] "+m"(to)
        : [end] "r"(x.end), [first] "m"(x.first), [skip] "m"(x.skip), [last] "m"(x.last), [apart] "m"(x.apart)
        : "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
  }
#undef FOVEA_NEXT_LANES
};

using dsp_dot = plain_dot<dsp_core>;

} // namespace fovea::fixed
