// One row of softmax, step by step: its largest score, its weights, the division by their sum.
// docs/numerics.md, section 9.
#pragma once
#include "f32/kernel/modify.hpp"
#include "f32/kernel/rows.hpp"

namespace fovea::f32 {

// 2^x for -100 <= x <= 0. A NaN stays one whatever its bits: the power of two is multiplied, not added to the
// exponent.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_near(const floats<Isa, N>& x, const floats<Isa, N>& shift) {
  using vector = floats<Isa, N>;
  const auto t = x + shift, r = x - (t - shift);
  const auto slope = vector::each([&](int i) FOVEA_LAMBDA_INLINE { return exp2_slope<Isa>(r.r[i]); });
  const auto power = vector::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::power(t.r[i]); });
  return fma(slope, r, vector::all(1)) * power;
}

// A row whose scores stand in the input, or in the output once they are modified. Its rest is kept aside: the
// output may be the input.
struct scored_row {
  const float* scores;
  int whole, left; // columns in whole vectors, and behind them
  float* out;      // not beside `scores`: gcc would make a vector of both, and addresses would wait for it
  alignas(64) float rest[16];
};
FOVEA_INLINE void take_row(const float* in, float* out, int columns, scored_row& row) {
  row.scores = in;
  row.out = out;
  row.whole = columns & -16;
  row.left = columns & 15;
}

struct score_range {
  float high, low;
};
template <class Isa>
FOVEA_INLINE score_range find_range(const scored_row& row) {
  using vector = f32x16<Isa>;
  const float* s = row.scores;
  auto high = vector::load(row.left ? row.rest : s), low = high;
  int j = 0;
  if constexpr (Isa::lanes > 1) // the chain of one vector after the other would take longer than reading them
    for (; j + 64 <= row.whole; j += 64) {
      const auto a = vector::load(s + j), b = vector::load(s + j + 16), c = vector::load(s + j + 32),
                 d = vector::load(s + j + 48);
      high = max(max(max(a, b), max(c, d)), high);
      low = min(min(min(a, b), min(c, d)), low);
    }
  for (; j < row.whole; j += 16) {
    const auto x = vector::load(s + j);
    high = max(x, high);
    low = min(x, low);
  }
  return {largest(high), smallest(low)};
}

// What turns a score into its weight 2^((score - peak) * factor); `hidden` is the score of columns that are
// not seen.
struct weighing {
  float peak, factor, hidden;
  float shift; // power_magic: a constant that compilers see takes two registers, one for each sign
};
// The peak has the largest product of score and factor. Near: no weight is floored, and no column is hidden.
// The product of a hidden column is -infinity. A factor of 0 would make it NaN.
FOVEA_INLINE weighing weighing_of(const score_range& range, float factor, bool& near) {
  const bool down = factor < 0;
  const float peak = down ? range.low : range.high, deep = down ? range.high : range.low;
  near = (deep - peak) * factor >= deepest;
  const float hidden = factor == 0 ? __builtin_nanf("") : down ? -minus_infinity : minus_infinity;
  return {peak, factor, hidden, power_magic};
}

template <bool Careful, class Isa, int N>
FOVEA_INLINE floats<Isa, N> weights_of(const floats<Isa, N>& scores, const weighing& by) {
  using vector = floats<Isa, N>;
  const auto x = (scores - vector::all(by.peak)) * vector::all(by.factor), shift = vector::all(by.shift);
  if constexpr (!Careful) return exp2_near(x, shift);
  const auto w = exp2_near(max(x, vector::all(deepest)), shift);
  return vector::each([&](int i) FOVEA_LAMBDA_INLINE {
    return Isa::if_equal(scores.r[i], by.hidden, Isa::spread(0), w.r[i]);
  });
}

// Weights in place of scores; their sum: blocks of 256 columns, then the rest. Careful: some are far below
// the peak, or hidden.
template <class Isa, bool Careful>
__attribute__((noinline)) float weigh_row(scored_row& row, const weighing& given) {
  using vector = f32x16<Isa>;
  const weighing by = given; // copies, which no store can change
  const float* s = row.scores;
  float* out = row.out;
  const int whole = row.whole, left = row.left;
  constexpr int at_once = Isa::lanes > 1 ? 16 : 1; // plain floats stay in registers one by one
  using piece = floats<Isa, at_once>;
  const auto weigh = [&](const float* from, float* to, vector& sum) FOVEA_LAMBDA_INLINE {
    for (int at = 0; at < 16; at += at_once) {
      const auto w = weights_of<Careful>(piece::load(from + at), by);
      w.store(to + at);
#pragma GCC unroll 8
      for (int i = 0; i < piece::regs; ++i)
        sum.r[at + i] = Isa::add(sum.r[at + i], w.r[i]); // at is 0 unless registers are lanes
    }
  };
  const auto zero = vector::all(0);
  auto sum = zero;
  for (int block = 0; block < whole; block += block_keys) {
    auto of_block = zero;
    const int end = whole - block < block_keys ? whole : block + block_keys;
    for (int j = block; j < end; j += 16) weigh(s + j, out + j, of_block);
    sum = sum + of_block;
  }
  if (left) {
    auto of_rest = zero;
    weigh(row.rest, row.rest, of_rest);
    sum = sum + inside(16 - left, 16, of_rest, zero);
  }
  return sum_tree(sum);
}

FOVEA_INLINE float inverse_of_sum(float total) { return total == 0 ? 0 : 1 / total; } // a NaN stays

template <class Isa>
FOVEA_INLINE void divide_row(const scored_row& row, float total) {
  const auto inverse = f32x16<Isa>::all(inverse_of_sum(total));
  float* out = row.out;
  for (int j = 0, whole = row.whole; j < whole; j += 16)
    (f32x16<Isa>::load(out + j) * inverse).store(out + j);
  if (row.left) store_rest(out, row.whole + row.left, f32x16<Isa>::load(row.rest) * inverse);
}

} // namespace fovea::f32
