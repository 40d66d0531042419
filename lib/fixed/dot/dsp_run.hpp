// The loop of dsp_layer.hpp and dsp_product.hpp: one row by four outputs at a time, 27 instructions for 32
// products.
#pragma once
#include "fixed/dot/dsp.hpp"

namespace fovea::fixed {

// A run of a row: the start of its sums, four times, then pairs, then an end in four words, because the loop
// loads as many at once. Ends are greater than all pairs.
enum dsp_run_end : int32_t {
  only_run = 1 << 30,
  run_before_others = only_run + (1 << 24),
  last_of_runs = only_run + (2 << 24)
};
constexpr int32_t dsp_run_words(int32_t depth) { return 4 + depth / 2 + 4; }
FOVEA_COMPACT void dsp_put_start(int32_t* run, int32_t sum) { run[0] = run[1] = run[2] = run[3] = sum; }
FOVEA_COMPACT int32_t* dsp_put_end(int32_t* to, int32_t end) {
  *to = end;
  return to + 4;
}

struct dsp_sums {
  int32_t a, b, c, d;
};

// A run by four outputs, whose weights are [depth/4][4 outputs][4 inputs]: sums in r2 to r5. x and w move
// behind it and are the only registers it leaves: what goes on over it stays in memory. gcc counts lines to
// choose its branches, and not what assembler macros make of them: hence the empty ones.
#define FOVEA_MULTIPLY_FOUR            \
  ".macro fovea_four_deep odd, rest\n" \
  "ldmia %[w]!, {r10, r11, r12, lr}\n" \
  "smlad r2, r10, \\odd, r2\n"         \
  "uxtb16 r10, r10\n"                  \
  "smlad r3, r11, \\odd, r3\n"         \
  "uxtb16 r11, r11\n"                  \
  "smlad r4, r12, \\odd, r4\n"         \
  "uxtb16 r12, r12\n"                  \
  "smlad r5, lr, \\odd, r5\n"          \
  "uxtb16 lr, lr\n"                    \
  "smlad r2, r10, \\rest, r2\n"        \
  "smlad r3, r11, \\rest, r3\n"        \
  "smlad r4, r12, \\rest, r4\n"        \
  "smlad r5, lr, \\rest, r5\n"         \
  ".endm\n"                            \
  "ldmia %[x]!, {r2-r9}\n"             \
  "1:\n"                               \
  ".rept 2\n"                          \
  "fovea_four_deep r6, r7\n"           \
  "fovea_four_deep r8, r9\n"           \
  "ldmia %[x]!, {r6-r9}\n"             \
  ".endr\n"                            \
  "cmp r6, %[only]\n"                  \
  "blt 1b\n"                           \
  ".purgem fovea_four_deep\n"          \
  "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
#define FOVEA_MULTIPLY_FOUR_CLOBBERS "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"

FOVEA_COMPACT dsp_sums dsp_multiply_four(const int32_t*& x, const int8_t*& w) {
  register int32_t a asm("r2"), b asm("r3"), c asm("r4"), d asm("r5");
  asm volatile(FOVEA_MULTIPLY_FOUR
               : [x] "+r"(x), [w] "+r"(w), "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : [only] "i"(only_run)
               : FOVEA_MULTIPLY_FOUR_CLOBBERS);
  return {a, b, c, d};
}

// Sums of `outputs` (by fours), shifted down.
template <int Down>
FOVEA_COMPACT void dsp_multiply_run(const int32_t* x, const int8_t* w, int32_t run, int32_t depth,
                                    int32_t outputs, int32_t* sums) {
  const int32_t *const first = x, *const last = sums + outputs;
  const int32_t skip = 4 * (depth - run);
  asm volatile(
      "2:\n" FOVEA_MULTIPLY_FOUR
      "ldr r6, %[sums]\n"
      ".irp n, r2, r3, r4, r5\n"
      "asr \\n, \\n, %[down]\n"
      ".endr\n"
      "stmia r6!, {r2-r5}\n"
      "str r6, %[sums]\n"
      "ldr %[x], %[first]\n"
      "ldr r7, %[skip]\n"
      "ldr r8, %[last]\n"
      "add %[w], %[w], r7\n"
      "cmp r6, r8\n"
      "bne 2b\n"
      : [x] "+r"(x), [w] "+r"(w), [sums] "+m"(sums)
      : [first] "m"(first), [skip] "m"(skip), [last] "m"(last), [down] "i"(Down), [only] "i"(only_run)
      : "r2", "r3", "r4", "r5", FOVEA_MULTIPLY_FOUR_CLOBBERS);
}

} // namespace fovea::fixed
