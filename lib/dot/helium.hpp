// Cortex-M55, Helium: VMLADAVA.S8 adds 16 products to one number. Four keys by two queries; weights are two signed bytes, 256 * high + low.
#pragma once
#include <arm_mve.h>

#include "fixed/compact.hpp"

namespace fovea {

// Four numbers at a time; the last store is predicated.
struct helium_writer {
  static FOVEA_COMPACT void store(int8_t* out, int32x4_t y, mve_pred16_t p) { vstrbq_p_s32(out, y, p); }
  static FOVEA_COMPACT void store(int16_t* out, int32x4_t y, mve_pred16_t p) { vstrhq_p_s32(out, y, p); }

  template <class T>
  static FOVEA_COMPACT void write(const int32_t* acc, const output_factor& f, int count, int32_t zero, T* out) {
    const int32_t limit = sizeof(T) == 1 ? 128 : 32768, half = (1 << (f.shift - 1)) - f.zero;
    const int32x4_t low = vdupq_n_s32(-limit), high = vdupq_n_s32(limit - 1), multiplier = vdupq_n_s32(f.multiplier);
    for (; count > 0; count -= 4, acc += 4, out += 4) {
      const int32x4_t x = vshlq_r_s32(vldrwq_s32(acc), f.left);
      const int32x4_t y = vaddq_n_s32(vshlq_r_s32(vaddq_n_s32(vmulhq_s32(x, multiplier), half), -f.shift), zero);
      store(out, vminq_s32(vmaxq_s32(y, low), high), vctp32q(static_cast<uint32_t>(count)));
    }
  }
};

struct helium_dot {
  using writer = helium_writer;
  using element = int8_t;
  static constexpr int planes = 2; // 64 low bytes of a row, then 64 high bytes
  static void put_query(int8_t* to, int rows, int g, int c, const int8_t* q) { vstrbq_s8(to + c * rows + g * 16, vldrbq_s8(q)); }

  static void clear(int32_t* x) {
    vstrwq_s32(x, vdupq_n_s32(0));
    asm volatile(""); // else clang calls memset
  }

