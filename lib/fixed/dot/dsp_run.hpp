// The loop of dsp_layer.hpp and dsp_product.hpp: one row by four outputs at a time, 14 instructions for 16
// products.
#pragma once
#include "fixed/dot/dsp.hpp"

namespace fovea::fixed {

constexpr int32_t dsp_start_words = 4; // of a run: the start of its sums, four times; then pairs

// Sums of `outputs` (by fours), shifted down. A run of the row begins at x; weights are [outputs/4][depth/4]
// [4 outputs][4 inputs].
template <int Down>
FOVEA_COMPACT void dsp_multiply_run(const int32_t* x, const int8_t* panels, int32_t run, int32_t depth,
                                    int32_t outputs, int32_t* sums) {
  const int32_t *const first = x, *const last = sums + outputs, *const end = x + dsp_start_words + run / 2;
  const int32_t skip = 4 * (depth - run);
  int32_t odd, rest;
  asm volatile(
      "2:\n"
      "ldmia %[x]!, {r6, r8, r9, r10}\n"
      "1:\n"
      ".rept 4\n"
      "ldrd %[odd], %[rest], [%[x]], #8\n"
      "ldmia %[w]!, {r2-r5}\n"
      "smlad r6, r2, %[odd], r6\n"
      "uxtb16 r2, r2\n"
      "smlad r8, r3, %[odd], r8\n"
      "uxtb16 r3, r3\n"
      "smlad r9, r4, %[odd], r9\n"
      "uxtb16 r4, r4\n"
      "smlad r10, r5, %[odd], r10\n"
      "uxtb16 r5, r5\n"
      "smlad r6, r2, %[rest], r6\n"
      "smlad r8, r3, %[rest], r8\n"
      "smlad r9, r4, %[rest], r9\n"
      "smlad r10, r5, %[rest], r10\n"
      ".endr\n"
      "cmp %[x], %[end]\n"
      "bne 1b\n"
      "asr r6, r6, %[down]\n"
      "asr r8, r8, %[down]\n"
      "asr r9, r9, %[down]\n"
      "asr r10, r10, %[down]\n"
      "stmia %[sums]!, {r6, r8, r9, r10}\n"
      "ldr %[x], %[first]\n"
      "ldr %[odd], %[skip]\n"
      "ldr %[rest], %[last]\n"
      "add %[w], %[w], %[odd]\n"
      "cmp %[sums], %[rest]\n"
      "bne 2b\n"
      : [x] "+r"(x), [w] "+r"(panels), [odd] "=&r"(odd), [rest] "=&r"(rest), [sums] "+r"(sums)
      : [end] "r"(end), [first] "m"(first), [skip] "m"(skip), [last] "m"(last), [down] "i"(Down)
      : "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "cc", "memory");
}

} // namespace fovea::fixed
