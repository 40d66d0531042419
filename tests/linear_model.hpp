// Products with packed weights, as docs/numerics.md, section 10, says, one number after the other in plain
// scalar code. Nothing here is shared with the library.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "fovea/linear.h"
#include "numerics.hpp"

namespace linear_model {

using numerics::fma;

inline float exp_below(float s) {
  const float shift = 12582912.0f + 127;
  const float t = fma(s, 1.44269504f, shift), r = fma(s, 1.44269504f, shift - t);
  return fma(numerics::slope_of_exp2(r), r, 1) * numerics::float_of(numerics::bits_of(t) << 23);
}

inline float times_sigmoid(float x, float v) {
  if (x != x || v != v) return x + v;
  const float e = exp_below(v < -87 || v > 87 ? -87 : 0 - std::fabs(v));
  return v < -87 ? 0 : (x * (v < 0 ? e : 1)) / (1 + e);
}

inline float gelu(float x) {
  if (x != x) return x;
  if (x < -12.5f) return 0;
  const float a = std::fabs(x) < 12.5f ? std::fabs(x) : 12.5f, t = a / (a + 3);
  float p = -4.73593179e-2f;
  for (float c :
       {1.07525995e-1f, 2.01878648e-2f, -1.48601772e-1f, -2.88251702e-1f, 1.05322233f, -1.19682707f, 0.5f})
    p = fma(p, t, c);
  const float beyond = exp_below((a * -0.5f) * a) * p;
  return x * (x < 0 ? beyond : 1 - beyond);
}

inline float activated(int32_t activation, float x) {
  switch (activation) {
    case FOVEA_RELU:
      return x < 0 ? 0 : x;
    case FOVEA_GELU:
      return gelu(x);
    case FOVEA_GELU_TANH:
      return times_sigmoid(x, x * fma(x * x, 0.0713548163f, 1.59576912f));
    case FOVEA_SILU:
    case FOVEA_SILU_TIMES:
      return times_sigmoid(x, x);
    default:
      return x;
  }
}

// By arithmetic on numbers, not on bits as the library has it.
inline float f16_to_float(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const float size = exponent == 31 ? (fraction ? std::nanf("") : INFINITY)
                     : exponent     ? std::ldexp(1024.0f + static_cast<float>(fraction), exponent - 25)
                                    : std::ldexp(static_cast<float>(fraction), -24);
  return h & 0x8000 ? -size : size;
}
inline float bf16_to_float(uint16_t h) { return numerics::float_of(uint32_t{h} << 16); }

// The nearest of the numbers that have `bits` behind the leading one, even ones if in between; none is below
// 2^least.
inline float rounded(float x, int bits, int least, float beyond) {
  if (x != x || std::isinf(x) || x == 0) return x;
  int exponent;
  std::frexp(x, &exponent);
  const int unit = std::max(exponent - 1 - bits, least);
  const double whole = std::ldexp(static_cast<double>(x), -unit), low = std::floor(whole), part = whole - low;
  const bool up = part > 0.5 || (part == 0.5 && std::fmod(low, 2) != 0);
  const double y = std::ldexp(low + (up ? 1 : 0), unit);
  return std::fabs(y) >= beyond ? std::copysign(INFINITY, x) : std::copysign(static_cast<float>(y), x);
}
inline float as_packed(float w, int32_t dtype) {
  if (dtype == FOVEA_F16) return rounded(w, 10, -24, 65520);
  if (dtype == FOVEA_BF16) return rounded(w, 7, -133, INFINITY);
  return w;
}

// z[o] of one row. `w` is [out][in] of what is packed.
inline float sum(const std::vector<float>& w, const float* bias, const float* x, int32_t in, int32_t o) {
  float z = 0;
  for (int32_t k = 0; k < in; ++k)
    z = fma(x[k], w[static_cast<size_t>(o) * static_cast<size_t>(in) + static_cast<size_t>(k)], z);
  return bias != nullptr ? z + bias[o] : z;
}

// Column c of a row of y.
inline float result(const fovea_product& p, const std::vector<float>& w, const float* x,
                    const float* residual, int32_t c) {
  const fovea_linear& l = *p.w;
  const float a = activated(p.activation, sum(w, l.bias, x, l.in, c));
  if (p.activation == FOVEA_SILU_TIMES) return a * sum(w, l.bias, x, l.in, l.out / 2 + c);
  return residual != nullptr ? a + residual[c] : a;
}

} // namespace linear_model
