// fixed_softmax.hpp: the numbers that TFLite's converter makes for its softmax. Header only, with double
// arithmetic for the host.
#pragma once
#include <cmath>
#include <cstdint>

#include "fovea/fixed_softmax.h"

namespace fovea {

namespace detail {

struct quantized_multiplier {
  int32_t multiplier;
  int shift;
};
inline quantized_multiplier quantize_multiplier(double x) {
  int shift = 0;
  int64_t m = std::llround(std::frexp(x, &shift) * 2147483648.0);
  if (m == int64_t{1} << 31) m /= 2, ++shift;
  return {static_cast<int32_t>(m), shift};
}

template <class F>
void make_table(F f, double low, double high, double out_scale, int16_t (&table)[513]) {
  const double step = (high - low) / 512, inverse = 65536 / (out_scale * 65535);
  for (int i = 0; i < 512; ++i) {
    const double here = f(low + i * step), middle = f(low + i * step + step / 2),
                 next = f(low + (i + 1) * step);
    const double rounded = std::round(here * inverse), line = std::round((next * inverse + rounded) / 2);
    const double y = rounded - std::round((line - std::round(middle * inverse)) / 2);
    table[i] = static_cast<int16_t>(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
  }
  const double y = std::round(f(high) * inverse);
  table[512] = static_cast<int16_t>(y < -32768 ? -32768 : y > 32767 ? 32767 : y);
}

} // namespace detail

inline fovea_tflite_softmax tflite_softmax_scale(double scale, double beta) {
  const double real = beta * scale * (1 << 26);
  const detail::quantized_multiplier m = detail::quantize_multiplier(real < 2147483647.0 ? real
                                                                                         : 2147483647.0);
  return {m.multiplier, m.shift, static_cast<int32_t>(-std::floor(31.0 * (1 << 26) / std::exp2(m.shift)))};
}

struct tflite_tables {
  int16_t exp[513], one_over_one_plus[513];
  fovea_tflite_softmax_tables scale;
};
inline void make_tflite_tables(double scale, double beta, tflite_tables& t) {
  detail::make_table([](double x) { return std::exp(x); }, -10, 0, 2.0 / 65535, t.exp);
  detail::make_table([](double x) { return 1 / (1 + x); }, 0, 1, 2.0 / 65535, t.one_over_one_plus);
  const detail::quantized_multiplier m = detail::quantize_multiplier(scale * beta / (10.0 / 65535));
  t.scale = {t.exp, t.one_over_one_plus, m.multiplier, m.shift};
}

} // namespace fovea
