// How a row ends: its sum becomes the factor of its output, a sink joins the sum, and the log-sum-exp is
// written. Lanes are rows here.
#pragma once
#include "f32/kernel.hpp"
#include "f32/kernel/exp2.hpp"

namespace fovea::f32 {

template <class Isa>
struct ending {
  one_register<Isa> factor, lse;
};

// Sums by lanes of rows that end become totals, in one fixed tree each.
template <class Isa>
FOVEA_INLINE void total_rows(const float* sums, int from_row, int to_row, float* totals) {
  for (int from = from_row; from < to_row; from += Isa::lanes) {
    const int count = to_row - from < Isa::lanes ? to_row - from : Isa::lanes;
    if constexpr (Isa::joins_rows)
      if (count == Isa::lanes) {
        sums_of_rows<Isa>(sums + from * 16).store(totals + from);
        continue;
      }
    for (int r = from; r < from + count; ++r) totals[r] = sum_tree(f32x16<Isa>::load(sums + r * 16));
  }
}

// log2(x) of a positive float that is no denormal; absolute error 5e-8 beside the exponent.
template <class Isa>
FOVEA_INLINE one_register<Isa> log2_of(const one_register<Isa>& x) {
  constexpr float c[] = {1.25696182e-1f,  -2.10060403e-1f, 2.17133313e-1f,  -2.38550633e-1f, 2.87693858e-1f,
                         -3.60720158e-1f, 4.80920643e-1f,  -7.21347153e-1f, 1.44269490f};
  typename Isa::reg m, n;
  Isa::split(x.r[0], m, n);
  const auto f = Isa::sub(m, Isa::spread(1.f));
  auto p = Isa::spread(c[0]);
#pragma GCC unroll 16
  for (int k = 1; k < 9; ++k) p = Isa::fma(p, f, Isa::spread(c[k]));
  return {{Isa::fma(p, f, n)}};
}

// Totals are 0 (nothing seen) or at least 2^-101.
template <class Isa>
FOVEA_INLINE one_register<Isa> inverse_of(const one_register<Isa>& total) {
  const auto inverse = Isa::div(Isa::spread(1.f), total.r[0]);
  return {{Isa::inside(total.r[0], 1e-33f, __builtin_inff(), inverse, Isa::spread(0))}};
}

template <class Isa>
FOVEA_INLINE one_register<Isa> if_equal(const one_register<Isa>& x, float value, float then,
                                        const one_register<Isa>& otherwise) {
  return {{Isa::if_equal(x.r[0], value, Isa::spread(then), otherwise.r[0])}};
}

// With a sink logit in each row (minus infinity: none) and the log-sum-exp.
template <class Isa>
inline ending<Isa> end_of(const one_register<Isa>& total, const one_register<Isa>& top,
                          const one_register<Isa>& sink) {
  using rows = one_register<Isa>;
  constexpr float none = -__builtin_inff();
  const auto logit = sink * rows::all(log2_e), highest = max(nearest(logit), top),
             old = exp2_below(top - highest);
  const auto sum = fma(total, old, if_equal<Isa>(logit, none, 0, exp2_below(logit - highest)));
  const auto lse = fma_by(0, sum,
                          (highest + log2_of<Isa>(sum)) * rows::all(ln_2)); // a NaN in the sum leaves a NaN
  return {old * inverse_of<Isa>(sum), if_equal<Isa>(sum, 0, none, lse)};
}

// Rows from .. to-1 of a tile end: their totals become the factors of their output. `top` is what their
// weights are relative to.
template <class Isa>
__attribute__((noinline)) void end_rows(const tile_job& job, const float* top, int from, int to) {
  constexpr int lanes = Isa::lanes;
  using rows = one_register<Isa>;
  const plan& p = *job.p;
  const workspace& w = *job.w;
  const modifiers& m = p.modify;
  for (int at = from & -lanes; at < to; at += lanes) {
    const auto total = rows::load(w.total + at), before = rows::load(w.factor + at);
    const int a = from > at ? from - at : 0, b = to - at < lanes ? to - at : lanes;
    if (!m.sinks && !m.lse) {
      inside(a, b, inverse_of<Isa>(total), before).store(w.factor + at);
      continue;
    }
    float sink[lanes], lse[lanes];
    for (int i = 0; i < lanes; ++i)
      sink[i] = m.sinks && i >= a && i < b ? m.sinks[place_of(job, at + i).head] : -__builtin_inff();
    const auto end = end_of<Isa>(total, rows::load(top + at), rows::load(sink));
    inside(a, b, end.factor, before).store(w.factor + at);
    end.lse.store(lse);
    for (int i = a; i < b && m.lse; ++i) {
      const row_place place = place_of(job, at + i);
      m.lse[place.head * p.queries + place.query] = lse[i];
    }
  }
}

} // namespace fovea::f32
