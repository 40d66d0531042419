// Cortex-M55, Helium: VMLADAVA.S8 adds 16 products to one number. Scores keep 64 dimensions of a query in
// four registers and load keys; values keep the weights of a block in seven registers and load elements of
// values. A weight is two signed bytes: 256 * high + low. One row at a time: a second row would halve the
// loads of keys, but keeping two rows takes as many instructions and a kilobyte of code.
#pragma once
#include <arm_mve.h>

#include "fixed/compact.hpp"
#include "fixed/dot/helium_writer.hpp"

namespace fovea::fixed {

struct helium_dot : helium_writer {
  using element = int8_t;
  static constexpr int most_rows = 1;
  static constexpr int query_alignment = 1, query_step = 16;
  static constexpr int planes = 2; // 64 low bytes of a row, then 64 high bytes
  static constexpr bool takes_queries = true, begins_sums = true;

  static void put_query(int8_t* to, int, int, int c, const int8_t* q) { vstrbq_s8(to + c, vldrbq_s8(q)); }

  FOVEA_HOT static void fill(int32_t* x, int32_t count, int32_t value) { // a multiple of sixteen
    asm("" : "+r"(value)); // else compilers call memset for zeros
    const int32x4_t all = vdupq_n_s32(value);
#pragma GCC unroll 1
    for (; count > 0; count -= 16, x += 16)
      vstrwq_s32(x, all), vstrwq_s32(x + 4, all), vstrwq_s32(x + 8, all), vstrwq_s32(x + 12, all);
  }

  static int32_t largest(const int32_t* t, int) {
    int32_t top = INT32_MIN;
#pragma GCC unroll 4
    for (int j = 0; j < fixed_block; j += 4) top = vmaxvq_s32(top, vldrwq_s32(t + j));
    return top;
  }

  static constexpr int lane_step = 16, depth_step = 16;
  static constexpr int key_step = fixed_block; // few keys take as long as a whole block
  using mapping = to_octaves;                  // scores become octaves while they are weighed
  static FOVEA_COMPACT mapping prepare(int32_t* s, int, to_octaves by) {
    if (!by.flat()) return by;
    map_now(s, by.multiplier, by.up);
    return {};
  }

  // Scores of keys that a row does not see.
  static FOVEA_COMPACT void hide_unseen(int32_t* s, const seen_of_block& seen, int keys, int32_t absent) {
    if (seen.all()) return;
    hide(s, 0, seen.first, absent);
    hide(s, seen.head, seen.from, absent);
    hide(s, seen.to, keys, absent);
  }
  FOVEA_COLD static void hide(int32_t* s, int from, int to, int32_t absent) {
    const int32x4_t all = vdupq_n_s32(absent);
    for (; from < to; from += 4) vstrwq_p_s32(s + from, all, vctp32q(static_cast<uint32_t>(to - from)));
  }

  static uint32_t weigh_sink(const fixed_plan& p, fixed_row& r, int32_t*, void*) {
    return fixed::weigh_sink(p, r);
  }

  static void begin_scores(int32_t*, int, int32_t) {}
  static FOVEA_COMPACT void score(int, const int8_t* q, const int8_t* keys, int, int depth, int,
                                  int32_t start, int32_t* s) {
    score_row(q, keys, depth, start, s);
  }
  // The next `by` numbers of a row and of four lanes.
  static FOVEA_COMPACT void move_on(int by, int& left, const int8_t*& row, const int8_t*& lanes) {
    left -= by;
    row += by;
    lanes += 4 * by;
  }
  FOVEA_HOT static void score_row(const int8_t* q, const int8_t* keys, int depth, int32_t start, int32_t* s) {
    int left = depth;
    if (left >= 64) {
      add_dims<true, 4>(q, keys, depth, s);
      move_on(64, left, q, keys);
    } else if (left >= 32) {
      add_dims<true, 2>(q, keys, depth, s);
      move_on(32, left, q, keys);
    } else {
      fill(s, fixed_block, 0);
    }
    for (; left >= 64; move_on(64, left, q, keys)) add_dims<false, 4>(q, keys, depth, s);
    for (; left > 0; move_on(16, left, q, keys)) add_sixteen(q, keys, depth, s);
    if (start) add_start(start, s);
  }

