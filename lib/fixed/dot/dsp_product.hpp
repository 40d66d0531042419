// Products of one row of floats with arranged weights on Cortex-M4, M7 and M33: three instructions for four
// products, as in dsp_layer.hpp. A word of weights holds bytes b0 + 128, b1, b2 + 128, b3, so as two halves
// 256 b1 + b0 + 128 and 256 b3 + b2 + 128. The row stands as pairs of x1, x3 and of 256 x0 - x1, 256 x2 - x3.
// They fit 16 bits, because quantised rows reach from -127 to 127. Then
//
//   (256 b1 + b0 + 128) x1 + (b0 + 128) (256 x0 - x1) = 256 (b1 x1 + b0 x0 + 128 x0)
//
// so UXTB16 takes apart every second byte only. Sums start with -128 x0. Modulo 2^32 all of it is exact while
// sums stay below 2^23: for 512 products.
#pragma once
#include "common/bits.hpp"
#include "fixed/dot/dsp_run.hpp"
#include "fixed/product.hpp"
#include "fixed/scaling.hpp"

namespace fovea::fixed {

struct dsp_product {
  static constexpr int32_t run_depth = 512;

  static size_t tile_bytes(int32_t rows, int32_t depth) {
    return static_cast<size_t>(rows) * 4 * static_cast<size_t>(row_words(depth));
  }

  // The numbers of a row of bytes are those that a row of floats gives when it is quantised: at most 127.
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile) {
    int32_t* to = static_cast<int32_t*>(tile);
    for (int32_t r = 0; r < rows; ++r, x += step)
      to = put_row(depth, to, [&](int32_t c, int i) { return c + i < dim ? int32_t{x[c + i]} : 0; });
  }

  // fixed_scaling::quantize and take in one.
  FOVEA_HOT static float quantize(const float* x, int32_t dim, int32_t depth, void* tile) {
    int32_t* const to = static_cast<int32_t*>(tile);
    const uint32_t size = largest(x, dim);
    if (size >= infinity) {
      put_row(depth, to, [](int32_t, int) { return 0; });
      return float_of(0x7fc00000u);
    }
    const float scale = scale_of_row(size);
    put_row(
        depth, to,
        [&](int32_t c, int i) FOVEA_COMPACT_INLINE { // what put_whole has not put
          // The lowest 16 bits of the sum are the integer.
          return c + i < dim ? static_cast<int32_t>(bits_of(x[c + i] / scale + pushed)) : 0;
        },
        [&](int32_t c, int32_t end, int32_t*& at, int32_t& sum)
            FOVEA_COMPACT_INLINE { return put_fours(x, c, smaller_of(dim & -4, end), scale, at, sum); });
    return scale;
  }

  static void multiply(const void* tile, int32_t rows, int32_t depth, const int8_t* panels, ptrdiff_t apart,
                       int32_t count, int32_t* sums) {
    const int32_t* x = static_cast<const int32_t*>(tile);
    for (int32_t r = 0; r < rows; ++r, x += row_words(depth), sums += sums_step) {
      multiply_run(x, panels, depth < run_depth ? depth : run_depth, depth, apart, count, sums);
      if (depth > run_depth) add_runs(x, panels, depth, apart, count, sums);
    }
  }

 private:
  static constexpr uint32_t infinity = 0x7f800000u;
  static constexpr int32_t row_words(int32_t depth) {
    return (depth + run_depth - 1) / run_depth * dsp_run_words(0) + depth / 2;
  }

  static constexpr float pushed = 12582912.0f; // rounds to nearest, halves to even
  static FOVEA_COMPACT int32_t smaller_of(int32_t a, int32_t b) { return a < b ? a : b; }

  // The bits of the largest number without its sign; sizes of floats have the order of their bits.
  static FOVEA_COMPACT uint32_t largest(const float* x, int32_t dim) {
    uint32_t twice = 0;
    const float *const end = x + dim, *const whole = x + (dim & -4);
    if (x != whole)
      asm volatile(
          "1:\n"
          "ldmia %[x]!, {r2, r3, r4, r5}\n"
          ".irp n, r2, r3, r4, r5\n"
          "cmp %[twice], \\n, lsl #1\n"
          "it lo\n"
          "lsllo %[twice], \\n, #1\n"
          ".endr\n"
          "cmp %[x], %[whole]\n"
          "bne 1b\n"
          : [x] "+r"(x), [twice] "+r"(twice)
          : [whole] "r"(whole)
          : "r2", "r3", "r4", "r5", "cc", "memory");
    for (; x != end; ++x) twice = twice < bits_of(*x) << 1 ? bits_of(*x) << 1 : twice;
    return twice >> 1;
  }

