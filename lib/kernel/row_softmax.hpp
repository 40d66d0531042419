// Softmax of rows, lanes are columns: find the largest score, weigh, divide by the sum. docs/numerics.md, section 9.
#pragma once
#include "kernel/ending.hpp"
#include "kernel/modify.hpp"
#include "kernel/rows.hpp"

namespace fovea {

// 2^x for -100 <= x <= 0. A NaN stays one whatever its bits: the power of two is multiplied, not added to the exponent.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_near(const floats<Isa, N>& x) {
  using vector = floats<Isa, N>;
  const auto shift = vector::all(power_magic);
  const auto t = x + shift, r = x - (t - shift);
  const auto slope = vector::each([&](int i) FOVEA_LAMBDA_INLINE { return exp2_slope<Isa>(r.r[i]); });
  const auto power = vector::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::power(t.r[i]); });
  return fma(slope, r, vector::all(1)) * power;
}

// A row whose scores stand in the input, or in the output once they are modified. Its rest is kept aside: the output may be the input.
struct scored_row {
  const float* scores;
  float* out;
  int whole, left; // columns in whole vectors, and behind them
  alignas(64) float rest[16];
};

// Scores as the modifiers of attention leave them: in base 2, hidden ones -infinity.
template <class Isa, class Step>
__attribute__((noinline)) void modify_row(const softmax_job& job, ptrdiff_t r, scored_row& row) {
  const mask_of& mask = job.modify.mask;
  const row_bias bias{0, 0, mask.bias ? mask.bias + r * mask.query : nullptr, mask.shown ? mask.shown + r * mask.query : nullptr};
  const auto unit = f32x16<Isa>::all(job.scale * log2_e), hidden = f32x16<Isa>::all(minus_infinity);
  const int columns = row.whole + row.left, first = columns < 16 ? 16 - columns : 0; // lane of the rest that the row begins with
  const int vectors = row.whole / 16 + (row.left ? 1 : 0);
  for (int v = 0; v < vectors; ++v) {
    const bool last = v * 16 == row.whole;
    const auto s = f32x16<Isa>::load(last ? row.rest : row.scores + v * 16) * unit;
    const int a = last ? first : 0;
    const auto m = modified<Step>(job.modify, bias, last ? columns - 16 : v * 16, a, 16, s);
    const auto y = f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(s.r[i], minus_infinity, hidden.r[i], m.r[i]); });
    inside(a, 16, y, hidden).store(last ? row.rest : row.out + v * 16);
  }
  row.scores = row.out;
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
      const auto a = vector::load(s + j), b = vector::load(s + j + 16), c = vector::load(s + j + 32), d = vector::load(s + j + 48);
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

// What turns a score into its weight 2^((score - peak) * factor); `hidden` is the score of columns that are not seen.
struct weighing {
  float peak, factor, hidden;
};
template <bool Careful, class Isa, int N>
FOVEA_INLINE floats<Isa, N> weights_of(const floats<Isa, N>& scores, const weighing& by) {
  using vector = floats<Isa, N>;
  const auto x = (scores - vector::all(by.peak)) * vector::all(by.factor);
  if constexpr (!Careful) return exp2_near(x);
  const auto w = exp2_near(max(x, vector::all(deepest)));
  return vector::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(scores.r[i], by.hidden, Isa::spread(0), w.r[i]); });
}

// Weights in place of scores; their sum: blocks of 256 columns, then the rest. Careful: some are far below the peak, or hidden.
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
      for (int i = 0; i < piece::regs; ++i) sum.r[at + i] = Isa::add(sum.r[at + i], w.r[i]); // at is 0 unless registers are lanes
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

template <class Isa>
FOVEA_INLINE void divide_row(const scored_row& row, float total) {
  const auto inverse = f32x16<Isa>::all(total == 0 ? 0 : 1 / total); // a NaN stays
  float* out = row.out;
  for (int j = 0, whole = row.whole; j < whole; j += 16) (f32x16<Isa>::load(out + j) * inverse).store(out + j);
  if (row.left) store_rest(out, row.whole + row.left, f32x16<Isa>::load(row.rest) * inverse);
}

// ln(total) + unit * peak, by the logarithm of attention's ending.
template <class Isa>
__attribute__((noinline)) float log_of_sum(float total, float peak, float unit) {
  using one = one_register<Isa>;
  alignas(64) float lse[Isa::lanes];
  const auto sum = one::all(total);
  fma_by(0, sum, fma_by(ln_2, log2_of<Isa>(sum), one::all(peak * unit))).store(lse); // a NaN in the sum leaves a NaN
  return total == 0 ? minus_infinity : lse[0];
}

// One row: the sum of its weights, and the peak that they are relative to.
template <class Isa>
FOVEA_INLINE float softmax_row(const softmax_job& job, ptrdiff_t r, float& peak) {
  const float* in = job.in + r * job.in_stride;
  scored_row row{in, job.out + r * job.out_stride, job.shown & -16, job.shown & 15, {}};
  if (row.left) load_rest<Isa>(in, job.shown).store(row.rest);
  const int step_kind = job.modify.step;
  if (step_kind == 2)
    modify_row<Isa, general_step>(job, r, row);
  else if (step_kind)
    modify_row<Isa, biased_step>(job, r, row);
  const score_range range = find_range<Isa>(row);
  const bool down = !step_kind && job.scale < 0;
  peak = down ? range.low : range.high;
  const weighing by{peak, step_kind ? 1 : job.scale * log2_e, down ? -minus_infinity : minus_infinity};
  const bool near = ((down ? range.high : range.low) - peak) * by.factor >= deepest;
  const float total = near ? weigh_row<Isa, false>(row, by) : weigh_row<Isa, true>(row, by);
  divide_row<Isa>(row, total);
  return total;
}

template <class Isa>
void softmax_rows(const softmax_job& job) {
  for (ptrdiff_t r = 0; r < job.rows; ++r) {
    float peak = 0;
    const float total = job.shown ? softmax_row<Isa>(job, r, peak) : 0;
    float* out = job.out + r * job.out_stride;
    for (int32_t c = job.shown; c < job.columns; ++c) out[c] = 0;
    if (job.lse) job.lse[r] = log_of_sum<Isa>(total, peak, job.modify.step ? ln_2 : job.scale);
  }
}

} // namespace fovea
