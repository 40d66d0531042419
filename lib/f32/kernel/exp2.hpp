// 2^x as the kernels need it: from scores and an even reference, without a denormal and without libm.
// docs/numerics.md, section 3.
#pragma once
#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

constexpr float log2_e = 1.44269504f;
constexpr float ln_2 = 6.93147181e-1f;
// 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits.
constexpr float magic = 12582912.f;
constexpr float power_magic = magic + 127; // then the low bits are the exponent of a float
// The lowest exponent: 2^-100 does not change a sum of 1 or more, and is far from denormal.
constexpr float deepest = -100.f;
constexpr float lowest = -3e38f;         // the reference of a row that has seen no key
constexpr float exact_limit = 4194048.f; // below it, power_magic - top is exact

template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> rounded(const floats<Isa, N>& x) {
  const auto m = floats<Isa, N>::all(magic);
  return (x + m) - m;
}
// From 2^23 on every float is an integer, and adding magic would round it: there x itself.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> if_small(const floats<Isa, N>& x, const floats<Isa, N>& integer) {
  constexpr float limit = 8388608.f;
  return floats<Isa, N>::each(
      [&](int i) FOVEA_LAMBDA_INLINE { return Isa::inside(x.r[i], -limit, limit, integer.r[i], x.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> nearest(const floats<Isa, N>& x) {
  return if_small(x, rounded(x));
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> nearest_even(const floats<Isa, N>& x) {
  const auto half = rounded(x * floats<Isa, N>::all(.5f));
  return if_small(x, half + half);
}

// (2^r - 1) / r for |r| <= 1/2.
constexpr float slope_terms[] = {1.32647273e-3f, 9.67151299e-3f, 5.55073358e-2f, 2.40222424e-1f,
                                 6.93147004e-1f};

template <class Isa>
FOVEA_INLINE typename Isa::reg exp2_slope(typename Isa::reg r, float times = 1) {
  auto p = Isa::fma(Isa::spread(times * slope_terms[0]), r, Isa::spread(times * slope_terms[1]));
  p = Isa::fma(p, r, Isa::spread(times * slope_terms[2]));
  p = Isa::fma(p, r, Isa::spread(times * slope_terms[3]));
  return Isa::fma(p, r, Isa::spread(times * slope_terms[4]));
}

// 2^(score - top) for an even top: shift = shift_of<Isa> - top, floor = top + deepest. The subtraction
// happens in the exponent, without rounding. The power of two is multiplied, so that a NaN stays one whatever
// its bits.
//
// An ISA that tells_fraction has one instruction for x - its nearest integer, which rounds halves to even. So
// t must round to even, too: its bias is even, 128 instead of 127, and the result is multiplied by 1/2. The
// other ISAs round halves to odd. Both give the same bits, as the polynomial at 1/2 is exactly twice that at
// -1/2.
template <class Isa>
constexpr float shift_of = Isa::tells_fraction ? power_magic + 1 : power_magic;

template <class Isa>
FOVEA_INLINE typename Isa::reg exp2_reg(typename Isa::reg score, typename Isa::reg shift,
                                        typename Isa::reg floor) {
  const auto x = Isa::max(score, floor);
  const auto t = Isa::add(x, shift);
  if constexpr (Isa::tells_fraction) {
    const auto r = Isa::fraction(x);
    return Isa::mul(Isa::fma(exp2_slope<Isa>(r, .5f), r, Isa::spread(.5f)), Isa::power(t));
  } else {
    const auto r = Isa::sub(x, Isa::sub(t, shift)); // exact, |r| <= 1/2
    return Isa::mul(Isa::fma(exp2_slope<Isa>(r), r, Isa::spread(1.f)), Isa::power(t));
  }
}
// The same for sixteen lanes on an ISA whose multiply-add overwrites its summand. So each product loads its
// term, sixteen times repeated, and (slope * r + 1) * 2^n is computed as slope * 2^n * r + 2^n, which rounds
// the same.
struct repeated_terms {
  float of[5][16];
  constexpr repeated_terms() : of{} {
    for (int k = 0; k < 5; ++k)
      for (float& x : of[k]) x = slope_terms[k];
  }
};
alignas(64) constexpr repeated_terms terms;

template <class Isa>
FOVEA_INLINE f32x16<Isa> exp2_in_place(const f32x16<Isa>& score, typename Isa::reg shift,
                                       typename Isa::reg floor) {
  typename Isa::reg r[4];
  f32x16<Isa> w;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto x = Isa::max(score.r[i], floor), t = Isa::add(x, shift);
    r[i] = Isa::sub(x, Isa::sub(t, shift));
    w.r[i] = Isa::power(t);
  }
  const auto c = Isa::spread(slope_terms[0]);
  const typename Isa::sixteen first = {{c, c, c, c}};
  const auto second = Isa::add_products(terms.of[1], first, r),
             third = Isa::add_products(terms.of[2], second, r);
  const auto fourth = Isa::add_products(terms.of[3], third, r),
             slope = Isa::add_products(terms.of[4], fourth, r);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const auto x = Isa::mul(slope.val[i], w.r[i]);
    Isa::add_product(w.r[i], x, r[i]);
  }
  return w;
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_from(const floats<Isa, N>& score, typename Isa::reg shift,
                                      typename Isa::reg floor) {
  if constexpr (Isa::by_lane && N == 16)
    return exp2_in_place<Isa>(score, shift, floor);
  else
    return floats<Isa, N>::each([&](int i)
                                    FOVEA_LAMBDA_INLINE { return exp2_reg<Isa>(score.r[i], shift, floor); });
}
// 2^x for x <= 0, no deeper than 2^-100: an exact power of two when x is an integer.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_below(const floats<Isa, N>& x) {
  return exp2_from(x, Isa::spread(shift_of<Isa>), Isa::spread(deepest));
}

} // namespace fovea::f32
