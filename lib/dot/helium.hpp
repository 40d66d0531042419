// Cortex-M55, Helium: VMLADAVA.S8 adds 16 products to one number. Four registers hold a part of the queries, or the weights of 32 keys,
// while keys or values go by; weights are two signed bytes, 256 * high + low.
#pragma once
#include <arm_mve.h>

#include "fixed/compact.hpp"

namespace fovea {

struct helium_dot {
  using element = int8_t;
  static constexpr int most_rows = 2, planes = 2; // planes: 64 low bytes of a row, then 64 high bytes
  static constexpr bool takes_queries = true;

  static void put_query(int8_t* to, int rows, int g, int c, const int8_t* q) { vstrbq_s8(to + c * rows + g * 16, vldrbq_s8(q)); }

  FOVEA_HOT static void fill(int32_t* x, int32_t count, int32_t value) { // a multiple of sixteen
    asm("" : "+r"(value));                                               // else compilers call memset for zeros
    const int32x4_t all = vdupq_n_s32(value);
#pragma GCC unroll 1
    for (; count > 0; count -= 16, x += 16) vstrwq_s32(x, all), vstrwq_s32(x + 4, all), vstrwq_s32(x + 8, all), vstrwq_s32(x + 12, all);
  }

  static int32_t largest(const int32_t* t) {
    int32_t top = INT32_MIN;
#pragma GCC unroll 4
    for (int j = 0; j < fixed_block; j += 4) top = vmaxvq_s32(top, vldrwq_s32(t + j));
    return top;
  }

  using mapping = to_octaves; // scores become octaves while they are weighed
  static mapping prepare(int32_t* s, const to_octaves& by) { return by.flat() ? map_now(s, by) : by; }

  static void score(int rows, const int8_t* q, const int8_t* keys, int depth, const int32_t* starts, int32_t* s) {
    if (rows == 1)
      score_of<1>(q, keys, depth, starts, s);
    else
      score_of<2>(q, keys, depth, starts, s);
  }

  static void add_values(int rows, const int8_t* weights, const int8_t* values, int32_t* to, int stride, int count) {
    for (int g = 0; g < rows; ++g) add_row(weights + g * 2 * fixed_block, values, to + g * stride, count);
  }

  // False, and nothing summed, when a key lies above the reference.
  static FOVEA_COMPACT bool weigh(const int32_t* s, to_octaves by, int32_t base, int, int g, int8_t* to, uint32_t& total) {
    return weigh_row(s, base, by.multiplier, by.up - 1, to + g * 2 * fixed_block, total);
  }

  static void scale_weight(int8_t* weights, int, int g, int j, int32_t by) {
    int8_t *low = weights + g * 2 * fixed_block + j, *high = low + fixed_block;
    const int32_t weight = multiply_round(*high * 256 + *low, by);
    *low = static_cast<int8_t>(weight), *high = static_cast<int8_t>((weight + 128) >> 8);
  }

  // The last store is predicated.
  static FOVEA_COMPACT void write(int32_t* acc, const output_factor& f, const fixed_plan& p, unsigned char* out) {
    if (f.left) shift_left(acc, p.width, f.left);
    const number by{vdupq_n_s32(f.multiplier), (1 << (f.shift - 1)) - f.zero, -f.shift};
    if (p.out_type == FOVEA_FIXED_S8)
      write_as(acc, by, p.zero_out, p.v_dim, reinterpret_cast<int8_t*>(out));
    else
      write_as(acc, by, p.zero_out, p.v_dim, reinterpret_cast<int16_t*>(out));
  }

