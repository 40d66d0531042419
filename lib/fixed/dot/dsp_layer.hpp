// Static layers with SMLAD in three instructions for four products. A word of weights holds bytes b0 + 128,
// b1, b2 + 128, b3: as two halves 256 b1 + b0 + 128 and 256 b3 + b2 + 128, by which it is multiplied as it
// is. The row stands as pairs of x1 - 127, x3 - 127 and of 256 x0 - (x1 - 127), 256 x2 - (x3 - 127), which
// just fit 16 bits. Then
//
//   (256 b1 + b0 + 128) (x1 - 127) + (b0 + 128) (256 x0 - (x1 - 127))
//       = 256 (b1 x1 - 127 b1 + b0 x0 + 128 x0)
//
// so UXTB16 takes apart every second byte only. 127 b1 is in the packed bias, 128 x0 in the start of the
// sums. Modulo 2^32 all of it is exact while sums stay below 2^23: for 256 products.
#pragma once
#include "fixed/dot/dsp.hpp"
#include "fixed/dot/dsp_run.hpp"
#include "fixed/row_layer.hpp"

namespace fovea::fixed {

struct dsp_layer {
  static constexpr int32_t run_depth = 256;
  static constexpr bool doubles_sums = true;

  static size_t row_bytes(int32_t depth) {
    return static_cast<size_t>((depth + run_depth - 1) / run_depth * 4 * dsp_run_words(0) + depth * 2);
  }

  FOVEA_HOT static const int32_t* take_row(const int8_t* x, int32_t in, int32_t depth, void* to) {
    int32_t* at = static_cast<int32_t*>(to);
    const bool words = reinterpret_cast<uintptr_t>(x) % 4 == 0;
    for (int32_t c = 0; c < depth; c += run_depth) {
      int32_t* const start = at;
      at += 4;
      const int32_t end = smaller_of(c + run_depth, depth), whole = words ? smaller_of(in & -4, end) : c;
      int32_t sum = 0, i = c;
      for (; i < whole; i += 4) {
        int32_t bytes;
        std::memcpy(&bytes, __builtin_assume_aligned(x + i, 4), sizeof bytes);
        put_pairs(bytes, at, sum);
      }
      for (; i < end; i += 4) put_pairs(some_bytes(x + i, in - i), at, sum);
      dsp_put_start(start, sum);
      at = dsp_put_end(at, only_run);
    }
    return static_cast<const int32_t*>(to);
  }

  static void multiply_panels(const int32_t* x, const int8_t* panels, int32_t depth, int32_t outputs,
                              int32_t* sums) {
    multiply_run(x, panels, smaller_of(depth, run_depth), depth, outputs, sums);
    if (depth > run_depth) add_runs(x, panels, depth, outputs, sums);
  }

  FOVEA_HOT static void requantize(const int32_t* sums, const requantize_numbers* numbers,
                                   const output_range& range, int32_t count, int8_t* y) {
    const word_range by = {2 * range.zero + 1, (range.low & 0xff) * 0x01010101,
                           (range.high & 0xff) * 0x01010101};
    const int32_t words = reinterpret_cast<uintptr_t>(y) % 4 == 0 ? count & -4 : 0;
    if (words) put_words(sums, numbers, by, static_cast<int32_t*>(__builtin_assume_aligned(y, 4)), words);
    if (words != count) put_rest(sums + words, numbers + words / 4, by, count - words, y + words);
  }

 private:
  struct word_range { // twice the zero point and 1; four bytes each
    int32_t offset, low, high;
  };
  static FOVEA_COMPACT int32_t smaller_of(int32_t a, int32_t b) { return a < b ? a : b; }

