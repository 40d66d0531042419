// Integer attention as fixed.h writes it in its first lines, in double: softmax of real octaves, a sink only
// in the denominator. Results of integers lie within a bound of it that catches wrong results, not wrong
// bits.
#pragma once
#include <cmath>

#include "fixed_draw.hpp"

namespace fuzz {

struct exact_row {
  std::vector<double> mean; // sum_j p_j (v_j - zero point)
  double largest = 0;       // of |v_j - zero point| over all keys
  double weight = 0;        // sum of 2^t, sink included, where the largest 2^t is 1
  int32_t seen = 0;
};

// Octaves in Q16 of key n, of any size.
inline int64_t octaves_of(const fixed_reference::call& x, int32_t h, int32_t i, int32_t n) {
  wide t = ((wide{x.score(h, i, n)} * x.multiplier(h, n)) >> x.scale(h).score_shift) + x.bias(h, i, n);
  if (x.a.alibi != nullptr) t -= wide{x.a.alibi[h]} * x.distance(i, n);
  const wide limit = (1 << 28) - 1;
  return static_cast<int64_t>(t < -limit ? -limit : t > limit ? limit : t);
}

inline exact_row textbook(const fixed_reference::call& x, int32_t h, int32_t i) {
  const fovea_fixed_attention& a = x.a;
  exact_row row;
  row.mean.assign(static_cast<size_t>(x.v_dim()), 0.0);
  const int64_t none = INT64_MIN, limit = (1 << 28) - 1;
  const int64_t sink = a.sinks == nullptr ? none : std::clamp<int64_t>(a.sinks[h], -limit, limit);
  std::vector<int64_t> octaves(static_cast<size_t>(a.keys), none);
  int64_t top = sink;
  for (int32_t n = 0; n < a.keys; ++n)
    if (x.sees(h, i, n))
      top = std::max(top, octaves[static_cast<size_t>(n)] = octaves_of(x, h, i, n)), ++row.seen;
  if (sink != none) row.weight += std::exp2(static_cast<double>(sink - top) / 65536);
  const int16_t* value_weights = x.per_key<int16_t>(a.value_weights, x.kv_head(h));
  for (int32_t n = 0; n < a.keys; ++n) {
    if (octaves[static_cast<size_t>(n)] == none) continue;
    const double p = std::exp2(static_cast<double>(octaves[static_cast<size_t>(n)] - top) / 65536);
    row.weight += p;
    const double scaled = value_weights == nullptr ? p : p * value_weights[n] / 32768;
    for (size_t c = 0; c < row.mean.size(); ++c) {
      const auto v = static_cast<double>(x.v(x.kv_head(h), n, static_cast<int32_t>(c)) - a.v.zero_point);
      row.mean[c] += scaled * v;
      row.largest = std::max(row.largest, std::fabs(v));
    }
  }
  row.largest = std::max(
      row.largest,
      std::fabs(static_cast<double>(a.v.zero_point))); // it is taken away from the sum of weights
  for (double& y : row.mean) y = row.weight > 0 ? y / row.weight : 0;
  return row;
}

// How far the mean may be off: weights of 15 or 22 bits, each rounded to a step of the largest one's power of
// two, sums rounded by blocks.
inline double bound_of(const fixed_reference::call& x, const exact_row& row) {
  const fovea_fixed_attention& a = x.a;
  const bool fine = a.weight_bits == 22, s16 = a.q.dtype == FOVEA_FIXED_S16;
  const double step = fine ? 0x1p-20 : 0x1p-13,
               relative = fine  ? 4e-5
                          : s16 ? 3e-4
                                : 2e-3,
               blocks = a.keys / 64 + 3;
  const double rounded = s16 ? 0 : blocks * (1 << x.spill()) * 2 * 0x1p-13;
  return row.largest * (relative + (row.seen + 2) * step / row.weight) + rounded / row.weight;
}

inline double number_at(const fovea_fixed_attention& a, const unsigned char* bytes) {
  int8_t s8;
  int16_t s16;
  float f32;
  std::memcpy(&s8, bytes, 1);
  if (a.out.dtype == FOVEA_FIXED_S8) return s8;
  std::memcpy(&s16, bytes, 2);
  if (a.out.dtype == FOVEA_FIXED_S16) return s16;
  std::memcpy(&f32, bytes, 4);
  return static_cast<double>(f32);
}

inline void check_textbook(const fovea_fixed_attention& a, const std::vector<unsigned char>& got) {
  const fixed_reference::call x{a};
  const size_t size = size_t{1} << a.out.dtype, dim = static_cast<size_t>(x.v_dim());
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const exact_row row = textbook(x, h, i);
      const bool s16 = a.q.dtype == FOVEA_FIXED_S16, floats = a.out.dtype == FOVEA_FIXED_F32;
      const fovea_fixed_scale& s = x.scale(h);
      if (!floats && s.out_multiplier < 1 << 30) continue; // a flat multiplier has fewer bits
      float f32_scale;
      std::memcpy(&f32_scale, &s.f32_scale, 4);
      const double unit = floats ? static_cast<double>(f32_scale)
                                 : std::ldexp(s.out_multiplier, s.out_shift - 31);
      const double factor = s16 ? unit : unit / (1 << x.spill()), most = floats ? 3e38
                                                                         : a.out.dtype == FOVEA_FIXED_S16
                                                                             ? 32767
                                                                             : 127;
      const double least = floats ? -3e38 : -most - 1, mean_error = row.seen > 0 ? bound_of(x, row) : 0;
      for (size_t c = 0; c < dim; ++c) {
        const double y = row.mean[c] * factor,
                     got_here = number_at(
                         a, got.data() + ((static_cast<size_t>(h * a.queries + i)) * dim + c) * size);
        if (floats && std::fabs(y) > 1e38) continue;
        const double right = std::clamp(y + a.out.zero_point, least, most);
        const double bound = mean_error * factor + std::fabs(y) * 1e-4 + (floats ? 2e-38 : 1.01);
        if (std::fabs(got_here - right) <= bound) continue;
        finding("result " + std::to_string(c) + " of head " + std::to_string(h) + " query " +
                    std::to_string(i) + " is " + number(got_here) + ", the textbook's " + number(right) +
                    ", the bound " + number(bound),
                in_words(a));
      }
    }
}

} // namespace fuzz