  // Numbers c .. end - 1 of a row, by fours; returns the first one that is left.
  static FOVEA_COMPACT int32_t put_fours(const float* x, int32_t c, int32_t end, float scale, int32_t*& to,
                                         int32_t& sum) {
#if FOVEA_WITH_MCU_FLOATS
    if (c >= end) return c;
    const float* at = x + c;
    asm volatile(
        "1:\n"
        "vldmia %[x]!, {s0-s3}\n"
        ".irp n, 0, 1, 2, 3\n"
        "vdiv.f32 s\\n, s\\n, %[scale]\n"
        ".endr\n"
        ".irp n, 0, 1, 2, 3\n"
        "vadd.f32 s\\n, s\\n, %[pushed]\n"
        ".endr\n"
        "vmov r2, r3, s0, s1\n"
        "vmov r4, r5, s2, s3\n"
        "lsl r2, r2, #8\n"
        "pkhbt r3, r3, r5, lsl #16\n"
        "pkhbt r2, r2, r4, lsl #24\n"
        "ssub16 r4, r2, r3\n"
        "smlad %[sum], r2, %[by], %[sum]\n"
        "strd r3, r4, [%[to]], #8\n"
        "cmp %[x], %[end]\n"
        "bne 1b\n"
        : [x] "+r"(at), [to] "+r"(to), [sum] "+r"(sum)
        : [end] "r"(x + end), [scale] "t"(scale), [pushed] "t"(pushed), [by] "r"(minus_128)
        : "s0", "s1", "s2", "s3", "r2", "r3", "r4", "r5", "cc", "memory");
    return end;
#else
    static_cast<void>(x), static_cast<void>(end), static_cast<void>(scale);
    static_cast<void>(to), static_cast<void>(sum);
    return c;
#endif
  }

  static constexpr int32_t minus_128 = static_cast<int32_t>(0xff80ff80); // twice, in halves

  // number(c, i): element c + i of the row in its lowest 16 bits. put(c, end, to, sum) may put those from c
  // on at once; it returns the first one that is left.
  template <class Number, class Put>
  static FOVEA_COMPACT int32_t* put_row(int32_t depth, int32_t* to, Number number, Put put) {
    for (int32_t c = 0; c < depth;) {
      int32_t* const start = to;
      to += 4;
      int32_t sum = 0;
      const int32_t end = smaller_of(depth, c + run_depth);
      for (c = put(c, end, to, sum); c < end; c += 4, to += 2) {
        const int32_t odd = in_halves(number(c, 1), number(c, 3));
        const int32_t even = in_halves(left_shift(number(c, 0), 8), left_shift(number(c, 2), 8));
        sum = __smlad(even, minus_128, sum);
        to[0] = odd;
        to[1] = __ssub16(even, odd);
      }
      dsp_put_four(start, sum);
      to = dsp_put_four(to, dsp_run_end);
    }
    return to;
  }
  template <class Number>
  static FOVEA_COMPACT int32_t* put_row(int32_t depth, int32_t* to, Number number) {
    return put_row(depth, to, number, [](int32_t c, int32_t, int32_t*&, int32_t&) { return c; });
  }
  static FOVEA_COMPACT int32_t in_halves(int32_t low, int32_t high) {
    return (low & 0xffff) | left_shift(high, 16);
  }

  FOVEA_HOT static void multiply_run(const int32_t* x, const int8_t* panels, int32_t run, int32_t depth,
                                     ptrdiff_t apart, int32_t count, int32_t* sums) {
    for (; count > 0; --count, panels += apart, sums += 16)
      dsp_multiply_run<8>(x, panels, run, depth, 16, sums);
  }
  // Runs of the row behind the first.
  FOVEA_COLD static void add_runs(const int32_t* x, const int8_t* panels, int32_t depth, ptrdiff_t apart,
                                  int32_t count, int32_t* sums) {
    for (int32_t from = run_depth; from < depth; from += run_depth) {
      x += dsp_run_words(run_depth);
      panels += 4 * run_depth;
      for (int32_t n = 0; n < count; ++n) {
        int32_t more[16];
        multiply_run(x, panels + n * apart, depth - from < run_depth ? depth - from : run_depth, depth, 0, 1,
                     more);
        for (int i = 0; i < 16; ++i) sums[16 * n + i] += more[i];
      }
    }
  }
};

} // namespace fovea::fixed
