// How a row ends: its sum becomes the factor of its output, a sink joins the sum, and the log-sum-exp is told. Lanes are rows here.
#pragma once
#include "kernel/exp2.hpp"

namespace fovea {

template <class Isa>
struct ending {
  f32x16<Isa> factor, lse;
};

// log2(x) of a positive float that is no denormal; absolute error 5e-8 beside the exponent.
template <class Isa>
FOVEA_INLINE f32x16<Isa> log2_of(const f32x16<Isa>& x) {
  constexpr float c[] = {1.25696182e-1f, -2.10060403e-1f, 2.17133313e-1f, -2.38550633e-1f, 2.87693858e-1f,
                         -3.60720158e-1f, 4.80920643e-1f, -7.21347153e-1f, 1.44269490f};
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

// Sixteen rows without a sink.
template <class Isa>
FOVEA_INLINE f32x16<Isa> inverse_of(const f32x16<Isa>& total) {
  const auto one = Isa::spread(1.f), zero = Isa::spread(0);
  return f32x16<Isa>::each(
      [&](int i) FOVEA_LAMBDA_INLINE { return Isa::inside(total.r[i], 1e-45f, __builtin_inff(), Isa::div(one, total.r[i]), zero); });
}

// The same with a sink logit in each row (minus infinity: none) and the log-sum-exp.
template <class Isa>
inline ending<Isa> end_rows(const f32x16<Isa>& total, const f32x16<Isa>& top, const f32x16<Isa>& sink) {
  using rows = f32x16<Isa>;
  const auto logit = sink * rows::all(log2_e), zero = rows::all(0), minus_inf = rows::all(-__builtin_inff());
  const auto highest = max(nearest(logit), top), old = exp2_below(top - highest), powered = exp2_below(logit - highest);
  const auto extra = rows::each(
      [&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(logit.r[i], -__builtin_inff(), zero.r[i], powered.r[i]); });
  const auto sum = fma(total, old, extra);
  const auto lse = fma_by(0, sum, (highest + log2_of(sum)) * rows::all(6.93147181e-1f));  // a NaN or infinite sum leaves NaN
  const auto told = rows::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(sum.r[i], 0, minus_inf.r[i], lse.r[i]); });
  return {old * inverse_of(sum), told};
}

}  // namespace fovea
