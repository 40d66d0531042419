// Arm NEON without dot products. Scores: two products of bytes are added in 16 bits before they are added
// in 32. Values: SMLAL by lane.
#pragma once
#include "fixed/dot/neon_weights.hpp"

namespace fovea::fixed {

// Eight deep: k1 q1 - ~k2 q2 = k1 q1 + k2 q2 + q2 fits 16 bits for all bytes. The start of the sums subtracts
// q2, the second four of each eight elements of q.
template <int Slices>
struct neon_keys : neon_registers, dot_defaults {
  struct acc { // four keys, two sums each
    reg low, high;
  };
  struct piece { // four keys, four deep, twice
    int8x16_t first, complement;
  };
  static constexpr int rows = 1, group = 8, deep = 8, slices = Slices, regs = 4 / Slices, piece_step = 16,
                       key_offset = -1;

  static FOVEA_INLINE int32_t sum(const int8_t* q, int dim) {
    const int8x16_t second = vreinterpretq_s8_u64(vdupq_n_u64(0xffffffff00000000));
    reg sums = spread(0);
    int32_t rest = 0;
    int c = 0;
    for (; c + 16 <= dim; c += 16) sums = vpadalq_s16(sums, vpaddlq_s8(vandq_s8(vld1q_s8(q + c), second)));
    for (; c < dim; ++c) rest += c & 4 ? q[c] : 0;
    return static_cast<int32_t>(total(sums)) + rest;
  }
  // Two steps of four deep stand 64 bytes apart.
  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[regs]) {
#pragma GCC unroll 4
    for (int i = 0; i < regs; ++i) y[i] = {vld1q_s8(b + 16 * i), vmvnq_s8(vld1q_s8(b + 64 + 16 * i))};
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[regs], Start start) {
    const reg x = in_pairs(start(0));
#pragma GCC unroll 4
    for (int i = 0; i < regs; ++i) sum[i] = {x, x};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[regs], int, reg (&out)[regs]) {
#pragma GCC unroll 4
    for (int i = 0; i < regs; ++i) out[i] = pair_sums(sum[i].low, sum[i].high);
  }

  // A chunk of q repeats four elements, then the next four.
  static constexpr bool puts_queries = true;
  static constexpr int place(int row) { return row * deep; }
#if defined(__aarch64__)
  using element = int32_t; // stands for one byte
  struct chunk {
    int8x16_t first, second;
  };
  static FOVEA_INLINE void put(const int8_t* q, int32_t* to) {
    const int32x2_t x = vreinterpret_s32_s8(vld1_s8(q));
    vst1q_s32(to, vdupq_lane_s32(x, 0)), vst1q_s32(to + 4, vdupq_lane_s32(x, 1));
  }
  // x 0 x 0.
  static FOVEA_INLINE reg in_pairs(int32_t x) {
    return vreinterpretq_s32_u64(vdupq_n_u64(static_cast<uint32_t>(x)));
  }
  static FOVEA_INLINE chunk take(const int32_t* a) {
    return {vreinterpretq_s8_s32(vld1q_s32(a)), vreinterpretq_s8_s32(vld1q_s32(a + 4))};
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, const chunk& x) {
    const int16x8_t low = vmull_s8(vget_low_s8(y.first), vget_low_s8(x.first)),
                    high = vmull_high_s8(y.first, x.first);
    sum.low = vpadalq_s16(sum.low, vmlsl_s8(low, vget_low_s8(y.complement), vget_low_s8(x.second)));
    sum.high = vpadalq_s16(sum.high, vmlsl_high_s8(high, y.complement, x.second));
  }
#else
  using element = int16_t; // stands for one byte
  struct chunk {
    int8x8_t first, second;
  };
  static FOVEA_INLINE void put(const int8_t* q, int16_t* to) {
    const int32x2_t x = vreinterpret_s32_s8(vld1_s8(q));
    vst1_s16(to, vreinterpret_s16_s32(vdup_lane_s32(x, 0)));
    vst1_s16(to + 4, vreinterpret_s16_s32(vdup_lane_s32(x, 1)));
  }
  static FOVEA_INLINE reg in_pairs(int32_t x) {
    return vandq_s32(spread(x), vreinterpretq_s32_u64(vdupq_n_u64(0xffffffff)));
  }
  static FOVEA_INLINE chunk take(const int16_t* a) {
    const int8x16_t x = vreinterpretq_s8_s16(vld1q_s16(a));
    return {vget_low_s8(x), vget_high_s8(x)};
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, const chunk& x) {
    const int16x8_t low = vmull_s8(vget_low_s8(y.first), x.first),
                    high = vmull_s8(vget_high_s8(y.first), x.first);
    sum.low = vpadalq_s16(sum.low, vmlsl_s8(low, vget_low_s8(y.complement), x.second));
    sum.high = vpadalq_s16(sum.high, vmlsl_s8(high, vget_high_s8(y.complement), x.second));
  }
#endif
};

