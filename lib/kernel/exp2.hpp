// 2^x as the kernels need it: from scores and an integer reference, without a denormal and without libm. docs/numerics.md, section 3.
#pragma once
#include "kernel/floats.hpp"

namespace fovea {

constexpr float log2_e = 1.44269504f;
constexpr float ln_2 = 6.93147181e-1f;
constexpr float magic = 12582912.f;        // 1.5 * 2^23: adding it rounds to an integer, which then stands in the low bits
constexpr float power_magic = magic + 127; // then the low bits are the exponent of a float
constexpr float deepest = -100.f;          // exponents stop here: 2^-100 cannot be seen beside 1, and is far from denormal
constexpr float lowest = -3e38f;           // the reference of a row that has seen no key
constexpr float exact_limit = 4194048.f;   // below it, power_magic - top is exact

// The reference for a largest score x: an integer at most 1 away. Floats from 2^23 on are integers already, and magic would round them.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> nearest(const floats<Isa, N>& x) {
  constexpr float whole = 8388608.f;
  const auto m = floats<Isa, N>::all(magic), rounded = (x + m) - m;
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::inside(x.r[i], -whole, whole, rounded.r[i], x.r[i]); });
}

// (2^r - 1) / r for |r| <= 1/2.
template <class Isa>
FOVEA_INLINE typename Isa::reg exp2_slope(typename Isa::reg r) {
  auto p = Isa::fma(Isa::spread(1.32647273e-3f), r, Isa::spread(9.67151299e-3f));
  p = Isa::fma(p, r, Isa::spread(5.55073358e-2f));
  p = Isa::fma(p, r, Isa::spread(2.40222424e-1f));
  return Isa::fma(p, r, Isa::spread(6.93147004e-1f));
}

// 2^(score - top) for an integer top: shift = power_magic - top, floor = top + deepest. The subtraction happens in the exponent, without
// rounding. The power of two is multiplied, so that a NaN stays one whatever its bits.
template <class Isa>
FOVEA_INLINE typename Isa::reg exp2_reg(typename Isa::reg score, typename Isa::reg shift, typename Isa::reg floor) {
  const auto x = Isa::max(score, floor);
  const auto t = Isa::add(x, shift);
  const auto r = Isa::sub(x, Isa::sub(t, shift)); // exact, |r| <= 1/2
  return Isa::mul(Isa::fma(exp2_slope<Isa>(r), r, Isa::spread(1.f)), Isa::power(t));
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_from(const floats<Isa, N>& score, const floats<Isa, N>& shift, const floats<Isa, N>& floor) {
  return floats<Isa, N>::each([&](int i) { return exp2_reg<Isa>(score.r[i], shift.r[i], floor.r[i]); });
}
// 2^x for x <= 0, no deeper than 2^-100: an exact power of two when x is an integer.
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> exp2_below(const floats<Isa, N>& x) {
  return exp2_from(x, floats<Isa, N>::all(power_magic), floats<Isa, N>::all(deepest));
}

} // namespace fovea