 private:
  // VLD2 parts even from odd keys, VMOVNT and VSHRNT join them.
  FOVEA_HOT static bool weigh_row(const int32_t* s, int32_t base, int32_t multiplier, int32_t up, int8_t* to, uint32_t& total) {
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

  struct number { // of output, before zero_out is added
    int32x4_t multiplier;
    int32_t half, down;
    FOVEA_COMPACT int32x4_t operator()(int32x4_t x) const { return vshlq_r_s32(vaddq_n_s32(vmulhq_s32(x, multiplier), half), down); }
  };

  // Sixteen at a time: every fourth number, joined twice. What saturates 16 bits is far beyond a byte.
  static FOVEA_COMPACT void write_as(const int32_t* acc, const number& f, int32_t zero, int count, int8_t* out) {
    for (; count > 0; count -= 16, acc += 16, out += 16) {
      const int32x4x4_t x = vld4q_s32(acc);
      const int16x8_t even = vqaddq_n_s16(join(f(x.val[0]), f(x.val[2])), static_cast<int16_t>(zero));
      const int16x8_t odd = vqaddq_n_s16(join(f(x.val[1]), f(x.val[3])), static_cast<int16_t>(zero));
      const int8x16_t y = vqmovntq_s16(vqmovnbq_s16(vdupq_n_s8(0), even), odd);
      vstrbq_p_s8(out, y, vctp8q(static_cast<uint32_t>(count)));
    }
  }
  static FOVEA_COMPACT void write_as(const int32_t* acc, const number& f, int32_t zero, int count, int16_t* out) {
    for (; count > 0; count -= 4, acc += 4, out += 4) {
      const int32x4_t y = vaddq_n_s32(f(vldrwq_s32(acc)), zero);
      vstrhq_p_s32(out, vreinterpretq_s32_s16(vqmovnbq_s32(vdupq_n_s16(0), y)), vctp32q(static_cast<uint32_t>(count)));
    }
  }
  static FOVEA_COMPACT int16x8_t join(int32x4_t even, int32x4_t odd) { return vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd); }

  FOVEA_COLD static mapping map_now(int32_t* s, const to_octaves& by) {
    for (int j = 0; j < fixed_block; ++j) s[j] = by(s[j]);
    return {};
  }

  FOVEA_COLD static void shift_left(int32_t* x, int count, int by) {
    for (; count > 0; count -= 4, x += 4) vstrwq_s32(x, vshlq_r_s32(vldrwq_s32(x), by));
  }

