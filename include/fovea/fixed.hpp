// fixed.hpp: from real scales to the integers of a fovea_fixed_scale, at compile time or once at start.
// Header only. Its double arithmetic is for the host or for constant expressions; a device needs only the
// resulting numbers.
#pragma once
#include <cstdint>

#include "fovea/fixed.h"

namespace fovea {

struct real_scales { // real = scale * (integer - zero point)
  double q = 0, k = 0, v = 0;
  double out = 0;     // of integer output; not needed for float output
  double softmax = 0; // what scores are multiplied by; 0 = 1 / sqrt(dim)
};

struct fixed_multiplier { // x * multiplier * 2^(shift - 31), as TFLite requantises
  int32_t multiplier, shift;
};

struct fixed_scale_answer {
  fovea_fixed_scale scale;
  const char* refusal; // null: the scale is good; else a sentence that says what is wrong
};

namespace detail {

constexpr double power_of_two(int e) {
  double x = 1;
  for (; e > 0; --e) x *= 2;
  for (; e < 0; ++e) x /= 2;
  return x;
}
constexpr bool positive_and_finite(double x) { return x > 0 && x <= 1e300; }

constexpr double root(double x) {
  double y = x < 1 ? 1 : x;
  for (int i = 0; i < 64; ++i) y = (y + x / y) / 2;
  return y;
}

struct binary { // mantissa * 2^exponent, mantissa of `bits` bits
  int64_t mantissa;
  int exponent;
};
constexpr binary to_binary(double x, int bits) {
  int e = 0;
  while (x >= 1) x /= 2, ++e;
  while (x < 0.5) x *= 2, --e;
  const double scaled = x * power_of_two(bits);
  int64_t m = static_cast<int64_t>(scaled);
  const double rest = scaled - static_cast<double>(m);
  m += rest > 0.5 || (rest == 0.5 && (m & 1));
  if (m >> bits) m >>= 1, ++e;
  return {m, e - bits};
}

constexpr uint32_t float_bits(double x) {
  const binary b = to_binary(x, 24);
  return static_cast<uint32_t>(b.exponent + 24 + 126) << 23 | static_cast<uint32_t>(b.mantissa & 0x7fffff);
}

constexpr int spill_of(int32_t max_keys) {
  int spill = 0;
  while ((int64_t{512} << spill) < max_keys) ++spill;
  return spill;
}
constexpr int pre_shift_of(int32_t dim) {
  int shift = 0;
  while ((int32_t{1} << shift) < dim) ++shift;
  return shift;
}

constexpr const char* set_scores(fovea_fixed_scale& s, double octaves, double largest_score) {
  if (octaves * largest_score >= power_of_two(28))
    return "the scores may exceed 4,096 octaves: use smaller scales of q and k";
  binary b = to_binary(octaves, 31);
  while (b.exponent < -31 && b.mantissa) b.mantissa = (b.mantissa + 1) >> 1, ++b.exponent;
  if (b.mantissa < 1)
    return "the scores are so small that every weight would be the same: use larger scales of q and k";
  if (b.exponent > -1) return "the scores are too steep: use smaller scales of q and k";
  s.score_multiplier = static_cast<int32_t>(b.mantissa), s.score_shift = -b.exponent;
  return nullptr;
}

constexpr const char* set_output(fovea_fixed_scale& s, double v, double out, int spill) {
  const double unit = v * power_of_two(spill);
  if (unit < 1e-37 || unit > 1e37)
    return "the scale of v does not fit a float: use one between 1e-37 and 1e37";
  s.f32_scale = float_bits(unit);
  if (out <= 0)
    return unit < power_of_two(-86)
               ? "the scale of v is too small for float output: use one of at least 1.3e-26"
               : nullptr;
  const binary b = to_binary(unit / out, 31);
  if (b.exponent + 31 > 20) return "the scale of out is too fine for that of v: use a larger one";
  if (b.exponent + 31 < -30) return "the scale of out is too coarse for that of v: use a smaller one";
  s.out_multiplier = static_cast<int32_t>(b.mantissa), s.out_shift = b.exponent + 31;
  return nullptr;
}

} // namespace detail

// max_keys as in the call; dtype is FOVEA_FIXED_S8 or FOVEA_FIXED_S16. With q_and_k_have_zero_points, the
// scale leaves room for larger scores.
constexpr fixed_scale_answer make_fixed_scale(const real_scales& real, int32_t dim, int32_t max_keys = 512,
                                              int32_t dtype = FOVEA_FIXED_S8,
                                              bool q_and_k_have_zero_points = false) {
  using namespace detail;
  fixed_scale_answer a{};
  if (dim < 1 || dim > 1024)
    a.refusal = "dim must be 1 .. 1024";
  else if (!positive_and_finite(real.q) || !positive_and_finite(real.k))
    a.refusal = "the scales of q and k must be positive numbers";
  else if (!positive_and_finite(real.v))
    a.refusal = "the scale of v must be a positive number";
  else if (real.out != 0 && !positive_and_finite(real.out))
    a.refusal = "the scale of out must be a positive number, or 0 for float output";
  else if (real.softmax != 0 && !positive_and_finite(real.softmax))
    a.refusal = "the scale of the softmax must be a positive number, or 0";
  else if (max_keys < 0 || max_keys > 1 << 17)
    a.refusal = "max_keys must be 0 .. 131072";
  if (a.refusal) return a;
  const bool wide = dtype == FOVEA_FIXED_S16;
  a.scale.score_pre_shift = wide ? pre_shift_of(dim) : 0;
  const double softmax = real.softmax > 0 ? real.softmax : 1 / root(dim),
               unit = power_of_two(a.scale.score_pre_shift);
  const double octaves = real.q * real.k * softmax * 1.4426950408889634 * 65536 * unit;
  const double product = wide ? power_of_two(30) : q_and_k_have_zero_points ? 255.0 * 255 : 128.0 * 128;
  a.refusal = set_scores(a.scale, octaves, product * dim / unit + 1);
  if (!a.refusal) a.refusal = set_output(a.scale, real.v, real.out, wide ? 0 : spill_of(max_keys));
  return a;
}

// What a layer of fixed_linear.h is given: scale_x * scale_w / scale_y of an output. Numbers that no shift
// makes become the nearest that one does; 0 is {0, 0}.
constexpr fixed_multiplier make_fixed_multiplier(double real) {
  if (!detail::positive_and_finite(real)) return {0, 0};
  int shift = 0;
  while (real >= 1) real /= 2, ++shift;
  while (real < 0.5) real *= 2, --shift;
  int64_t multiplier = static_cast<int64_t>(real * detail::power_of_two(31) + 0.5); // halves away from zero
  if (multiplier == int64_t{1} << 31) multiplier /= 2, ++shift;
  if (shift < -31) return {0, 0};
  if (shift > 30) return {2147483647, 30};
  return {static_cast<int32_t>(multiplier), shift};
}

// Keys quantised one by one: make the scale for the largest scale of k, then one multiplier for each key.
constexpr int32_t key_multiplier(const fovea_fixed_scale& largest, double scale, double largest_scale) {
  return static_cast<int32_t>(static_cast<double>(largest.score_multiplier) * (scale / largest_scale) + 0.5);
}
// Values quantised one by one: make the scale for the largest scale of v, then one weight for each value.
constexpr int16_t value_weight(double scale, double largest_scale) {
  return static_cast<int16_t>(32767 * (scale / largest_scale) + 0.5);
}
// A natural logit, a bias or an ALiBi slope in octaves of Q16.
constexpr int32_t to_octaves(double logit) {
  const double t = logit * 1.4426950408889634 * 65536;
  return t >= 268435455.0    ? (1 << 28) - 1
         : t <= -268435455.0 ? 1 - (1 << 28)
                             : static_cast<int32_t>(t < 0 ? t - 0.5 : t + 0.5);
}

} // namespace fovea
