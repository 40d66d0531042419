// Arm dot products: SDOT by lane, sixteen lanes four deep in four registers. Weights are two signed bytes: 256 * high + low.
#pragma once
#include "dot/neon.hpp"

namespace fovea {

struct dotprod_dot : neon_registers {
  using piece = int8x16_t;
  static constexpr int rows = 1, group = 4, deep = 16, slices = 1, regs = 4, piece_step = 16;
  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[4]) { // one instruction
    const int8x16x4_t x = vld1q_s8_x4(b);
    y[0] = x.val[0], y[1] = x.val[1], y[2] = x.val[2], y[3] = x.val[3];
  }
};

struct dotprod_keys : dotprod_dot {
  using element = int8_t;
  using acc = reg;
  using chunk = int8x16_t; // four steps of four elements
  static constexpr int key_offset = 0;

  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_s8(a); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    sum = vdotq_laneq_s32(sum, y, x, Step);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start start) {
    sum[0] = sum[1] = sum[2] = sum[3] = spread(start(0));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = sum[i];
  }
};

struct dotprod_values : dotprod_dot {
  using element = int8_t; // 256 low bytes of a row, then 256 high bytes
  struct acc {
    reg low, high;
  };
  struct chunk {
    int8x16_t low, high;
  };
  static constexpr int planes = 2, block_step = 64, plane = 256;

  static FOVEA_INLINE chunk take(const int8_t* a) { return {vld1q_s8(a), vld1q_s8(a + plane)}; }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, const chunk& x) {
    sum.low = vdotq_laneq_s32(sum.low, y, x.low, Step);
    sum.high = vdotq_laneq_s32(sum.high, y, x.high, Step);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {spread(0), spread(0)};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = neon_registers::add(vshlq_n_s32(sum[i].high, 8), sum[i].low);
  }
};

// Leaves weights as two signed bytes: high = (y + 128) >> 8, low = the rest.
struct dotprod_weigher : neon_weigher {
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p, int32_t* sum,
                                 const int16_t* factors) {
    return weigh_by<Octaves>(s, scale, reference, sum, factors, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s8(p + j, vuzp1q_s8(vreinterpretq_s8_s16(y0), vreinterpretq_s8_s16(y1)));
      vst1q_s8(p + dotprod_values::plane + j, vrshrn_high_n_s16(vrshrn_n_s16(y0, 8), y1, 8));
    });
  }
};

} // namespace fovea
