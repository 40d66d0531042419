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
    const uint32_t size = largest(x, dim);
    const bool finite = size < infinity;
    const float scale = finite ? scale_of_row(size) : 1;
    if (!finite) dim = 0; // all zeros
    int32_t* to = static_cast<int32_t*>(row);
    for (int32_t c = 0; c < depth;) {
      int32_t* const start = to;
      to += 4;
      int32_t sum = 0;
      const int32_t end = smaller_of(depth, c + run_depth), whole = smaller_of(dim & -4, end);
      while (c < end) {
        const float* from = x + c;
        int32_t count = whole - c;
        float rest[4];
        if (count <= 0) { // behind the last four numbers
          for (int i = 0; i < 4; ++i) rest[i] = c + i < dim ? from[i] : 0;
          from = rest;
          count = 4;
        }
        put_fours(from, count, scale, to, sum);
        c += count;
      }
      dsp_put_start(start, sum);
      to = dsp_put_end(to, depth <= run_depth ? only_run : c < depth ? run_before_others : last_of_runs);
    }
    return finite ? scale : float_of(0x7fc00000u);
  }

  FOVEA_HOT static void multiply(const void* row, int32_t depth, float row_scale, const row_outputs& to) {
    const int32_t* const x = static_cast<const int32_t*>(row);
    const int8_t* const panel = reinterpret_cast<const int8_t*>(to.panels);
    const ptrdiff_t numbers = 16 * static_cast<ptrdiff_t>(depth); // of a panel; its scales follow
    const int8_t* const w = panel + to.first * static_cast<ptrdiff_t>(depth);
    place p = {{x, to.y + smaller_of(16 - to.first, to.count)},
               {floats_at(panel + numbers) + to.first, to.y},
               numbers,
               to.y + to.count};
    multiply_panels(x, row_scale, w, p);
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
          "cmp %[twice], r2, lsl #1\n"
          "ittt hs\n"
          "cmphs %[twice], r3, lsl #1\n"
          "cmphs %[twice], r4, lsl #1\n"
          "cmphs %[twice], r5, lsl #1\n"
          "blo 3f\n"
          "2:\n"
          "cmp %[x], %[whole]\n"
          "bne 1b\n"
          "b 4f\n"
          "3:\n" // one of the four is larger
          ".irp n, r2, r3, r4, r5\n"
          "cmp %[twice], \\n, lsl #1\n"
          "it lo\n"
          "lsllo %[twice], \\n, #1\n"
          ".endr\n"
          "b 2b\n"
          "4:\n"
          : [x] "+r"(x), [twice] "+r"(twice)
          : [whole] "r"(whole)
          : "r2", "r3", "r4", "r5", "cc", "memory");
    for (; x != end; ++x) twice = twice < bits_of(*x) << 1 ? bits_of(*x) << 1 : twice;
    return twice >> 1;
  }

  // `count` numbers of a row, a multiple of 4, as pairs; `sum` becomes less by 128 times the even ones.
  static FOVEA_COMPACT void put_fours(const float* x, int32_t count, float scale, int32_t*& to,
                                      int32_t& sum) {
    constexpr int32_t minus_128 = static_cast<int32_t>(0xff80ff80); // twice, in halves
    const float* const end = x + count;
#if FOVEA_WITH_MCU_FLOATS
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
        : [x] "+r"(x), [to] "+r"(to), [sum] "+r"(sum)
        : [end] "r"(end), [scale] "t"(scale), [pushed] "t"(pushed), [by] "r"(minus_128)
        : "s0", "s1", "s2", "s3", "r2", "r3", "r4", "r5", "cc", "memory");
#else
    const auto number = [&](int i) { return static_cast<int32_t>(bits_of(x[i] / scale + pushed)); };
    for (; x != end; x += 4) {
      const int32_t odd = in_halves(number(1), number(3));
      const int32_t even = in_halves(left_shift(number(0), 8), left_shift(number(2), 8));
      sum = __smlad(even, minus_128, sum);
      *to++ = odd;
      *to++ = __ssub16(even, odd);
    }
