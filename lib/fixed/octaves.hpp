// Options that touch single keys, for a block of 64 at a time: plain loops, which compilers vectorise for
// each ISA. The numbers are those that octaves_with gives key by key.
#pragma once
#include "fixed/rows.hpp"

namespace fovea::fixed {

// Whether scores of this row become octaves before they are weighed. A mask alone hides scores, and so does a
// slope of 0.
static inline bool in_octaves(const fixed_plan& p, const fixed_row& r) {
  if (r.scale->score_multiplier < 1 << 30)
    return true; // a flat scale does not carry a missing key's score far enough down
  return p.octaves_by_key &&
         (p.multipliers.data || p.sums.data || p.bias.data || (p.alibi.data && p.alibi.data[r.q_head]));
}

// Keys first .. first + count - 1 of a block hold all that the row sees of it.
static inline int count_of(const seen_of_block& seen) {
  return (seen.from < seen.to ? seen.to : seen.head) - seen.first;
}

__attribute__((noinline)) static void hide_unseen(const seen_of_block& seen, int32_t* s, int keys,
                                                  int32_t absent) {
  for (int j = 0; j < seen.first; ++j) s[j] = absent;
  for (int j = seen.head; j < seen.from; ++j) s[j] = absent;
  for (int j = seen.to; j < keys; ++j) s[j] = absent;
}

static inline void hide_where_zero(const uint8_t* __restrict mask, int count, int32_t absent,
                                   int32_t* __restrict s) {
  for (int i = 0; i < count; ++i) s[i] = mask[i] ? s[i] : absent;
}

__attribute__((noinline)) static void hide_masked(const key_options& o, const seen_of_block& seen, int32_t* s,
                                                  int32_t absent) {
  hide_where_zero(o.mask, count_of(seen), absent, s + seen.first);
}

static inline void take_key_sums(const int32_t* __restrict sums, int32_t zero, int count,
                                 int32_t* __restrict s) {
  for (int i = 0; i < count; ++i) s[i] = without_zero_q(s[i], zero, sums[i]);
}
// The low word of a product of 64 bits, shifted. An unsigned shift gives the same low word.
static constexpr int32_t shifted_product(int32_t a, int32_t b, int shift) {
  return static_cast<int32_t>(
      static_cast<uint32_t>(static_cast<uint64_t>(static_cast<int64_t>(a) * b) >> shift));
}
static inline void scores_to_octaves(int32_t multiplier, int shift, int count, int32_t* __restrict s) {
  for (int i = 0; i < count; ++i) s[i] = shifted_product(s[i], multiplier, shift);
}
static inline void scores_to_octaves_by_key(const int32_t* __restrict multipliers, int shift, int count,
                                            int32_t* __restrict s) {
  for (int i = 0; i < count; ++i) s[i] = shifted_product(s[i], multipliers[i], shift);
}
static inline void limit_all(int count, int32_t* __restrict t) {
  constexpr int32_t limit = fixed_octave_limit - 1;
  for (int i = 0; i < count; ++i) t[i] = t[i] < -limit ? -limit : t[i] > limit ? limit : t[i];
}

// The limited sum of two octaves. If it overflows 32 bits, both have the sign of the exact sum.
static constexpr int32_t limited_octaves(int32_t a, int32_t b) {
  constexpr int32_t limit = fixed_octave_limit - 1;
  const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  const bool leaves = ((a ^ sum) & (b ^ sum)) < 0;
  const int32_t x = leaves ? (a < 0 ? -limit : limit) : sum;
  return x < -limit ? -limit : x > limit ? limit : x;
}
static inline void add_bias(const int32_t* __restrict bias, int count, int32_t* __restrict t) {
  for (int i = 0; i < count; ++i) t[i] = bias[i] == INT32_MIN ? fixed_absent : limited_octaves(t[i], bias[i]);
}

// ALiBi, in 64 bits: a bias may take away what a slope adds. `ahead`: by how much the first key lies before
// the query's position.
template <bool Biased, class Distance>
static inline void add_slope(const int32_t* __restrict bias, int32_t slope, Distance ahead, int count,
                             int32_t* __restrict t) {
  constexpr int64_t limit = fixed_octave_limit - 1;
  for (int i = 0; i < count; ++i) {
    const Distance distance = ahead < i ? i - ahead : ahead - i;
    int64_t x = t[i] - static_cast<int64_t>(slope) * distance;
    if (Biased) x += bias[i];
    x = x < -limit ? -limit : x;
    x = x > limit ? limit : x;
    t[i] = Biased && bias[i] == INT32_MIN ? fixed_absent : static_cast<int32_t>(x);
  }
}
static inline void add_slope_of_drafts(const key_options& o, int count, int32_t* t) {
  for (int i = 0; i < count; ++i) {
    const int64_t bias = o.bias ? o.bias[i] : 0;
    t[i] = bias == INT32_MIN ? fixed_absent : limit_octaves(t[i] - o.slope * distance_of(o, i) + bias);
  }
}
template <class Distance>
static inline void add_slope(const key_options& o, int count, int32_t* t) {
  if (o.behind) return add_slope_of_drafts(o, count, t);
  const Distance ahead = static_cast<Distance>(o.distance);
  o.bias ? add_slope<true>(o.bias, o.slope, ahead, count, t)
         : add_slope<false>(o.bias, o.slope, ahead, count, t);
}

// Scores of a block become octaves in place, with all options. Keys after the last one that the row sees are
// left as they are.
__attribute__((noinline)) static void octaves_in_block(const key_options& o, const fixed_plan& p,
                                                       const fixed_row& r, const seen_of_block& seen,
                                                       int32_t* s) {
  const int count = count_of(seen);
  s += seen.first;
  if (o.sums) take_key_sums(o.sums, p.zero_q, count, s);
  if (o.multipliers)
    scores_to_octaves_by_key(o.multipliers, r.scale->score_shift, count, s);
  else
    scores_to_octaves(r.scale->score_multiplier, r.scale->score_shift, count, s);
  constexpr int64_t near = 0x7fffff00; // distances to keys of the block fit 32 bits, which registers multiply
  if (o.slope)
    -near < o.distance&& o.distance < near ? add_slope<int32_t>(o, count, s)
                                           : add_slope<int64_t>(o, count, s);
  else if (o.bias)
    add_bias(o.bias, count, s);
  else
    limit_all(count, s);
  if (o.mask) hide_where_zero(o.mask, count, fixed_absent, s);
}

} // namespace fovea::fixed
