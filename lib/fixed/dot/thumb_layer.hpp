// Static layers on Cortex-M0 and M0+: eight outputs by one row. LDRB has an offset, which LDRSB has not, so
// bytes hold their weight plus 128; 128 times the row's sum is taken back by the start of the sums. Panels
// are [outputs/8][inputs][8 outputs]: 25 instructions for eight products.
#pragma once
#include "fixed/dot/plain_layer.hpp"
#include "fixed/dot/thumb.hpp"

namespace fovea::fixed {

struct thumb_layer : plain_layer<thumb_dot> {
  // The start of the sums, then the row.
  static size_t row_bytes(int32_t depth) { return sizeof(int32_t) * static_cast<size_t>(depth + 4); }

  FOVEA_HOT static const int32_t* take_row(const int8_t* x, int32_t in, int32_t depth, void* to) {
    int32_t* const row = static_cast<int32_t*>(to);
    int32_t* at = row + 1;
    int32_t sum = 0;
    for (const int8_t* const end = x + in; x != end; ++x) sum += * at++ = *x;
    for (const int32_t* const end = row + 1 + depth; at != end;) *at++ = 0;
    *row = -128 * sum;
    return row;
  }

  FOVEA_HOT static void multiply_panels(const int32_t* x, const int8_t* panels, int32_t depth,
                                        int32_t outputs, int32_t* sums) {
    const int32_t start = *x++;
    const int32_t* const end = x + depth;
    for (const int32_t* const last = sums + outputs; sums != last; sums += 8)
      multiply_eight(x, end, start, panels, sums);
  }

 private:
  static FOVEA_COMPACT void multiply_eight(const int32_t* x, const int32_t* end, int32_t start,
                                           const int8_t*& panels, int32_t* sums) {
    int32_t byte, word, o0 = start, o1 = start, o2 = start, o3 = start, o4 = start, o5 = start, o6 = start,
                        o7 = start;
    asm volatile(
        ".syntax unified\n"
        "1:\n"
        ".irp step, 0, 8, 16, 24\n"
        "ldmia %[x]!, {%[word]}\n"
        "ldrb %[byte], [%[w], #\\step]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o0], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 1]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o1], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 2]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o2], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 3]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o3], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 4]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o4], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 5]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o5], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 6]\n"
        "muls %[byte], %[word], %[byte]\n"
        "add %[o6], %[byte]\n"
        "ldrb %[byte], [%[w], #\\step + 7]\n"
        "muls %[word], %[byte], %[word]\n"
        "add %[o7], %[word]\n"
        ".endr\n"
        "adds %[w], #32\n"
        "cmp %[x], %[end]\n"
        "bne 1b\n"
        // Lines are how gcc knows the size of this text, and how far its own branches must reach across it.
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
        "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
        : [x] "+l"(x), [w] "+l"(panels), [byte] "=&l"(byte), [word] "=&l"(word), [o0] "+l"(o0), [o1] "+l"(o1),
          [o2] "+l"(o2), [o3] "+h"(o3), [o4] "+h"(o4), [o5] "+h"(o5), [o6] "+h"(o6), [o7] "+l"(o7)
        : [end] "h"(end)
        : "cc", "memory");
    sums[0] = o0, sums[1] = o1, sums[2] = o2, sums[3] = o3;
    sums[4] = o4, sums[5] = o5, sums[6] = o6, sums[7] = o7;
  }
};

} // namespace fovea::fixed
