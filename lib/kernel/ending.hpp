// How a row ends: its sum becomes the factor of its output, a sink joins the sum, and the log-sum-exp is told. Lanes are rows here.
#pragma once
#include "kernel.hpp"
#include "kernel/exp2.hpp"

namespace fovea {

template <class Isa>
struct ending {
  f32x16<Isa> factor, lse;
};

// log2(x) of a positive float that is no denormal; absolute error 5e-8 beside the exponent.
template <class Isa>
FOVEA_INLINE f32x16<Isa> log2_of(const f32x16<Isa>& x) {
  constexpr float c[] = {1.25696182e-1f,  -2.10060403e-1f, 2.17133313e-1f,  -2.38550633e-1f, 2.87693858e-1f,
                         -3.60720158e-1f, 4.80920643e-1f,  -7.21347153e-1f, 1.44269490f};
  return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
    typename Isa::reg m, n;
    Isa::split(x.r[i], m, n);
    const auto f = Isa::sub(m, Isa::spread(1.f));
    auto p = Isa::spread(c[0]);
#pragma GCC unroll 16
    for (int k = 1; k < 9; ++k) p = Isa::fma(p, f, Isa::spread(c[k]));
    return Isa::fma(p, f, n);
  });
}

// Totals are 0 (nothing seen) or at least 2^-101.
template <class Isa>
FOVEA_INLINE f32x16<Isa> inverse_of(const f32x16<Isa>& total) {
  const auto one = Isa::spread(1.f), zero = Isa::spread(0);
  return f32x16<Isa>::each(
      [&](int i) FOVEA_LAMBDA_INLINE { return Isa::inside(total.r[i], 1e-33f, __builtin_inff(), Isa::div(one, total.r[i]), zero); });
}

// With a sink logit in each row (minus infinity: none) and the log-sum-exp.
template <class Isa>
inline ending<Isa> end_of(const f32x16<Isa>& total, const f32x16<Isa>& top, const f32x16<Isa>& sink) {
  using rows = f32x16<Isa>;
  constexpr float none = -__builtin_inff();
  const auto logit = sink * rows::all(log2_e), zero = rows::all(0), minus_inf = rows::all(none);
  const auto highest = max(nearest(logit), top), old = exp2_below(top - highest), powered = exp2_below(logit - highest);
  const auto extra = rows::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(logit.r[i], none, zero.r[i], powered.r[i]); });
  const auto sum = fma(total, old, extra);
  const auto lse = fma_by(0, sum, (highest + log2_of(sum)) * rows::all(ln_2)); // a NaN in the sum leaves a NaN
  const auto told = rows::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(sum.r[i], 0, minus_inf.r[i], lse.r[i]); });
  return {old * inverse_of(sum), told};
}

// Rows from .. to-1 of a tile end: w.inverse holds their totals and gets their factors.
template <class Isa>
inline void end_rows(const plan& p, const workspace& w, const float* top, int from, int to) {
  const modifiers& m = p.modify;
  for (int at = from & -16; at < to; at += 16) {
    const auto total = f32x16<Isa>::load(w.inverse + at);
    const int a = from - at, b = to - at;
    if (!m.sinks && !m.lse) {
      inside(a, b, inverse_of(total), total).store(w.inverse + at);
      continue;
    }
    alignas(64) float sink[16], lse[16];
    for (int i = 0; i < 16; ++i) sink[i] = m.sinks && i >= a && i < b ? m.sinks[w.heads[at + i]] : -__builtin_inff();
    const auto end = end_of(total, f32x16<Isa>::load(top + at), f32x16<Isa>::load(sink));
    inside(a, b, end.factor, total).store(w.inverse + at);
    end.lse.store(lse);
    for (int i = a < 0 ? 0 : a; i < 16 && i < b && m.lse; ++i)
      m.lse[w.heads[at + i] * static_cast<ptrdiff_t>(p.rows / p.group) + w.queries[at + i]] = lse[i];
  }
}

} // namespace fovea