#endif
  }
  static FOVEA_COMPACT int32_t in_halves(int32_t low, int32_t high) {
    return (low & 0xffff) | left_shift(high, 16);
  }

  static FOVEA_COMPACT const float* floats_at(const int8_t* p) {
    return static_cast<const float*>(__builtin_assume_aligned(p, 4));
  }
  // Outputs that are computed panel by panel.
  struct place {
    struct {
      const int32_t* row;
      float* stop; // of this panel
    } again;
    struct {
      const float* scales;
      float* z;
    } next;
    ptrdiff_t numbers; // bytes of a panel; its scales follow
    float* end;
  };

  static FOVEA_COMPACT void multiply_panels(const int32_t* x, float row_scale, const int8_t* w, place& p) {
#if FOVEA_WITH_MCU_FLOATS
    struct {
      int32_t a, b;
    } low = {0, 0}, high = {0, 0}; // sums of the runs before
    asm volatile("2:\n" FOVEA_MULTIPLY_FOUR
                 "vmov s0, s1, r2, r3\n"
                 "vmov s2, s3, r4, r5\n"
                 "bgt 4f\n"
                 ".irp n, 0, 1, 2, 3\n" // of units of 256
                 "vcvt.f32.s32 s\\n, s\\n, #8\n"
                 ".endr\n"
                 "3:\n"
                 "ldrd r2, r3, %[next]\n"
                 "vldmia r2!, {s4-s7}\n" FOVEA_SCALE_FOUR
                 "vstmia r3!, {s0-s3}\n"
                 "strd r2, r3, %[next]\n"
                 "ldrd %[x], r4, %[again]\n"
                 "cmp r3, r4\n"
                 "bne 2b\n"
                 "ldr r5, %[end]\n" // of a panel: the next one begins behind its scales
                 "mov %[w], r2\n"
                 "ldr r4, %[numbers]\n"
                 "add r2, r2, r4\n"
                 "strd r2, r3, %[next]\n"
                 "add r4, r3, #64\n"
                 "cmp r4, r5\n"
                 "it hi\n"
                 "movhi r4, r5\n"
                 "str r4, %[stop]\n"
                 "cmp r3, r5\n"
                 "bne 2b\n"
                 "b 6f\n"
                 "4:\n" // one of several runs
                 "ldrd r8, r9, %[low]\n"
                 "ldrd r10, r11, %[high]\n"
                 "add r8, r8, r2, asr #8\n"
                 "add r9, r9, r3, asr #8\n"
                 "add r10, r10, r4, asr #8\n"
                 "add r11, r11, r5, asr #8\n"
                 "cmp r6, %[last]\n" // decides behind the stores, too
                 "bne 5f\n"
                 "vmov s0, s1, r8, r9\n"
                 "vmov s2, s3, r10, r11\n"
                 ".irp n, 0, 1, 2, 3\n"
                 "vcvt.f32.s32 s\\n, s\\n\n"
                 ".endr\n"
                 "mov r8, #0\n"
                 "mov r9, #0\n"
                 "mov r10, #0\n"
                 "mov r11, #0\n"
                 "5:\n"
                 "strd r8, r9, %[low]\n"
                 "strd r10, r11, %[high]\n"
                 "bne 2b\n"
                 "b 3b\n"
                 "6:\n"
                 : [x] "+r"(x), [w] "+r"(w), [next] "+m"(p.next), [again] "+m"(p.again),
                   [stop] "+m"(p.again.stop), [low] "+m"(low), [high] "+m"(high)
                 : [numbers] "m"(p.numbers), [end] "m"(p.end), [scale] "t"(row_scale), [only] "i"(only_run),
                   [last] "i"(last_of_runs)
                 : "r2", "r3", "r4", "r5", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
                   FOVEA_MULTIPLY_FOUR_CLOBBERS);
#else
    while (p.next.z != p.end) {
      int32_t sums[4] = {};
      do {
        const dsp_sums s = dsp_multiply_four(x, w);
        sums[0] += s.a >> 8;
        sums[1] += s.b >> 8;
        sums[2] += s.c >> 8;
        sums[3] += s.d >> 8;
      } while (x[-4] == run_before_others);
      x = p.again.row;
      for (const int32_t sum : sums) *p.next.z++ = static_cast<float>(sum) * (row_scale * *p.next.scales++);
      if (p.next.z == p.again.stop) {
        w = reinterpret_cast<const int8_t*>(p.next.scales);
        p.next.scales = floats_at(w + p.numbers);
        p.again.stop = p.end - p.next.z < 16 ? p.end : p.next.z + 16;
      }
    }
#endif
  }
};

} // namespace fovea::fixed
