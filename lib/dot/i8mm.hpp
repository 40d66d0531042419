// Arm 8-bit matrix products: SMMLA, two rows by two lanes, eight deep. The two rows are two queries, or the low and the high byte of
// one row of weights. Panels of a cache are four deep: two pieces are zipped. Panels in scratch are made eight deep.
#pragma once
#include "dot/dotprod.hpp"
#include "fixed/arrange.hpp"

namespace fovea {

struct i8mm_dot : neon_registers {
  using element = int8_t;
  struct acc { // four lanes of two rows
    reg pair[2];
  };
  struct piece {
    int8x16_t pair[2];
  };
  using chunk = int8x16_t;
  static constexpr int group = 8, deep = 8, slices = 1, regs = 4, key_offset = 0;

  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[4]) { // tile steps move by four deep within a group of eight
    const int32x4x4_t first = vld1q_s32_x4(reinterpret_cast<const int32_t*>(b)),
                      second = vld1q_s32_x4(reinterpret_cast<const int32_t*>(b + 64));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      y[i] = {
          {vreinterpretq_s8_s32(vzip1q_s32(first.val[i], second.val[i])), vreinterpretq_s8_s32(vzip2q_s32(first.val[i], second.val[i]))}};
  }
  static FOVEA_INLINE void load_column(const eight_deep* b, piece (&y)[4]) {
    const int8_t* p = reinterpret_cast<const int8_t*>(b);
    const int8x16x4_t low = vld1q_s8_x4(p), high = vld1q_s8_x4(p + 64);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) y[i] = {{low.val[2 * i], low.val[2 * i + 1]}}, y[2 + i] = {{high.val[2 * i], high.val[2 * i + 1]}};
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    sum.pair[0] = vmmlaq_s32(sum.pair[0], x, y.pair[0]);
    sum.pair[1] = vmmlaq_s32(sum.pair[1], x, y.pair[1]);
  }
};

template <int PieceStep> // 16 in panels of a cache, 32 in panels that are eight deep
struct i8mm_keys : i8mm_dot {
  static constexpr int rows = 2, piece_step = PieceStep;
  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_s8(a); }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start start) {
    const reg x = vcombine_s32(vdup_n_s32(start(0)), vdup_n_s32(start(1)));
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {{x, x}};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int row, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int64x2_t a = vreinterpretq_s64_s32(sum[i].pair[0]), b = vreinterpretq_s64_s32(sum[i].pair[1]);
      out[i] = vreinterpretq_s32_s64(row ? vtrn2q_s64(a, b) : vtrn1q_s64(a, b));
    }
  }
};

template <int PieceStep>
struct i8mm_values : i8mm_dot {
  static constexpr int rows = 1, piece_step = PieceStep, planes = 2, block_step = 128; // 8 low bytes, 8 high bytes, again and again
  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_s8(a); }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {{spread(0), spread(0)}};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int64x2_t a = vreinterpretq_s64_s32(sum[i].pair[0]), b = vreinterpretq_s64_s32(sum[i].pair[1]);
      const reg low = vreinterpretq_s32_s64(vtrn1q_s64(a, b)), high = vreinterpretq_s32_s64(vtrn2q_s64(a, b));
      out[i] = neon_registers::add(vshlq_n_s32(high, 8), low);
    }
  }
};

// Weights as pairs of eight signed bytes, low and high.
struct i8mm_weigher : neon_weigher {
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p, int32_t* sum,
                                 const int16_t* factors) {
    return weigh_by<Octaves>(s, scale, reference, sum, factors, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s8(p + 2 * j, vrshrn_high_n_s16(vmovn_s16(y0), y0, 8));
      vst1q_s8(p + 2 * j + 16, vrshrn_high_n_s16(vmovn_s16(y1), y1, 8));
    });
  }
};

} // namespace fovea
