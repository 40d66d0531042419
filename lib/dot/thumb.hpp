// Cortex-M0 and M0+: MULS, and low registers for eight operands only. Two lanes by two rows; multipliers of rows are words, sums stand in
// high registers, and the two registers 0 and 1 index bytes, because LDRSB has no other offset: 13 3/4 instructions for 4 products.
#pragma once
#include "dot/plain.hpp"

namespace fovea {

struct thumb_core {
  using element = int32_t;
  static constexpr int lanes = 2;
  static int place(int rows, int g, int i) { return i * rows + g; }
  static FOVEA_COMPACT int32_t cap(int32_t u) { return u > 0x1fffff ? 0x1fffff : u; }

  template <class One, class T>
  static FOVEA_COMPACT void put_four(element* to, int rows, One&& one, const T* s) {
    for (int i = 0; i < 4; ++i) to[i * rows] = one(s[i]);
  }

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth, int32_t (&o)[lanes][G]) {
    const element* const end = a + depth * G;
    if constexpr (G == 2)
      multiply_two(a, b, end, o);
    else
      multiply_one(a, b, end, o);
  }

 private:
  static FOVEA_COMPACT void multiply_one(const element* a, const int8_t* b, const element* end, int32_t (&o)[lanes][1]) {
    int32_t byte, word;
    asm volatile(
        ".syntax unified\n"
        "1:\n"
        ".irp at, 0, 4, 8, 12\n"
        "ldrsb %[byte], [%[b], %[zero]]\n"
        "ldr %[word], [%[a], #\\at]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o0], %[byte]\n"
        "ldrsb %[byte], [%[b], %[four]]\n"
        "muls %[word], %[byte], %[word]\n"
        "add %[o1], %[word]\n"
        "adds %[b], #1\n"
        ".endr\n"
        "adds %[a], #16\n"
        "adds %[b], #60\n"
        "cmp %[a], %[end]\n"
        "bne 1b"
        : [a] "+l"(a), [b] "+l"(b), [byte] "=&l"(byte), [word] "=&l"(word), [o0] "+h"(o[0][0]), [o1] "+h"(o[1][0])
        : [end] "h"(end), [zero] "l"(0), [four] "l"(4)
        : "cc", "memory");
  }

  static FOVEA_COMPACT void multiply_two(const element* a, const int8_t* b, const element* end, int32_t (&o)[lanes][2]) {
    int32_t copy, byte, first, second;
    asm volatile(
        ".syntax unified\n"
        "1:\n"
        ".irp at, 0, 8, 16, 24\n"
        "ldrsb %[byte], [%[b], %[zero]]\n"
        "ldr %[first], [%[a], #\\at]\n"
        "ldr %[second], [%[a], #\\at + 4]\n"
        "mov %[copy], %[first]\n"
        "muls %[copy], %[byte], %[copy]\n"
        "add %[o00], %[copy]\n"
        "muls %[byte], %[second], %[byte]\n"
        "add %[o01], %[byte]\n"
        "ldrsb %[byte], [%[b], %[four]]\n"
        "muls %[first], %[byte], %[first]\n"
        "add %[o10], %[first]\n"
        "muls %[second], %[byte], %[second]\n"
        "add %[o11], %[second]\n"
        "adds %[b], #1\n"
        ".endr\n"
        "adds %[a], #32\n"
        "adds %[b], #60\n"
        "cmp %[a], %[end]\n"
        "bne 1b"
        : [a] "+l"(a), [b] "+l"(b), [copy] "=&l"(copy), [byte] "=&l"(byte), [first] "=&l"(first), [second] "=&l"(second),
          [o00] "+h"(o[0][0]), [o01] "+h"(o[0][1]), [o10] "+h"(o[1][0]), [o11] "+h"(o[1][1])
        : [end] "h"(end), [zero] "l"(0), [four] "l"(4)
        : "cc", "memory");
  }
};

using thumb_dot = plain_dot<thumb_core>;

} // namespace fovea