  // Four numbers of a row, as the products take them.
  // Of both pairs together each half is 256 times x0 or x2.
  static FOVEA_COMPACT void put_pairs(int32_t bytes, int32_t*& at, int32_t& start) {
    const int32_t odd = __ssub16(dsp_core::odd_bytes(bytes), 0x007f007f);
    const int32_t rest = __ssub16(static_cast<int32_t>((static_cast<uint32_t>(bytes) & 0x00ff00ff) << 8),
                                  odd);
    constexpr int32_t by = static_cast<int32_t>(0xff80ff80); // -128 each
    start = __smlad(odd, by, __smlad(rest, by, start));
    at[0] = odd;
    at[1] = rest;
    at += 2;
  }
  FOVEA_COLD static int32_t some_bytes(const int8_t* x, int32_t left) {
    uint32_t bytes = 0;
    for (int i = 0; i < 4 && i < left; ++i) bytes |= static_cast<uint32_t>(x[i] & 0xff) << 8 * i;
    return static_cast<int32_t>(bytes);
  }
  FOVEA_COLD static void put_bytes(int32_t four, int32_t count, int8_t* y) {
    for (int i = 0; i < 4 && i < count; ++i) y[i] = static_cast<int8_t>(four >> 8 * i);
  }
  FOVEA_COLD static void put_rest(const int32_t* sums, const requantize_numbers* numbers,
                                  const word_range& by, int32_t count, int8_t* y) {
    for (; count > 0; count -= 4, sums += 4, ++numbers, y += 4) {
      int32_t four;
      put_words(sums, numbers, by, &four, 4);
      put_bytes(four, count, y);
    }
  }
  // Runs of the row behind the first.
  FOVEA_COLD static void add_runs(const int32_t* x, const int8_t* panels, int32_t depth, int32_t outputs,
                                  int32_t* sums) {
    int32_t more[row_layer<dsp_layer>::block];
    for (int32_t from = run_depth; from < depth; from += run_depth) {
      x += dsp_run_words(run_depth);
      panels += 4 * run_depth;
      multiply_run(x, panels, smaller_of(depth - from, run_depth), depth, outputs, more);
      for (int32_t i = 0; i < outputs; ++i) sums[i] += more[i];
    }
  }

  FOVEA_HOT static void multiply_run(const int32_t* x, const int8_t* panels, int32_t run, int32_t depth,
                                     int32_t outputs, int32_t* sums) {
    dsp_multiply_run<7>(x, panels, run, depth, outputs, sums);
  }

  // Four outputs a turn. SMMULR of twice the sum rounds as TFLite does, the last shift is SSAT's.
  FOVEA_HOT static void put_words(const int32_t* sums, const requantize_numbers* numbers,
                                  const word_range& by, int32_t* y, int32_t count) {
    const int32_t* const end = y + count / 4;
    const int32_t offset = by.offset, low = by.low, high = by.high;
    asm volatile(
        "1:\n"
        "ldmia %[sums]!, {r2-r5}\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "add r2, r2, r6, lsl #1\n"
        "add r3, r3, r8, lsl #1\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "add r4, r4, r6, lsl #1\n"
        "add r5, r5, r8, lsl #1\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "smmulr r2, r2, r6\n"
        "smmulr r3, r3, r8\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "smmulr r4, r4, r6\n"
        "smmulr r5, r5, r8\n"
        ".irp s, r2, r3, r4, r5\n"
        "add \\s, \\s, \\s, asr #31\n"
        ".endr\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "asr r2, r2, r6\n"
        "asr r3, r3, r8\n"
        "ldrd r6, r8, [%[n]], #8\n"
        "asr r4, r4, r6\n"
        "asr r5, r5, r8\n"
        ".irp s, r2, r3, r4, r5\n"
        "add \\s, \\s, %[offset]\n"
        "ssat \\s, #8, \\s, asr #1\n"
        ".endr\n"
        "bfi r2, r3, #8, #8\n"
        "bfi r2, r4, #16, #8\n"
        "bfi r2, r5, #24, #8\n"
        "ssub8 r3, r2, %[low]\n"
        "sel r2, r2, %[low]\n"
        "ssub8 r3, %[high], r2\n"
        "sel r2, r2, %[high]\n"
        "str r2, [%[y]], #4\n"
        "cmp %[y], %[end]\n"
        "bne 1b\n"
        : [sums] "+r"(sums), [n] "+r"(numbers), [y] "+r"(y)
        : [end] "r"(end), [offset] "r"(offset), [low] "r"(low), [high] "r"(high)
        : "r2", "r3", "r4", "r5", "r6", "r8", "cc", "memory");
  }
};

} // namespace fovea::fixed
