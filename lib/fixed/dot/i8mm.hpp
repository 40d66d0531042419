// Arm 8-bit matrix products: SMMLA, two rows by two lanes, eight deep. The two rows are two queries, or the
// low and the high byte of one row of weights. Panels of a cache are four deep: two pieces are zipped. Panels
// in scratch are made eight deep.
#pragma once
#include "fixed/arrange.hpp"
#include "fixed/dot/dotprod.hpp"
#include "fixed/dot/i8mm_tile.hpp"

namespace fovea::fixed {

struct i8mm_dot : neon_registers, dot_defaults {
  using element = int8_t;
  struct acc { // four lanes of two rows
    reg pair[2];
  };
  struct piece {
    int8x16_t pair[2];
  };
  static constexpr int group = 8, slices = 1, regs = 4, key_offset = 0;

  // A panel four deep: eight deep are two steps of it.
  static FOVEA_INLINE void load_column(const int8_t*& b, piece (&y)[4]) {
    const int8x16x4_t first = take_64(b), second = take_64(b);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int32x4_t x = vreinterpretq_s32_s8(first.val[i]), z = vreinterpretq_s32_s8(second.val[i]);
      y[i] = {{vreinterpretq_s8_s32(vzip1q_s32(x, z)), vreinterpretq_s8_s32(vzip2q_s32(x, z))}};
    }
  }
  static FOVEA_INLINE void load_column(const eight_deep*& b, piece (&y)[4]) {
    const int8x16x4_t low = take_64(b), high = take_64(b);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
      y[i] = {{low.val[2 * i], low.val[2 * i + 1]}}, y[2 + i] = {{high.val[2 * i], high.val[2 * i + 1]}};
  }
};

// In each 128 bytes, two groups of four deep become one of eight.
static inline void pair_groups(int8_t* to, ptrdiff_t count) {
  const int8_t* from = to;
  for (int8_t* const end = to + count; to != end; to += 128) {
    const int8x16x4_t first = i8mm_dot::take_64(from), second = i8mm_dot::take_64(from);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int32x4_t x = vreinterpretq_s32_s8(first.val[i]), z = vreinterpretq_s32_s8(second.val[i]);
      i8mm_dot::store(reinterpret_cast<int32_t*>(to + 32 * i), vzip1q_s32(x, z));
      i8mm_dot::store(reinterpret_cast<int32_t*>(to + 32 * i + 16), vzip2q_s32(x, z));
    }
  }
}

static void pack_key_pairs(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                           int32_t dim) {
  pack_fixed_keys(panels, at, rows, stride, count, dim);
  pair_groups(panels, static_cast<ptrdiff_t>(up_to(at + count, 16)) * up_to(dim, 16));
}
static void pack_value_pairs(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                             int32_t dim) {
  pack_fixed_values(panels, at, rows, stride, count, dim);
  for (int32_t c = 0; c < dim; c += 16, panels += 16 * fixed_block)
    pair_groups(panels, 16 * up_to(at + count, 16));
}

