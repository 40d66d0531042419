// TFLite's FullyConnected with int8 weights per channel, one number at a time: docs/fixed_point.md, linear
// layers, and gemmlowp's words for its roundings.
#pragma once
#include <cstdint>
#include <vector>

namespace fixed_linear {

inline int32_t saturating_rounding_doubling_high_mul(int32_t a, int32_t b) {
  if (a == b && a == INT32_MIN) return INT32_MAX;
  const int64_t product = static_cast<int64_t>(a) * b;
  const int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31)); // rounds towards zero
}

inline int32_t rounding_divide_by_power_of_two(int32_t x, int exponent) {
  const int64_t mask = (int64_t{1} << exponent) - 1, remainder = x & mask;
  const int64_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return static_cast<int32_t>((static_cast<int64_t>(x) >> exponent) + (remainder > threshold ? 1 : 0));
}

inline int32_t multiply_by_quantized_multiplier(int32_t x, int32_t multiplier, int32_t shift) {
  const int left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
  const int32_t shifted = static_cast<int32_t>(static_cast<int64_t>(x) * (int64_t{1} << left));
  return rounding_divide_by_power_of_two(saturating_rounding_doubling_high_mul(shifted, multiplier), right);
}

struct layer {
  int32_t in, out, zero_x, zero_out, low, high;
  std::vector<int8_t> weights; // [out][in]
  std::vector<int32_t> bias, multipliers, shifts;
};

inline int8_t output(const layer& l, const int8_t* x, int32_t o) {
  int32_t sum = l.bias.empty() ? 0 : l.bias[static_cast<size_t>(o)];
  for (int32_t c = 0; c < l.in; ++c)
    sum += (x[c] - l.zero_x) *
           l.weights[static_cast<size_t>(o) * static_cast<size_t>(l.in) + static_cast<size_t>(c)];
  const int32_t y = multiply_by_quantized_multiplier(sum, l.multipliers[static_cast<size_t>(o)],
                                                     l.shifts[static_cast<size_t>(o)]);
  const int64_t z = static_cast<int64_t>(y) + l.zero_out;
  return static_cast<int8_t>(z < l.low ? l.low : z > l.high ? l.high : z);
}

} // namespace fixed_linear
