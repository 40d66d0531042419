// The loop of dsp_layer.hpp and dsp_product.hpp: one row by four outputs at a time, 27 instructions for 32
// products.
#pragma once
#include "fixed/dot/dsp.hpp"

namespace fovea::fixed {

// A run of a row: the start of its sums, four times, then pairs, and an end that no pair can be, four times
// because the loop loads four words at once.
constexpr int32_t dsp_run_end = INT32_MIN;
constexpr int32_t dsp_run_words(int32_t depth) { return 4 + depth / 2 + 4; }
FOVEA_COMPACT int32_t* dsp_put_four(int32_t* to, int32_t number) {
  to[0] = to[1] = to[2] = to[3] = number;
  return to + 4;
}

struct dsp_sums {
  int32_t a, b, c, d;
};

// A run by four outputs, whose weights are [depth/4][4 outputs][4 inputs]; w moves behind them. It takes all
// registers: what goes on over it stays in memory. Empty lines are for gcc, as in dsp.hpp.
FOVEA_COMPACT dsp_sums dsp_multiply_four(const int32_t* x, const int8_t*& w) {
  register int32_t a asm("r2"), b asm("r3"), c asm("r4"), d asm("r5");
  asm volatile(
      ".macro fovea_four_deep odd, rest\n"
      "ldmia %[w]!, {r10, r11, r12, lr}\n"
      "smlad r2, r10, \\odd, r2\n"
      "uxtb16 r10, r10\n"
      "smlad r3, r11, \\odd, r3\n"
      "uxtb16 r11, r11\n"
      "smlad r4, r12, \\odd, r4\n"
      "uxtb16 r12, r12\n"
      "smlad r5, lr, \\odd, r5\n"
      "uxtb16 lr, lr\n"
      "smlad r2, r10, \\rest, r2\n"
      "smlad r3, r11, \\rest, r3\n"
      "smlad r4, r12, \\rest, r4\n"
      "smlad r5, lr, \\rest, r5\n"
      ".endm\n"
      "ldmia %[x]!, {r2-r9}\n"
      "1:\n"
      ".rept 2\n"
      "fovea_four_deep r6, r7\n"
      "fovea_four_deep r8, r9\n"
      "ldmia %[x]!, {r6-r9}\n"
      ".endr\n"
      "cmp r6, %[end]\n"
      "bne 1b\n"
      ".purgem fovea_four_deep\n"
      "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
      : [x] "+r"(x), [w] "+r"(w), "=r"(a), "=r"(b), "=r"(c), "=r"(d)
      : [end] "i"(dsp_run_end)
      : "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
  return {a, b, c, d};
}

// Sums of `outputs` (by fours), shifted down.
template <int Down>
FOVEA_COMPACT void dsp_multiply_run(const int32_t* x, const int8_t* panels, int32_t run, int32_t depth,
                                    int32_t outputs, int32_t* sums) {
  const int32_t* const last = sums + outputs;
  do {
    const dsp_sums s = dsp_multiply_four(x, panels);
    *sums++ = s.a >> Down;
    *sums++ = s.b >> Down;
    *sums++ = s.c >> Down;
    *sums++ = s.d >> Down;
    panels += 4 * (depth - run);
  } while (sums != last);
}

} // namespace fovea::fixed
