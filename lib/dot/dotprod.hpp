// Arm dot products: SDOT by lane, sixteen lanes four deep in four registers. Weights are two signed bytes: 256 * high + low.
#pragma once
#include "dot/neon.hpp"

namespace fovea {

struct dotprod_keys : neon_registers {
  using element = int8_t;
  using acc = reg;
  using piece = int8x16_t;
  using chunk = int8x16_t; // four steps of four elements
  static constexpr int rows = 1, group = 4, deep = 16, regs = 4, key_offset = 0;

  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_s8(a); }
  static FOVEA_INLINE piece load(const int8_t* b) { return vld1q_s8(b); }
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

struct dotprod_values : neon_registers {
  using element = int8_t; // 256 low bytes of a row, then 256 high bytes
  struct acc {
    reg low, high;
  };
  using piece = int8x16_t;
  struct chunk {
    int8x16_t low, high;
  };
  static constexpr int rows = 1, group = 4, deep = 16, regs = 4, planes = 2, block_step = 64, plane = 256;

  static FOVEA_INLINE chunk take(const int8_t* a) { return {vld1q_s8(a), vld1q_s8(a + plane)}; }
  static FOVEA_INLINE piece load(const int8_t* b) { return vld1q_s8(b); }
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
struct dotprod_weights : neon_weights {
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p, int32_t* sum,
                                 const int16_t* by) {
    return neon_weights::weigh<Octaves>(s, scale, reference, sum, by, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s8(p + j, vcombine_s8(vmovn_s16(y0), vmovn_s16(y1)));
      vst1q_s8(p + dotprod_values::plane + j, vcombine_s8(vrshrn_n_s16(y0, 8), vrshrn_n_s16(y1, 8)));
    });
  }
};

} // namespace fovea