  // Linear layers: sixteen bytes of a row, and a row by a panel of weights.
  static FOVEA_COMPACT void put(const int8_t (&x)[16], int8_t* to) { vstrbq_s8(to, vldrbq_s8(x)); }
  static void multiply(const int8_t* x, const int8_t* panel, int depth, int32_t* sums) {
    multiply_row(x, panel, depth, 16, sums);
  }
  FOVEA_HOT static void multiply_row(const int8_t* x, const int8_t* panels, int depth, int count,
                                     int32_t* sums) {
    int left = depth;
    if (left >= 64) {
      add_dims<true, 4>(x, panels, depth, sums, count);
      move_on(64, left, x, panels);
    } else {
      add_dims<true, 1>(x, panels, depth, sums, count);
      move_on(16, left, x, panels);
    }
    for (; left >= 64; move_on(64, left, x, panels)) add_dims<false, 4>(x, panels, depth, sums, count);
    for (; left > 0; move_on(16, left, x, panels)) add_dims<false, 1>(x, panels, depth, sums, count);
  }

  // Sixteen sums, shifted and rounded.
  static FOVEA_COMPACT void add_shifted(int32_t* to, const int32_t* from, int down) {
#pragma GCC unroll 1
    for (int i = 0; i < 16; i += 4)
      vstrwq_s32(to + i, vaddq_s32(vldrwq_s32(to + i), vrshlq_n_s32(vldrwq_s32(from + i), -down)));
  }

  // Sums begin with these values, or grow by them.
  static void add_values(bool first, int, const int8_t* weights, int, const int8_t* values, int32_t* to, int,
                         int count) {
    first ? add_row<true>(weights, values, to, count) : add_row<false>(weights, values, to, count);
  }

  // False, and nothing summed, when a key lies above the reference.
  static FOVEA_COMPACT bool weigh(const int32_t* s, int, to_octaves by, int32_t base, int, int, int8_t* to,
                                  uint32_t& total) {
    return weigh_row(s, base, by.multiplier, by.up - 1, to, total);
  }

  // Weights of keys from .. to - 1.
  FOVEA_HOT static void scale_weights(int8_t* weights, int, int, const int16_t* by, int from, int to) {
    for (; from < to; from += 8) {
      const mve_pred16_t some = vctp16q(static_cast<uint32_t>(to - from));
      int8_t *const low = weights + from, *const high = low + fixed_block;
      const int16x8_t weight = vaddq_s16(vshlq_n_s16(vldrbq_z_s16(high, some), 8), vldrbq_z_s16(low, some));
      put_weights(low, vqrdmulhq_s16(weight, vldrhq_z_s16(by + from, some)), some);
    }
  }

 private:
  // VLD2 separates even and odd keys, VMOVNT and VSHRNT interleave them again.
  FOVEA_HOT static bool weigh_row(const int32_t* s, int32_t base, int32_t multiplier, int32_t up, int8_t* to,
                                  uint32_t& total) {
    const int32x4_t top = vdupq_n_s32(base);
    int16x8_t sign = vdupq_n_s16(0);
    int32_t sum = static_cast<int32_t>(total);
    for (int j = 0; j < fixed_block; j += 8) {
      const int32x4x2_t x = vld2q_s32(s + j);
      const int32x4_t even = vsubq_s32(top, vqdmulhq_n_s32(vshlq_r_s32(x.val[0], up), multiplier));
      const int32x4_t odd = vsubq_s32(top, vqdmulhq_n_s32(vshlq_r_s32(x.val[1], up), multiplier));
      const int16x8_t whole = vshrntq_n_s32(vshrnbq_n_s32(vreinterpretq_s16_s32(even), even, 16), odd, 16);
      const int16x8_t fraction = vmovntq_s32(vreinterpretq_s16_s32(even), odd);
      sign = vorrq_s16(sign, whole);
      const int16x8_t y = weights_of(whole, fraction);
      sum = vaddvaq_s16(sum, y);
      put_weights(to + j, y);
    }
    if (vminvq_s16(0, sign) < 0) return false;
    total = static_cast<uint32_t>(sum);
    return true;
  }

