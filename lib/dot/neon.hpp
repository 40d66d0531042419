// Arm NEON without dot products: bytes widened to 16 bits, SMLAL. A register holds one lane, four deep; lanes are added at the end.
#pragma once
#include <arm_neon.h>

#include "fixed/tile.hpp"
#include "fovea/fixed.h"

namespace fovea {

struct neon_registers {
  using reg = int32x4_t;
  static constexpr int lanes = 4;
  static FOVEA_INLINE reg load(const int32_t* p) { return vld1q_s32(p); }
  static FOVEA_INLINE void store(int32_t* p, reg x) { vst1q_s32(p, x); }
  static FOVEA_INLINE reg spread(int32_t x) { return vdupq_n_s32(x); }
  static FOVEA_INLINE reg add(reg a, reg b) { return vaddq_s32(a, b); }
  static FOVEA_INLINE reg first(int32_t x) { return vsetq_lane_s32(x, spread(0), 0); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return vmaxq_s32(a, b); }
  static FOVEA_INLINE reg by(int shift) { return spread(shift); }
  static FOVEA_INLINE reg shift_left(reg x, reg by) { return vshlq_s32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, reg by) { return vshlq_s32(x, vnegq_s32(by)); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) { return vrshlq_s32(x, spread(-shift)); }
  static FOVEA_INLINE reg high_product(reg a, reg b) { return vshrq_n_s32(vqdmulhq_s32(a, b), 1); } // b >= 0: twice the product fits
  static FOVEA_INLINE int32_t greatest(reg x) { return vmaxvq_s32(x); }
  static FOVEA_INLINE uint32_t total(reg x) { return static_cast<uint32_t>(vaddvq_s32(x)); }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[4]) {
    vst1q_s16(p, vqmovn_high_s32(vqmovn_s32(x[0]), x[1]));
    vst1q_s16(p + 8, vqmovn_high_s32(vqmovn_s32(x[2]), x[3]));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[4]) {
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(x[0]), x[1]), high = vqmovn_high_s32(vqmovn_s32(x[2]), x[3]);
    vst1q_s8(p, vqmovn_high_s16(vqmovn_s16(low), high));
  }
};

struct neon_dot : neon_registers {
  using element = int16_t;
  struct acc { // four lanes
    reg lane[4];
  };
  struct piece {
    int16x8_t low, high;
  };
  using chunk = int16x4_t;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 1, regs = 4, piece_step = 16, planes = 1, block_step = 64, key_offset = 0;

  static FOVEA_INLINE chunk take(const int16_t* a) { return vld1_s16(a); }
  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int8x16_t x = vld1q_s8(b + 16 * i);
      y[i] = {vmovl_s8(vget_low_s8(x)), vmovl_s8(vget_high_s8(x))};
    }
  }
  static FOVEA_INLINE void load_column(const int16_t* b, piece (&y)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) y[i] = {vld1q_s16(b + 16 * i), vld1q_s16(b + 16 * i + 8)};
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    sum.lane[0] = vmlal_s16(sum.lane[0], vget_low_s16(y.low), x);
    sum.lane[1] = vmlal_s16(sum.lane[1], vget_high_s16(y.low), x);
    sum.lane[2] = vmlal_s16(sum.lane[2], vget_low_s16(y.high), x);
    sum.lane[3] = vmlal_s16(sum.lane[3], vget_high_s16(y.high), x);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start start) {
    const reg x = vsetq_lane_s32(start(0), vdupq_n_s32(0), 0);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {{x, x, x, x}};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const reg* x = sum[i].lane;
      out[i] = vpaddq_s32(vpaddq_s32(x[0], x[1]), vpaddq_s32(x[2], x[3]));
    }
  }
};

// Weights of 16 keys at a time, in 16-bit lanes; SQDMULH of the shifted score is the octaves.
struct neon_weigher : neon_registers {
  static FOVEA_INLINE int16x8_t exp2(int16x8_t f) {
    int16x8_t y = vaddq_s16(vqrdmulhq_s16(vdupq_n_s16(-1291), f), vdupq_n_s16(7513));
    y = vaddq_s16(vqrdmulhq_s16(y, f), vdupq_n_s16(-22478));
    return vaddq_s16(vqrdmulhq_s16(y, f), vdupq_n_s16(32510));
  }
  static FOVEA_INLINE int16x8_t weights(reg u0, reg u1, int16x8_t& above) {
    const int16x8_t a = vreinterpretq_s16_s32(u0), b = vreinterpretq_s16_s32(u1);
    const int16x8_t f = vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s16(vuzp1q_s16(a, b)), 1)), k = vuzp2q_s16(a, b);
    above = vminq_s16(above, k);
    return vrshlq_s16(exp2(f), vnegq_s16(vminq_s16(k, vdupq_n_s16(16))));
  }

  // leave(j, y0, y1): keys j .. j + 15. False, and nothing summed, when a key lies above the reference.
  template <bool Octaves, class Leave>
  static FOVEA_INLINE bool weigh_by(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int32_t* sum,
                                    const int16_t* factors, Leave leave) {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16));
    const reg multiplier = spread(scale.score_multiplier), up = spread(31 - scale.score_shift);
    reg sums = load(sum);
    int16x8_t above = vdupq_n_s16(0);
#pragma GCC unroll 4
    for (int j = 0; j < 64; j += 16) {
      reg u[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const reg x = load(s + j + 4 * i);
        u[i] = vsubq_s32(base, Octaves ? x : vqdmulhq_s32(vshlq_s32(x, up), multiplier));
      }
      int16x8_t y[2] = {weights(u[0], u[1], above), weights(u[2], u[3], above)};
      sums = vpadalq_s16(vpadalq_s16(sums, y[0]), y[1]);
      if (factors) y[0] = vqrdmulhq_s16(y[0], vld1q_s16(factors + j)), y[1] = vqrdmulhq_s16(y[1], vld1q_s16(factors + j + 8));
      leave(j, y[0], y[1]);
    }
    if (vminvq_s16(above) < 0) return false;
    store(sum, sums);
    return true;
  }
};

struct neon_word_weigher : neon_weigher {
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int16_t* p, int32_t* sum,
                                 const int16_t* factors) {
    return weigh_by<Octaves>(s, scale, reference, sum, factors, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s16(p + j, y0);
      vst1q_s16(p + j + 8, y1);
    });
  }
};

} // namespace fovea