  template <int G>
  __attribute__((noinline)) static void score(const int8_t* q, const int8_t* keys, int depth, int32_t start0, int32_t start1, int32_t* s) {
    for (int block = fixed_block; block > 0; block -= 4, s += 4) {
      int32_t o[4][G];
#pragma GCC unroll 4
      for (int l = 0; l < 4; ++l) {
        o[l][0] = start0;
        if (G == 2) o[l][G - 1] = start1;
      }
      const int8_t* a = q;
      for (int left = depth; left > 0; left -= 16) {
        int8x16_t x[G];
#pragma GCC unroll 2
        for (int g = 0; g < G; ++g, a += 16) x[g] = vldrbq_s8(a);
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l, keys += 16) {
          const int8x16_t k = vldrbq_s8(keys);
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) o[l][g] = vmladavaq_s8(o[l][g], k, x[g]);
        }
      }
#pragma GCC unroll 2
      for (int g = 0; g < G; ++g)
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) s[g * fixed_block + l] = o[l][g];
    }
  }

  template <int G>
  static void add_values(const int8_t* weights, const int8_t* values, int width, int spill, int32_t* acc) {
    for (int g = 0; g < G; ++g, acc += width, weights += 2 * fixed_block) {
      if (spill)
        add_spilled(weights, values, width, spill, acc);
      else
        add_exact(weights, values, width, acc);
    }
  }

  // False, and nothing summed, when a key lies above the reference. VLD2 parts even from odd keys, VMOVNT and VSHRNT join them.
  __attribute__((noinline)) static bool weigh(const weighing& w, int, int g, int8_t* to, uint32_t& total) {
    const int32_t multiplier = w.scale->score_multiplier, up = 31 - w.scale->score_shift;
    const int32x4_t base = vdupq_n_s32(left_shift(w.reference, 16));
    int32x4_t sign = vdupq_n_s32(0);
    int32_t sum = static_cast<int32_t>(total);
    to += g * 2 * fixed_block;
    const int32_t* s = w.s;
    for (int j = 0; j < fixed_block; j += 8, s += 8) {
      const int32x4x2_t x = vld2q_s32(s);
      int32x4_t u0 = x.val[0], u1 = x.val[1];
      if (!w.octaves) u0 = vqdmulhq_n_s32(vshlq_r_s32(u0, up), multiplier), u1 = vqdmulhq_n_s32(vshlq_r_s32(u1, up), multiplier);
      u0 = vsubq_s32(base, u0), u1 = vsubq_s32(base, u1);
      sign = vorrq_s32(sign, vorrq_s32(u0, u1));
      int16x8_t y = weights_of(u0, u1);
      sum = vaddvaq_s16(sum, y);
      if (w.factors) y = vqrdmulhq_s16(y, vldrhq_s16(w.factors + j));
      vstrbq_s16(to + j, y);
      vstrbq_s16(to + fixed_block + j, vrshrq_n_s16(y, 8));
    }
    if (vminvq_s32(0, sign) < 0) return false;
    total = static_cast<uint32_t>(sum);
    return true;
  }

 private:
  static FOVEA_COMPACT int16x8_t weights_of(int32x4_t even, int32x4_t odd) {
    int16x8_t f = vmovntq_s32(vreinterpretq_s16_s32(even), odd);
    const int16x8_t k = vshrntq_n_s32(vshrnbq_n_s32(vreinterpretq_s16_s32(even), even, 16), odd, 16);
    f = vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s16(f), 1));
    int16x8_t y = vdupq_n_s16(-1291);
    y = vqrdmlashq_n_s16(y, f, 7513), y = vqrdmlashq_n_s16(y, f, -22478), y = vqrdmlashq_n_s16(y, f, 32510);
    return vrshlq_s16(y, vnegq_s16(vminq_s16(k, vdupq_n_s16(16))));
  }

  // The weights of 32 keys stay in four registers while all elements of values go by.
  __attribute__((noinline)) static void add_exact(const int8_t* weights, const int8_t* values, int width, int32_t* acc) {
    for (int from = 0; from < fixed_block; from += 32) {
      const int8_t *low = weights + from, *high = low + fixed_block, *v = values + from;
      const int8x16_t l0 = vldrbq_s8(low), l1 = vldrbq_s8(low + 16), h0 = vldrbq_s8(high), h1 = vldrbq_s8(high + 16);
      const auto sum = [&](int32_t x, int8x16_t a, int8x16_t b) FOVEA_COMPACT_INLINE {
        return vmladavaq_s8(vmladavaq_s8(x, a, l0), b, l1) + vmladavaq_s8(vmladavq_s8(a, h0), b, h1) * 256;
      };
      int32_t* o = acc;
      for (const int32_t* end = acc + width; o != end; o += 2, v += 2 * fixed_block) {
        const int32_t x0 = sum(o[0], vldrbq_s8(v), vldrbq_s8(v + 16));
        const int32_t x1 = sum(o[1], vldrbq_s8(v + fixed_block), vldrbq_s8(v + fixed_block + 16));
        o[0] = x0, o[1] = x1;
      }
    }
  }

  __attribute__((noinline)) static void add_spilled(const int8_t* weights, const int8_t* v, int width, int spill, int32_t* acc) {
    for (int c = 0; c < width; ++c, v += fixed_block) {
      int32_t low = 1 << (spill - 1), high = 0;
      for (int j = 0; j < fixed_block; j += 16) {
        const int8x16_t x = vldrbq_s8(v + j);
        low = vmladavaq_s8(low, x, vldrbq_s8(weights + j));
        high = vmladavaq_s8(high, x, vldrbq_s8(weights + fixed_block + j));
      }
      acc[c] += (low + high * 256) >> spill;
    }
  }
};

} // namespace fovea
