// Arm 8-bit matrix products: SMMLA, two rows by two lanes, eight deep. The two rows are two queries, or the low and the high byte of
// one row of weights. Panels of a cache are four deep: two pieces are zipped. Panels in scratch are made eight deep.
#pragma once
#include <cstring>

#include "dot/dotprod.hpp"

namespace fovea {

enum class eight_deep : int8_t {}; // an element of panels [sixteen lanes][8]

// In each 128 bytes, two groups of four deep become one of eight.
static inline void pair_groups(int8_t* room, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; i += 128) {
    int8_t x[128];
    std::memcpy(x, room + i, sizeof x);
    for (int lane = 0; lane < 16; ++lane) {
      std::memcpy(room + i + lane * 8, x + lane * 4, 4);
      std::memcpy(room + i + lane * 8 + 4, x + 64 + lane * 4, 4);
    }
  }
}

struct i8mm_dot : neon_registers {
  using element = int8_t;
  struct acc { // four lanes of two rows
    reg pair[2];
  };
  struct piece {
    int8x16_t pair[2];
  };
  using chunk = int8x16_t;
  static constexpr int group = 8, deep = 8, regs = 4, key_offset = 0;

  static FOVEA_INLINE piece load(const int8_t* b) { // tile steps move by four deep within a group of eight
    const int32x4_t first = vreinterpretq_s32_s8(vld1q_s8(b)), second = vreinterpretq_s32_s8(vld1q_s8(b + 64));
    return {{vreinterpretq_s8_s32(vzip1q_s32(first, second)), vreinterpretq_s8_s32(vzip2q_s32(first, second))}};
  }
  static FOVEA_INLINE piece load(const eight_deep* b) {
    const int8_t* p = reinterpret_cast<const int8_t*>(b);
    return {{vld1q_s8(p), vld1q_s8(p + 16)}};
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    sum.pair[0] = vmmlaq_s32(sum.pair[0], x, y.pair[0]);
    sum.pair[1] = vmmlaq_s32(sum.pair[1], x, y.pair[1]);
  }
};

struct i8mm_keys : i8mm_dot {
  static constexpr int rows = 2;
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

struct i8mm_values : i8mm_dot {
  static constexpr int rows = 1, planes = 2, block_step = 128; // 8 low bytes, 8 high bytes, again and again
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
struct i8mm_weights : neon_weights {
  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p, int32_t* sum,
                                 const int16_t* by) {
    return neon_weights::weigh<Octaves>(s, scale, reference, sum, by, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s8(p + 2 * j, vcombine_s8(vmovn_s16(y0), vrshrn_n_s16(y0, 8)));
      vst1q_s8(p + 2 * j + 16, vcombine_s8(vmovn_s16(y1), vrshrn_n_s16(y1, 8)));
    });
  }
};

} // namespace fovea