  FOVEA_COLD static void map_now(int32_t* s, int32_t multiplier, int up) {
    for (int j = 0; j < fixed_block; ++j) s[j] = to_octaves{multiplier, up}(s[j]);
  }

  static FOVEA_COMPACT void put_weights(int8_t* to, int16x8_t y, mve_pred16_t some) {
    vstrbq_p_s16(to, y, some);
    vstrbq_p_s16(to + fixed_block, vrshrq_n_s16(y, 8), some);
  }
  static FOVEA_COMPACT void put_weights(int8_t* to, int16x8_t y) {
    vstrbq_s16(to, y);
    vstrbq_s16(to + fixed_block, vrshrq_n_s16(y, 8));
  }
  static FOVEA_COMPACT int16x8_t weights_of(int16x8_t whole, int16x8_t fraction) {
    // f - 1 in Q15: an average with ones is half of a number plus 2^15.
    const int16x8_t h = vreinterpretq_s16_u16(
        vrhaddq_u16(vreinterpretq_u16_s16(fraction), vdupq_n_u16(65535)));
    int16x8_t y = vdupq_n_s16(-1270);
    y = vqrdmlashq_n_s16(y, h, 3672);
    y = vqrdmlashq_n_s16(y, h, -11313);
    y = vqrdmlashq_n_s16(y, h, 16255);
    return vrshlq_s16(y, vnegq_s16(vminq_s16(whole, vdupq_n_s16(16))));
  }

  FOVEA_COLD static void add_start(int32_t start, int32_t* s) {
    for (int j = 0; j < fixed_block; j += 4) vstrwq_s32(s + j, vaddq_n_s32(vldrwq_s32(s + j), start));
  }

  FOVEA_HOT static void add_sixteen(const int8_t* q, const int8_t* keys, int depth, int32_t* s) {
    add_dims<false, 1>(q, keys, depth, s);
  }

  // Scores of 64 keys begin with, or grow by, 16 * Chunks dimensions. Four keys per turn: VMLADAVA needs sums
  // in even registers, of which there are seven.
  template <bool First, int Chunks>
  static FOVEA_COMPACT void add_dims(const int8_t* q, const int8_t* keys, int depth, int32_t* s,
                                     int count = fixed_block) {
    const int8x16_t x0 = vldrbq_s8(q), x1 = Chunks < 2 ? x0 : vldrbq_s8(q + 16),
                    x2 = Chunks < 3 ? x0 : vldrbq_s8(q + 32), x3 = Chunks < 4 ? x0 : vldrbq_s8(q + 48);
    int8x16_t k;
    int32_t o0, o1, o2, o3;
    asm volatile(
        "dls lr, %[turns]\n"
        "1:\n"
        ".if %c[first]\n"
        ".irp o, %[o0], %[o1], %[o2], %[o3]\n"
        "vldrb.u8 %q[k], [%[keys]], #16\n"
        "vmladav.s8 \\o, %q[k], %q[x0]\n"
        ".endr\n"
        ".else\n"
        "ldrd %[o0], %[o1], [%[s]]\n"
        "ldrd %[o2], %[o3], [%[s], #8]\n"
        ".irp o, %[o0], %[o1], %[o2], %[o3]\n"
        "vldrb.u8 %q[k], [%[keys]], #16\n"
        "vmladava.s8 \\o, %q[k], %q[x0]\n"
        ".endr\n"
        ".endif\n"
        ".if %c[chunks] > 1\n"
        ".irp o, %[o0], %[o1], %[o2], %[o3]\n"
        "vldrb.u8 %q[k], [%[keys]], #16\n"
        "vmladava.s8 \\o, %q[k], %q[x1]\n"
        ".endr\n"
        ".endif\n"
        ".if %c[chunks] > 2\n"
        ".irp x, %q[x2], %q[x3]\n"
        ".irp o, %[o0], %[o1], %[o2], %[o3]\n"
        "vldrb.u8 %q[k], [%[keys]], #16\n"
        "vmladava.s8 \\o, %q[k], \\x\n"
        ".endr\n"
        ".endr\n"
        ".endif\n"
        "add %[keys], %[rest]\n"
        "strd %[o0], %[o1], [%[s]], #8\n"
        "strd %[o2], %[o3], [%[s]], #8\n"
        "le lr, 1b"
        : [o0] "=&Te"(o0), [o1] "=&Te"(o1), [o2] "=&Te"(o2), [o3] "=&Te"(o3), [k] "=&w"(k), [keys] "+r"(keys),
          [s] "+r"(s)
        : [turns] "r"(count / 4), [rest] "r"(4 * depth - 64 * Chunks), [x0] "w"(x0), [x1] "w"(x1),
          [x2] "w"(x2), [x3] "w"(x3), [first] "i"(First), [chunks] "i"(Chunks)
        : "lr", "memory");
  }

