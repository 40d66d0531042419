// Arm dot products: SDOT by lane, sixteen lanes four deep in four registers. Weights are two signed bytes:
// 256 * high + low.
#pragma once
#include "fixed/dot/dotprod_tile.hpp"
#include "fixed/dot/neon_weights.hpp"

namespace fovea::fixed {

struct dotprod_dot : neon_registers, dot_defaults {
  using piece = int8x16_t;
  static constexpr int rows = 1, group = 4, deep = 16, slices = 1, regs = 4, piece_step = 16;
  static FOVEA_INLINE void load_column(const int8_t*& b, piece (&y)[4]) {
    const int8x16x4_t x = take_64(b);
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
  static constexpr bool scores_panels = true;
  static FOVEA_INLINE void put_four_queries(const int8_t* a, const int8_t* b, const int8_t* c,
                                            const int8_t* d, int depth, int8_t* to) {
    for (int i = 0; i < depth; i += 16, to += 64) {
      const int8x16x4_t four = {{take(a + i), take(b + i), take(c + i), take(d + i)}};
      vst1q_s8_x4(to, four);
    }
  }
  static FOVEA_INLINE void store_starts(const int32_t (&of)[4], int32_t* to) {
#pragma GCC unroll 4
    for (int m = 0; m < 4; ++m) {
      const reg x = spread(of[m]);
      store(to + 16 * m, x), store(to + 16 * m + 4, x), store(to + 16 * m + 8, x), store(to + 16 * m + 12, x);
    }
  }
  static FOVEA_INLINE void score_panel(const int8_t* q, const int8_t*& keys, int depth, const int32_t* starts,
                                       int32_t* s, ptrdiff_t step) {
    multiply_four_rows<false>(q, keys, 0, depth / 64, starts, 128, starts + 16, 128, s, 4 * step);
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

static const int32_t no_sums[16] = {};

struct dotprod_values : dotprod_dot {
  using element = int8_t; // 16 low bytes and 16 high bytes of each of two rows, then the next of both
  struct acc {
    reg low, high;
  };
  struct chunk {
    int8x16_t low, high;
  };
  static constexpr int planes = 2, block_step = 128, rows_of_weights = 2;
  static constexpr bool resumes = true, adds_blocks = true;

  static FOVEA_INLINE void add_blocks(const int8_t* weights, const int8_t* values, ptrdiff_t apart,
                                      int blocks, const uint8_t* rise, int32_t* o, ptrdiff_t width) {
    multiply_four_rows<true>(weights, values, apart - 16 * fixed_block, blocks, o, 4 * width, no_sums, 0, o,
                             4 * width, rise);
  }
  // The same for one row and 32 lanes.
  static FOVEA_INLINE void add_blocks_of_one_row(const int8_t* weights, const int8_t* values, ptrdiff_t apart,
                                                 int blocks, const uint8_t* rise, int32_t* o) {
    multiply_four_rows<true, true>(weights, values, apart - 16 * fixed_block, blocks, o, 64, no_sums, 0, o,
                                   64, rise);
  }
  static FOVEA_INLINE chunk take(const int8_t* a) { return {vld1q_s8(a), vld1q_s8(a + 16)}; }
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
  static FOVEA_INLINE void resume(acc (&sum)[4], const int32_t* from) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {load(from + 4 * i), spread(0)};
  }
  static FOVEA_INLINE void resume(acc (&sum)[4], const reg (&x)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {x[i], spread(0)};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = add_high_byte(sum[i].low, sum[i].high);
  }
};

// Stores weights as two signed bytes: high = (y + 128) >> 8, low = the rest.
struct dotprod_weigher : neon_weigher {
  template <bool Octaves, int Keys>
  FOVEA_INLINE int weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p,
                         int32_t* sum, const int16_t* factors) const {
    return weigh_by<Octaves, Keys>(s, scale, reference, sum, factors,
                                   [&](int j, const int16x8_t(&y)[4]) FOVEA_LAMBDA_INLINE {
#pragma GCC unroll 2
                                     for (int i = 0; i < 2; ++i) {
                                       vst1q_s8(p + 4 * j + 64 * i, low_bytes(y[2 * i], y[2 * i + 1]));
                                       vst1q_s8(p + 4 * j + 64 * i + 16, high_bytes(y[2 * i], y[2 * i + 1]));
                                     }
                                   });
  }
  static FOVEA_INLINE int8x16_t low_bytes(int16x8_t a, int16x8_t b) {
    return vuzp1q_s8(vreinterpretq_s8_s16(a), vreinterpretq_s8_s16(b));
  }
  static FOVEA_INLINE int8x16_t high_bytes(int16x8_t a, int16x8_t b) {
    return vrshrn_high_n_s16(vrshrn_n_s16(a, 8), b, 8);
  }
};

} // namespace fovea::fixed
