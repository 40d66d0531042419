// ReLU, SiLU and both forms of GELU, without libm: each takes a register and returns one, on every ISA with
// the same bits. docs/numerics.md, section 10, has the formulas and their error bounds.
//
// A NaN stays NaN. Of infinity they return infinity, of -infinity 0, and 0 already where the true result is
// below 2e-35.
#pragma once
#include "f32/kernel/exp2.hpp"

namespace fovea::f32 {

// e^s for -87 <= s <= 0.
template <class Isa>
FOVEA_INLINE typename Isa::reg exp_below(typename Isa::reg s) {
  const auto factor = Isa::spread(log2_e), magic_of_power = Isa::spread(power_magic);
  const auto t = Isa::fma(s, factor, magic_of_power);
  const auto r = Isa::fma(s, factor, Isa::sub(magic_of_power, t)); // |r| <= 1/2, and a little
  return Isa::mul(Isa::fma(exp2_slope<Isa>(r), r, Isa::spread(1.f)), Isa::power(t));
}

constexpr float below_all = -__builtin_inff();
constexpr float lowest_exponent = -87.f; // e^-87 is not yet denormal

// a where x < bound, else b: also where x is NaN.
template <class Isa>
FOVEA_INLINE typename Isa::reg if_below(typename Isa::reg x, float bound, typename Isa::reg a,
                                        typename Isa::reg b) {
  if constexpr (Isa::lanes == 1)
    return x < bound ? a : b; // one comparison
  else
    return Isa::inside(x, below_all, bound, a, b);
}

// x / (1 + e^-v)
template <class Isa>
FOVEA_INLINE typename Isa::reg times_sigmoid(typename Isa::reg x, typename Isa::reg v) {
  const auto zero = Isa::spread(0), one = Isa::spread(1.f);
  const auto e = exp_below<Isa>(Isa::max(Isa::sub(zero, Isa::abs(v)), Isa::spread(lowest_exponent)));
  const auto y = Isa::div(Isa::mul(x, if_below<Isa>(v, 0, e, one)), Isa::add(one, e));
  return if_below<Isa>(v, lowest_exponent, zero, y);
}

template <class Isa>
FOVEA_INLINE typename Isa::reg relu(typename Isa::reg x) {
  return if_below<Isa>(x, 0, Isa::spread(0), x); // -0 stays -0 on every ISA
}

template <class Isa>
FOVEA_INLINE typename Isa::reg silu(typename Isa::reg x) {
  return times_sigmoid<Isa>(x, x);
}

// x (1 + tanh(u)) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3): that is x / (1 + e^-2u).
template <class Isa>
FOVEA_INLINE typename Isa::reg gelu_tanh(typename Isa::reg x) {
  constexpr float of_x = 1.59576912f, of_cube = 7.13548163e-2f;
  const auto twice_u = Isa::mul(x, Isa::fma(Isa::mul(x, x), Isa::spread(of_cube), Isa::spread(of_x)));
  return times_sigmoid<Isa>(x, twice_u);
}

// What the normal distribution has beyond a >= 0 is e^(-a^2 / 2) P(t) with t = a / (a + 3).
constexpr float tail_terms[] = {-4.73593179e-02f, 1.07525995e-01f, 2.01878648e-02f,  -1.48601772e-01f,
                                -2.88251702e-01f, 1.05322233e+00f, -1.19682707e+00f, .5f};

// x (1 + erf(x / sqrt(2))) / 2: x times what the normal distribution has below x.
template <class Isa>
FOVEA_INLINE typename Isa::reg gelu(typename Isa::reg x) {
  constexpr float farthest = 12.5f; // there the result is -5e-35
  const auto a = Isa::min(Isa::abs(x), Isa::spread(farthest));
  const auto t = Isa::div(a, Isa::add(a, Isa::spread(3.f)));
  auto p = Isa::spread(tail_terms[0]);
#pragma GCC unroll 8
  for (int i = 1; i < 8; ++i) p = Isa::fma(p, t, Isa::spread(tail_terms[i]));
  const auto beyond = Isa::mul(exp_below<Isa>(Isa::mul(Isa::mul(a, Isa::spread(-.5f)), a)), p);
  const auto y = Isa::mul(x, if_below<Isa>(x, 0, beyond, Isa::sub(Isa::spread(1.f), beyond)));
  return if_below<Isa>(x, -farthest, Isa::spread(0), y);
}

} // namespace fovea::f32