  // Two elements of values per turn. The weights of 48 keys stay in six registers. The seventh holds those of
  // the last sixteen keys, low or high bytes: the first element ends with the high bytes, and the second
  // begins with them. In assembly, because compilers split LDRD and STRD, and do not let loads move the
  // pointer.
  template <bool First>
  FOVEA_HOT static void add_row(const int8_t* weights, const int8_t* values, int32_t* acc, int count) {
    const int8x16_t l0 = vldrbq_s8(weights), l1 = vldrbq_s8(weights + 16), l2 = vldrbq_s8(weights + 32);
    const int8x16_t h0 = vldrbq_s8(weights + 64), h1 = vldrbq_s8(weights + 80), h2 = vldrbq_s8(weights + 96);
    int8x16_t last = vldrbq_s8(weights + 48), v;
    int32_t x, y, high;
    asm volatile(
        "dls lr, %[turns]\n"
        "1:\n"
        ".if !%c[first]\n"
        "ldrd %[x], %[y], [%[acc]]\n"
        ".endif\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladav.s8 %[high], %q[v], %q[h0]\n"
        ".if %c[first]\n"
        "vmladav.s8 %[x], %q[v], %q[l0]\n"
        ".else\n"
        "vmladava.s8 %[x], %q[v], %q[l0]\n"
        ".endif\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[high], %q[v], %q[h1]\n"
        "vmladava.s8 %[x], %q[v], %q[l1]\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[high], %q[v], %q[h2]\n"
        "vmladava.s8 %[x], %q[v], %q[l2]\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[x], %q[v], %q[last]\n"
        "vldrb.u8 %q[last], [%[weights], #112]\n"
        "vmladava.s8 %[high], %q[v], %q[last]\n"
        "add %[x], %[x], %[high], lsl #8\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladav.s8 %[high], %q[v], %q[h0]\n"
        ".if %c[first]\n"
        "vmladav.s8 %[y], %q[v], %q[l0]\n"
        ".else\n"
        "vmladava.s8 %[y], %q[v], %q[l0]\n"
        ".endif\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[high], %q[v], %q[h1]\n"
        "vmladava.s8 %[y], %q[v], %q[l1]\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[high], %q[v], %q[h2]\n"
        "vmladava.s8 %[y], %q[v], %q[l2]\n"
        "vldrb.u8 %q[v], [%[values]], #16\n"
        "vmladava.s8 %[high], %q[v], %q[last]\n"
        "vldrb.u8 %q[last], [%[weights], #48]\n"
        "vmladava.s8 %[y], %q[v], %q[last]\n"
        "add %[y], %[y], %[high], lsl #8\n"
        "strd %[x], %[y], [%[acc]], #8\n"
        "le lr, 1b"
        : [x] "=&Te"(x), [y] "=&Te"(y), [high] "=&Te"(high), [v] "=&w"(v), [last] "+w"(last),
          [values] "+r"(values), [acc] "+r"(acc)
        : [turns] "r"(count / 2), [weights] "r"(weights), [l0] "w"(l0), [l1] "w"(l1), [l2] "w"(l2),
          [h0] "w"(h0), [h1] "w"(h1), [h2] "w"(h2), [first] "i"(First)
        : "lr", "memory");
  }
};

} // namespace fovea::fixed
