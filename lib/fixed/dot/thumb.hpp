// Cortex-M0 and M0+: MULS, and low registers for eight operands only. Four lanes by one row; multipliers of
// the row are words, sums stand in high registers, and four registers 0 4 8 12 index bytes, because LDRSB has
// no other offset: 14 1/2 instructions for 4 products. A second row would save loads but cost a copy for each
// product.
#pragma once
#include "fixed/dot/plain.hpp"

namespace fovea::fixed {

struct thumb_core : plain_weights<int32_t, thumb_core>, lane_tiles<thumb_core> {
  using element = int32_t;
  static constexpr int most_rows = 1, lanes[] = {0, 4};
  static constexpr bool scales_and_narrows = false; // for both at once there are too few registers
  static int place(int, int, int i) { return i; }

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth,
                                     int32_t (&o)[lanes[G]][G]) {
    const element* const end = a + depth;
    int32_t byte, word;
    asm volatile(
        ".syntax unified\n"
        "1:\n"
        ".irp step, 1, 1, 1, 61\n"
        "ldmia %[a]!, {%[word]}\n"
        "ldrsb %[byte], [%[b], %[at0]]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o0], %[byte]\n"
        "ldrsb %[byte], [%[b], %[at4]]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o1], %[byte]\n"
        "ldrsb %[byte], [%[b], %[at8]]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o2], %[byte]\n"
        "ldrsb %[byte], [%[b], %[at12]]\n"
        "muls %[word], %[byte], %[word]\n"
        "add %[o3], %[word]\n"
        "adds %[b], #\\step\n"
        ".endr\n"
        "cmp %[a], %[end]\n"
        "bne 1b\n"
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n" // gcc counts lines, not what .irp repeats, to choose its branches
        : [a] "+l"(a), [b] "+l"(b), [byte] "=&l"(byte), [word] "=&l"(word), [o0] "+h"(o[0][0]),
          [o1] "+h"(o[1][0]), [o2] "+h"(o[2][0]), [o3] "+h"(o[3][0])
        : [end] "h"(end), [at0] "l"(0), [at4] "l"(4), [at8] "l"(8), [at12] "l"(12)
        : "cc", "memory");
  }

  // exp2_cubic and shift_weight. Keys 32 octaves below the base, or above it, get weight 0. Negative if a key
  // lies above the base.
  static FOVEA_COMPACT int32_t weigh(const int32_t* t, int keys, int32_t base, element* to, int,
                                     uint32_t& sum) {
    int32_t sign = 0, u, h, y;
    asm volatile(
        ".syntax unified\n"
        "1:\n"
        "ldmia %[t]!, {%[u]}\n"
        "subs %[u], %[base], %[u]\n"
        "orrs %[sign], %[u]\n"
        "lsrs %[y], %[u], #21\n"
        "bne 3f\n"
        "mvns %[h], %[u]\n" // no register is left for 32768
        "lsls %[h], %[h], #16\n"
        "lsrs %[h], %[h], #17\n"
        "mvns %[h], %[h]\n"
        "mov %[y], %[c3]\n"
        ".irp c, %[c2], %[c1], %[c0]\n"
        "muls %[y], %[h], %[y]\n"
        "add %[y], \\c\n"
        "asrs %[y], %[y], #15\n"
        ".endr\n"
        "lsls %[y], %[y], #1\n"
        "lsrs %[u], %[u], #16\n"
        "lsrs %[y], %[y], %[u]\n"
        "adds %[y], #1\n"
        "lsrs %[y], %[y], #1\n"
        "adds %[sum], %[sum], %[y]\n"
        "2: stmia %[to]!, {%[y]}\n"
        "cmp %[t], %[end]\n"
        "bne 1b\n"
        "b 4f\n"
        "3: movs %[y], #0\n"
        "b 2b\n"
        "4:"
        : [t] "+l"(t), [to] "+l"(to), [sum] "+l"(sum), [sign] "+l"(sign), [u] "=&l"(u), [h] "=&l"(h),
          [y] "=&l"(y)
        : [base] "l"(base), [end] "h"(t + keys), [c3] "h"(-1270), [c2] "h"(summand(3672)),
          [c1] "h"(summand(-11313)), [c0] "h"(summand(16255))
        : "cc", "memory");
    return sign;
  }
};

using thumb_dot = plain_dot<thumb_core>;

} // namespace fovea::fixed
