// Softmax of rows, lanes are columns: find the largest score, weigh, divide by the sum. docs/numerics.md,
// section 9.
#pragma once
#include "f32/kernel/output.hpp"
#include "f32/kernel/row_stream.hpp"

namespace fovea::f32 {

// Scores as the modifiers of attention leave them: in base 2, hidden ones -infinity.
template <class Isa>
__attribute__((noinline)) void modify_scores_of_row(const softmax_job& job, ptrdiff_t r, scored_row& row) {
  const mask_of& mask = job.modify.mask;
  const row_bias bias{0, 0, mask.bias ? mask.bias + r * mask.query : nullptr,
                      mask.shown ? mask.shown + r * mask.query : nullptr, nullptr};
  const auto unit = f32x16<Isa>::all(job.scale * log2_e), hidden = f32x16<Isa>::all(minus_infinity);
  const int columns = row.whole + row.left,
            first = columns < 16 ? 16 - columns : 0; // lane of the rest that the row begins with
  const int vectors = row.whole / 16 + (row.left ? 1 : 0);
  for (int v = 0; v < vectors; ++v) {
    const bool last = v * 16 == row.whole;
    const auto s = f32x16<Isa>::load(last ? row.rest : row.scores + v * 16) * unit;
    const int a = last ? first : 0;
    const auto m = modified(job.modify, bias, last ? columns - 16 : v * 16, a, 16, s);
    const auto y = f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
      return Isa::if_equal(s.r[i], minus_infinity, hidden.r[i], m.r[i]);
    });
    inside(a, 16, y, hidden).store(last ? row.rest : row.out + v * 16);
  }
  row.scores = row.out;
}

// ln(total) + unit * peak, by the logarithm of attention's ending.
template <class Isa>
__attribute__((noinline)) float log_of_sum(float total, float peak, float unit) {
  using one = one_register<Isa>;
  alignas(64) float lse[Isa::lanes];
  const auto sum = one::all(total);
  fma_by(0, sum, fma_by(ln_2, log2_of<Isa>(sum), one::all(peak * unit)))
      .store(lse); // a NaN in the sum leaves a NaN
  return total == 0 ? minus_infinity : lse[0];
}

// One row: the sum of its weights, and the peak that they are relative to.
template <class Isa>
FOVEA_INLINE float softmax_row(const softmax_job& job, ptrdiff_t r, float& peak) {
  scored_row row;
  const float* in = job.in + r * job.in_stride;
  take_row(in, job.out + r * job.out_stride, job.shown, row);
  if (row.left) load_rest<Isa>(in, job.shown).store(row.rest);
  if (job.modify.any) modify_scores_of_row<Isa>(job, r, row);
  bool near;
  const weighing by = weighing_of(find_range<Isa>(row), job.modify.any ? 1 : job.scale * log2_e, near);
  const float total = near ? weigh_row<Isa, false>(row, by) : weigh_row<Isa, true>(row, by);
  divide_row<Isa>(row, total);
  peak = by.peak;
  return total;
}

template <class Isa>
void softmax_rows(const softmax_job& job) {
  const auto tell = [&](ptrdiff_t r, float total, float peak) FOVEA_LAMBDA_INLINE {
    if (job.lse) job.lse[r] = log_of_sum<Isa>(total, peak, job.modify.any ? ln_2 : job.scale);
  };
  if constexpr (Isa::lanes >= 8)
    if (streams(job)) return stream_rows<Isa>(job, tell);
  for (ptrdiff_t r = 0; r < job.rows; ++r) {
    float peak = 0;
    const float total = job.shown ? softmax_row<Isa>(job, r, peak) : 0;
    float* out = job.out + r * job.out_stride;
    for (int32_t c = job.shown; c < job.columns; ++c) out[c] = 0;
    tell(r, total, peak);
  }
}

} // namespace fovea::f32