// The load separates the four keys of a group: a register holds one key.
template <int Slices>
struct neon_values : neon_registers, dot_defaults {
  using element = int16_t;
  struct acc { // eight lanes
    reg low, high;
  };
  struct piece {
    int16x8_t key[4];
  };
  static constexpr int rows = 1, group = 4, slices = Slices, regs = 2 / Slices, piece_step = 32, planes = 1,
                       block_step = 64;

  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[regs], Start) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = {spread(0), spread(0)};
  }
  static constexpr bool resumes = true;
  static FOVEA_INLINE void resume(acc (&sum)[regs], const int32_t* from) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i, from += 8) sum[i] = {load(from), load(from + 4)};
  }
  static FOVEA_INLINE void resume(acc (&sum)[regs], const reg (&x)[2 * regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = {x[2 * i], x[2 * i + 1]};
  }
  static FOVEA_INLINE void fold(const acc (&sum)[regs], int, reg (&out)[2 * regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) out[2 * i] = sum[i].low, out[2 * i + 1] = sum[i].high;
  }
  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[1]) {
    const int8x8x4_t x = vld4_s8(b);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) y[0].key[i] = vmovl_s8(x.val[i]);
  }

#if defined(__aarch64__)
  using chunk = int16x8_t;
  static constexpr int deep = 8;
  static FOVEA_INLINE chunk take(const int16_t* a) { return vld1q_s16(a); }
  static FOVEA_INLINE void load_column(const int8_t*& b, piece (&y)[2]) {
    const int8x16x4_t x = vld4q_s8(b);
    move(b, 64);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      y[0].key[i] = vmovl_s8(vget_low_s8(x.val[i])), y[1].key[i] = vmovl_high_s8(x.val[i]);
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    add_key<Step, 0>(sum, y, x);
    add_key<Step, 1>(sum, y, x);
    add_key<Step, 2>(sum, y, x);
    add_key<Step, 3>(sum, y, x);
  }
  template <int Step, int Key>
  static FOVEA_INLINE void add_key(acc& sum, const piece& y, chunk x) {
    sum.low = vmlal_laneq_s16(sum.low, vget_low_s16(y.key[Key]), x, 4 * Step + Key);
    sum.high = vmlal_high_laneq_s16(sum.high, y.key[Key], x, 4 * Step + Key);
  }
#else
  using chunk = int16x4_t;
  static constexpr int deep = 4;
  static FOVEA_INLINE chunk take(const int16_t* a) { return vld1_s16(a); }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, const piece& y, chunk x) {
    add_key<0>(sum, y, x), add_key<1>(sum, y, x), add_key<2>(sum, y, x), add_key<3>(sum, y, x);
  }
  template <int Key>
  static FOVEA_INLINE void add_key(acc& sum, const piece& y, chunk x) {
    sum.low = vmlal_lane_s16(sum.low, vget_low_s16(y.key[Key]), x, Key);
    sum.high = vmlal_lane_s16(sum.high, vget_high_s16(y.key[Key]), x, Key);
  }
#endif
};

struct neon_word_weigher : neon_weigher {
  template <bool Octaves, int Keys>
  FOVEA_INLINE int weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int16_t* p,
                         int32_t* sum, const int16_t* factors) const {
    return weigh_by<Octaves, Keys>(s, scale, reference, sum, factors,
                                   [&](int j, const int16x8_t(&y)[4]) FOVEA_LAMBDA_INLINE {
#pragma GCC unroll 4
                                     for (int i = 0; i < 4; ++i) vst1q_s16(p + j + 8 * i, y[i]);
                                   });
  }
};

} // namespace fovea::fixed
