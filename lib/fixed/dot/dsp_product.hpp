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

  static size_t row_bytes(int32_t depth) {
    return static_cast<size_t>((depth + run_depth - 1) / run_depth * 4 * dsp_run_words(0) + depth * 2);
  }

  FOVEA_HOT static float quantize(const float* x, int32_t dim, int32_t depth, void* row) {
    int32_t* const to = static_cast<int32_t*>(row);
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

  FOVEA_HOT static void multiply(const void* row, int32_t depth, float row_scale, const row_outputs& to) {
    const bool joins = to.bias || to.residual || to.times;
    place at = {reinterpret_cast<const int8_t*>(to.panels) + to.first * static_cast<ptrdiff_t>(depth),
                16 * static_cast<ptrdiff_t>(depth),
                nullptr,
                to.y,
                nullptr,
                nullptr};
    at.scales = floats_at(reinterpret_cast<const int8_t*>(to.panels) + at.numbers) + to.first;
    float* y = to.y;
    for (int32_t left = to.count, first = to.first, count; left > 0; left -= count, y += count, first = 0) {
      count = joins ? smaller_of(row_outputs::joined - first, left) : left;
      at.z = joins ? to.z : y;
      at.end = at.z + count;
      at.stop = at.z + smaller_of(16 - first, count);
      if (FOVEA_WITH_MCU_FLOATS && depth <= run_depth)
        multiply_run(static_cast<const int32_t*>(row), row_scale, at);
      else
        multiply_runs(static_cast<const int32_t*>(row), depth, row_scale, at);
      if (joins) join(to, y, count);
    }
  }

 private:
  static constexpr uint32_t infinity = 0x7f800000u;
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
      dsp_put_start(start, sum);
      to = dsp_put_end(to);
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

  static FOVEA_COMPACT const float* floats_at(const int8_t* p) {
    return static_cast<const float*>(__builtin_assume_aligned(p, 4));
  }
  // Where the next outputs come from and go to.
  struct place {
    const int8_t* w;
    ptrdiff_t numbers; // of a panel; its scales follow
    const float* scales;
    float *z, *stop, *end; // stop: of this panel

    FOVEA_COMPACT void begin_panel() {
      w = reinterpret_cast<const int8_t*>(scales);
      scales = floats_at(w + numbers);
      stop = z + smaller_of(16, static_cast<int32_t>(end - z));
    }
  };

#if FOVEA_WITH_MCU_FLOATS
  static FOVEA_COMPACT void multiply_run(const int32_t* row, float row_scale, place& p) {
    const int32_t* x = row;
    const int8_t* w = p.w;
    struct {
      const float* scales;
      float* z;
    } at = {p.scales, p.z};
    struct {
      const int32_t* row;
      float* stop;
    } back = {row, p.stop};
    asm volatile(
        "2:\n" FOVEA_MULTIPLY_FOUR
        "vmov s0, s1, r2, r3\n"
        "vmov s2, s3, r4, r5\n"
        "ldrd r2, r3, %[at]\n"
        ".irp n, 0, 1, 2, 3\n"
        "vcvt.f32.s32 s\\n, s\\n, #8\n"
        ".endr\n"
        "vldmia r2!, {s4-s7}\n"
        ".irp n, 4, 5, 6, 7\n"
        "vmul.f32 s\\n, %[scale], s\\n\n"
        ".endr\n"
        "vmul.f32 s0, s0, s4\n"
        "vmul.f32 s1, s1, s5\n"
        "vmul.f32 s2, s2, s6\n"
        "vmul.f32 s3, s3, s7\n"
        "vstmia r3!, {s0-s3}\n"
        "strd r2, r3, %[at]\n"
        "ldrd %[x], r4, %[back]\n"
        "cmp r3, r4\n"
        "bne 2b\n"
        "ldr r5, %[end]\n" // of a panel: the next one begins behind its scales
        "mov %[w], r2\n"
        "ldr r4, %[numbers]\n"
        "add r2, r2, r4\n"
        "strd r2, r3, %[at]\n"
        "add r4, r3, #64\n"
        "cmp r4, r5\n"
        "it hi\n"
        "movhi r4, r5\n"
        "str r4, %[stop]\n"
        "cmp r3, r5\n"
        "bne 2b\n"
        : [x] "+r"(x), [w] "+r"(w), [at] "+m"(at), [back] "+m"(back), [stop] "+m"(back.stop)
        : [numbers] "m"(p.numbers), [end] "m"(p.end), [scale] "t"(row_scale), [run_end] "i"(dsp_run_end)
        : "r2", "r3", "r4", "r5", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
          FOVEA_MULTIPLY_FOUR_CLOBBERS);
    p.w = w;
    p.scales = at.scales;
  }
#else
  static void multiply_run(const int32_t*, float, place&) {} // never called
#endif
  FOVEA_COLD static void multiply_runs(const int32_t* row, int32_t depth, float row_scale, place& p) {
    do {
      const int32_t* x = row;
      int32_t sums[4] = {};
      for (int32_t left = depth; left > 0; left -= run_depth) {
        const dsp_sums s = dsp_multiply_four(x, p.w);
        sums[0] += s.a >> 8;
        sums[1] += s.b >> 8;
        sums[2] += s.c >> 8;
        sums[3] += s.d >> 8;
      }
      for (const int32_t sum : sums) *p.z++ = static_cast<float>(sum) * (row_scale * *p.scales++);
      if (p.z == p.stop) p.begin_panel();
    } while (p.z != p.end);
  }

  static FOVEA_COMPACT void join(const row_outputs& to, float* y, int32_t count) {
    const ptrdiff_t done = y - to.y;
    if (to.bias) join_fours<false>(to.z, to.bias + done, to.times || to.residual ? to.z : y, count);
    if (to.times) join_fours<true>(y, to.z, y, count);
    if (to.residual) join_fours<false>(to.z, to.residual + done, y, count);
  }
  // to = a + b, or a * b, by fours. `to` may be one of them.
  template <bool Times>
  static FOVEA_COMPACT void join_fours(const float* a, const float* b, float* to, int32_t count) {
    float* const end = to + count;
#if FOVEA_WITH_MCU_FLOATS
    asm volatile(
        "1:\n"
        "vldmia %[a]!, {s0-s3}\n"
        "vldmia %[b]!, {s4-s7}\n"
        ".if %c[times]\n"
        "vmul.f32 s0, s0, s4\n"
        "vmul.f32 s1, s1, s5\n"
        "vmul.f32 s2, s2, s6\n"
        "vmul.f32 s3, s3, s7\n"
        ".else\n"
        "vadd.f32 s0, s0, s4\n"
        "vadd.f32 s1, s1, s5\n"
        "vadd.f32 s2, s2, s6\n"
        "vadd.f32 s3, s3, s7\n"
        ".endif\n"
        "vstmia %[to]!, {s0-s3}\n"
        "cmp %[to], %[end]\n"
        "bne 1b\n"
        : [a] "+r"(a), [b] "+r"(b), [to] "+r"(to)
        : [end] "r"(end), [times] "i"(Times)
        : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "cc", "memory");
#else
    for (; to != end; ++a, ++b, ++to) *to = Times ? *a * *b : *a + *b;
#endif
  }
};

} // namespace fovea::fixed