template <int PieceStep> // 16 in panels of a cache, 32 in panels that are eight deep
struct i8mm_keys : i8mm_dot {
  static constexpr int rows = 2, piece_step = PieceStep;
  static constexpr int deep = 8;
  using chunk = int8x16_t;
  static constexpr bool scores_panels = true;
  static FOVEA_INLINE void put_four_queries(const int8_t* a, const int8_t* b, const int8_t* c,
                                            const int8_t* d, int depth, int8_t* to) {
    const auto load_two = [](const int8_t* p) { return vreinterpretq_s64_s8(vld1q_s8(p)); };
    for (int i = 0; i < depth; i += 16, to += 64) {
      const int64x2x4_t four = {{load_two(a + i), load_two(b + i), load_two(c + i), load_two(d + i)}};
      vst4q_s64(reinterpret_cast<int64_t*>(to), four);
    }
  }
  static FOVEA_INLINE void store_starts(const int32_t (&of)[4], int32_t* to) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      store(to + 4 * i, vcombine_s32(vdup_n_s32(of[0]), vdup_n_s32(of[1])));
      store(to + 16 + 4 * i, vcombine_s32(vdup_n_s32(of[2]), vdup_n_s32(of[3])));
    }
  }
  template <class Byte>
  static FOVEA_INLINE void score_panel(const int8_t* q, const Byte*& keys, int depth, const int32_t* starts,
                                       int32_t* s, ptrdiff_t step) {
    multiply_two_pairs<false, PieceStep == 16>(q, keys, 0, depth / 64, starts, 64, s, 4 * step);
  }
  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_s8(a); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    sum.pair[0] = vmmlaq_s32(sum.pair[0], x, y.pair[0]);
    sum.pair[1] = vmmlaq_s32(sum.pair[1], x, y.pair[1]);
  }
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
  // Scratch holds eight low bytes and eight high bytes of each of two rows, then the next of both.
  static constexpr int rows = 1, deep = 8, piece_step = PieceStep, planes = 2, block_step = 128,
                       rows_of_weights = 2;
  static constexpr bool resumes = true, adds_blocks = true;
  using chunk = uint8x16_t;
  static FOVEA_INLINE chunk take(const int8_t* a) { return vld1q_u8(reinterpret_cast<const uint8_t*>(a)); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    sum.pair[0] = vusmmlaq_s32(sum.pair[0], x, y.pair[0]);
    sum.pair[1] = vusmmlaq_s32(sum.pair[1], x, y.pair[1]);
  }
  template <class Byte>
  static FOVEA_INLINE void add_blocks(const int8_t* weights, const Byte* values, ptrdiff_t apart, int blocks,
                                      const uint8_t* rise, int32_t* o, ptrdiff_t width) {
    multiply_two_pairs<true, PieceStep == 16>(weights, values, apart - 16 * fixed_block, blocks, o, 4 * width,
                                              o, 4 * width, rise);
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[4], Start) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) sum[i] = {{spread(0), spread(0)}};
  }
  static FOVEA_INLINE void resume(acc (&sum)[4], const int32_t* from) {
    const int32x2_t none = vdup_n_s32(0);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, from += 4)
      sum[i] = {{vcombine_s32(vld1_s32(from), none), vcombine_s32(vld1_s32(from + 2), none)}};
  }
  static FOVEA_INLINE void resume(acc (&sum)[4], const reg (&x)[4]) {
    const int32x2_t none = vdup_n_s32(0);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      sum[i] = {{vcombine_s32(vget_low_s32(x[i]), none), vcombine_s32(vget_high_s32(x[i]), none)}};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[4], int, reg (&out)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int64x2_t a = vreinterpretq_s64_s32(sum[i].pair[0]), b = vreinterpretq_s64_s32(sum[i].pair[1]);
      out[i] = add_high_byte(vreinterpretq_s32_s64(vtrn1q_s64(a, b)),
                             vreinterpretq_s32_s64(vtrn2q_s64(a, b)));
    }
  }
};

// Weights as pairs of eight unsigned bytes, low and high.
struct i8mm_weigher : neon_weigher {
  uint8x16_t order = {0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15};
  FOVEA_INLINE i8mm_weigher() { asm("" : "+w"(order)); }

  template <bool Octaves, int Keys>
  FOVEA_INLINE int weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int8_t* p,
                         int32_t* sum, const int16_t* factors) const {
    return weigh_by<Octaves, Keys>(
        s, scale, reference, sum, factors, [&](int j, const int16x8_t(&y)[4]) FOVEA_LAMBDA_INLINE {
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i)
            vst1q_s8(p + 4 * j + 32 * i, vqtbl1q_s8(vreinterpretq_s8_s16(y[i]), order));
        });
  }
};

} // namespace fovea::fixed