  static FOVEA_COMPACT void put_weights(int8_t* to, int16x8_t y) {
    vstrbq_s16(to, y);
    vstrbq_s16(to + fixed_block, vrshrq_n_s16(y, 8));
  }
  static FOVEA_COMPACT int16x8_t weights_of(int16x8_t whole, int16x8_t fraction) {
    const int16x8_t f = vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s16(fraction), 1));
    int16x8_t y = vdupq_n_s16(-1291);
    y = vqrdmlashq_n_s16(y, f, 7513), y = vqrdmlashq_n_s16(y, f, -22478), y = vqrdmlashq_n_s16(y, f, 32510);
    return vrshlq_s16(y, vnegq_s16(vminq_s16(whole, vdupq_n_s16(16))));
  }

  template <int G>
  FOVEA_HOT static void score_of(const int8_t* q, const int8_t* keys, int depth, const int32_t* starts, int32_t* s) {
    constexpr int chunks = 4 / G;
    int left = depth / 16;
    if (left < chunks) {
      fill(s, G * fixed_block, 0);
    } else {
      add_chunks<true, G, chunks>(q, keys, depth, s);
      left -= chunks, q += 64, keys += 64 * chunks;
    }
    for (; left >= chunks; left -= chunks, q += 64, keys += 64 * chunks) add_chunks<false, G, chunks>(q, keys, depth, s);
    for (; left > 0; --left, keys += 64)
      for (int g = 0; g < G; ++g, q += 16) add_chunk(q, keys, depth, s + g * fixed_block);
    for (int g = 0; g < G; ++g)
      if (starts[g]) add_start(starts[g], s + g * fixed_block);
  }

  // One LDRD, whatever stands between the uses of its registers: compilers do not part what is volatile.
  static FOVEA_COMPACT void load_two(const int32_t* at, int32_t& x, int32_t& y) {
    using two = int64_t __attribute__((may_alias, aligned(4)));
    const int64_t both = *reinterpret_cast<const volatile two*>(at);
    x = static_cast<int32_t>(both), y = static_cast<int32_t>(both >> 32);
  }

  FOVEA_COLD static void add_start(int32_t start, int32_t* s) {
    for (int j = 0; j < fixed_block; j += 4) vstrwq_s32(s + j, vaddq_n_s32(vldrwq_s32(s + j), start));
  }

  // Scores of G queries begin with, or grow by, 16 * Chunks dimensions.
  template <bool First, int G, int Chunks>
  static FOVEA_COMPACT void add_chunks(const int8_t* q, const int8_t* keys, int depth, int32_t* s) {
    constexpr int side = 4 / G; // keys side by side: sums want even registers, and there are seven
    int8x16_t x[Chunks][G];
#pragma GCC unroll 4
    for (int i = 0; i < Chunks; ++i)
#pragma GCC unroll 2
      for (int g = 0; g < G; ++g) x[i][g] = vldrbq_s8(q + (i * G + g) * 16);
    for (const int32_t* end = s + fixed_block; s != end; keys += 4 * depth) {
#pragma GCC unroll 2
      for (int part = 0; part < 4; part += side, s += side) {
        int32_t o[G][side];
#pragma GCC unroll 2
        for (int g = 0; g < G; ++g)
#pragma GCC unroll 2
          for (int l = 0; !First && l < side; l += 2) load_two(s + g * fixed_block + l, o[g][l], o[g][l + 1]);
#pragma GCC unroll 4
        for (int i = 0; i < Chunks; ++i)
#pragma GCC unroll 4
          for (int l = 0; l < side; ++l) {
            const int8x16_t k = vldrbq_s8(keys + (4 * i + part + l) * 16);
#pragma GCC unroll 2
            for (int g = 0; g < G; ++g) o[g][l] = First && i == 0 ? vmladavq_s8(k, x[i][g]) : vmladavaq_s8(o[g][l], k, x[i][g]);
          }
#pragma GCC unroll 2
        for (int g = 0; g < G; ++g)
#pragma GCC unroll 4
          for (int l = 0; l < side; ++l) s[g * fixed_block + l] = o[g][l];
      }
    }
  }
  FOVEA_HOT static void add_chunk(const int8_t* q, const int8_t* keys, int depth, int32_t* s) {
    add_chunks<false, 1, 1>(q, keys, depth, s);
  }

  // The weights of 32 keys stay in four registers while all elements of values go by.
  FOVEA_HOT static void add_row(const int8_t* weights, const int8_t* values, int32_t* acc, int count) {
#pragma GCC unroll 1
    for (int from = 0; from < fixed_block; from += 32) {
      const int8_t *low = weights + from, *high = low + fixed_block;
      const int8x16_t l0 = vldrbq_s8(low), l1 = vldrbq_s8(low + 16), h0 = vldrbq_s8(high), h1 = vldrbq_s8(high + 16);
      add_pairs(l0, l1, h0, h1, values + from, acc, count / 4);
    }
  }

  // Twice two elements a turn. Compilers load without moving the pointer on, and part what LDRD and STRD join.
  static FOVEA_COMPACT void add_pairs(int8x16_t l0, int8x16_t l1, int8x16_t h0, int8x16_t h1, const int8_t* v, int32_t* acc, int turns) {
    int32_t x, y, high;
    int8x16_t a, b;
    asm volatile(
        "dls lr, %[turns]\n"
        "1:\n"
        ".rept 2\n"
        "ldrd %[x], %[y], [%[acc]]\n"
        "vldrb.u8 %q[a], [%[v]], #16\n"
        "vmladava.s8 %[x], %q[a], %q[l0]\n"
        "vldrb.u8 %q[b], [%[v]], #48\n"
        "vmladav.s8 %[high], %q[a], %q[h0]\n"
        "vmladava.s8 %[x], %q[b], %q[l1]\n"
        "vldrb.u8 %q[a], [%[v]], #16\n"
        "vmladava.s8 %[high], %q[b], %q[h1]\n"
        "vmladava.s8 %[y], %q[a], %q[l0]\n"
        "add %[x], %[x], %[high], lsl #8\n"
        "vldrb.u8 %q[b], [%[v]], #48\n"
        "vmladav.s8 %[high], %q[a], %q[h0]\n"
        "vmladava.s8 %[y], %q[b], %q[l1]\n"
        "vmladava.s8 %[high], %q[b], %q[h1]\n"
        "add %[y], %[y], %[high], lsl #8\n"
        "strd %[x], %[y], [%[acc]], #8\n"
        ".endr\n"
        "le lr, 1b"
        : [x] "=&Te"(x), [y] "=&Te"(y), [high] "=&Te"(high), [a] "=&w"(a), [b] "=&w"(b), [v] "+r"(v), [acc] "+r"(acc)
        : [turns] "r"(turns), [l0] "w"(l0), [l1] "w"(l1), [h0] "w"(h0), [h1] "w"(h1)
        : "lr", "memory");
  }
};

} // namespace fovea
