// Integer attention from its written specification, in 64-bit integers over plain rows, and the exact result
// in double. It shares no code with the library.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fovea/fixed.h"
#include "pattern_reference.hpp"

namespace fixed_reference {

using wide = int64_t;

inline wide floor_shift(wide x, wide by) { // x / 2^by towards minus infinity
  const wide unit = wide{1} << by;
  return x >= 0 ? x / unit : -((-x + unit - 1) / unit);
}
inline wide round_shift(wide x, wide by) { // nearest, halves up
  if (by == 0) return x;
  return by > 30 ? 0 : floor_shift(x + (wide{1} << (by - 1)), by);
}
inline wide mulr(wide a, wide b) { return floor_shift(a * b + 16384, 15); }

inline wide weight(wide u) {
  const wide k = u / 65536, h = u % 65536 / 2 - 32768;
  if (k >= 16) return 0;
  const wide y = mulr(mulr(mulr(-1270, h) + 3672, h) - 11313, h) + 16255;
  return k == 0 ? y : floor_shift(y * (wide{1} << (15 - k)) + 16384, 15);
}

struct call {
  const fovea_fixed_attention& a;

  int32_t kv_heads() const { return a.kv_heads ? a.kv_heads : a.q_heads; }
  int32_t v_dim() const { return a.v_dim ? a.v_dim : a.dim; }
  int32_t kv_head(int32_t head) const { return head / (a.q_heads / kv_heads()); }
  const fovea_fixed_scale& scale(int32_t head) const { return a.head_scales ? a.head_scales[head] : a.scale; }
  wide position(int32_t i) const { return pattern::position(a, i); }
  wide distance(int32_t i, int32_t n) const {
    return std::llabs(position(i) - pattern::key_position(a, wide{a.first_key} + n));
  }

  wide element(const fovea_fixed_in& in, ptrdiff_t head, ptrdiff_t token, ptrdiff_t tokens, ptrdiff_t dim,
               ptrdiff_t c) const {
    const ptrdiff_t row = in.token_stride ? in.token_stride : dim,
                    plane = in.head_stride ? in.head_stride : tokens * row;
    const ptrdiff_t at = head * plane + token * row + c;
    return in.dtype == FOVEA_FIXED_S16 ? static_cast<const int16_t*>(in.data)[at]
                                       : static_cast<const int8_t*>(in.data)[at];
  }
  wide q(int32_t h, int32_t i, int32_t c) const {
    return element(a.q, h, i, a.queries, a.dim, c) - a.q.zero_point;
  }
  wide k(int32_t g, int32_t j, int32_t c) const {
    return element(a.k, g, j, a.keys, a.dim, c) - a.k.zero_point;
  }
  wide v(int32_t g, int32_t j, int32_t c) const { return element(a.v, g, j, a.keys, v_dim(), c); }

  // Key n of those given; j is its absolute position.
  bool sees(int32_t h, int32_t i, int32_t n) const {
    if (!pattern::sees(a, i, wide{a.first_key} + n)) return false;
    if (a.mask.data &&
        !static_cast<const uint8_t*>(a.mask.data)[h * a.mask.head_stride + i * a.mask.query_stride + n])
      return false;
    return !a.bias.data || bias(h, i, n) != INT32_MIN;
  }
  int32_t bias(int32_t h, int32_t i, int32_t n) const {
    return a.bias.data ? static_cast<const int32_t*>(
                             a.bias.data)[h * a.bias.head_stride + i * a.bias.query_stride + n]
                       : 0;
  }
  template <class T>
  const T* per_key(const fovea_fixed_per_key& x, int32_t g) const {
    return x.data ? static_cast<const T*>(x.data) + g * (x.head_stride ? x.head_stride : a.keys) : nullptr;
  }
  wide multiplier(int32_t h, int32_t n) const {
    const int32_t* each = per_key<int32_t>(a.key_multipliers, kv_head(h));
    return each ? each[n] : scale(h).score_multiplier;
  }
  wide score(int32_t h, int32_t i, int32_t n) const {
    wide s = 0;
    for (int32_t c = 0; c < a.dim; ++c) s += q(h, i, c) * k(kv_head(h), n, c);
    return floor_shift(s, scale(h).score_pre_shift);
  }
  wide octaves(int32_t h, int32_t i, int32_t n) const {
    wide t = floor_shift(score(h, i, n) * multiplier(h, n), scale(h).score_shift) + bias(h, i, n);
    if (a.alibi) t -= a.alibi[h] * distance(i, n);
    return std::clamp<wide>(t, -(1 << 28) + 1, (1 << 28) - 1);
  }
  int spill() const {
    int s = 0;
    while ((512 << s) < (a.max_keys ? a.max_keys : 512)) ++s;
    return s;
  }
};

struct row {
  std::vector<wide> acc; // zero point of v not yet taken away
  wide sum = 0;          // of the weights of all seen keys and of the sink
  wide sink = 0; // the weight of the sink under the last reference; it has no value, so no zero point either
};

// Blocks of 64 keys from absolute key 0; a reference in whole octaves that only rises.
inline row sums_of(const call& x, int32_t h, int32_t i) {
  const fovea_fixed_attention& a = x.a;
  const int16_t* value_weights = x.per_key<int16_t>(a.value_weights, x.kv_head(h));
  row r;
  r.acc.assign(static_cast<size_t>(x.v_dim()), 0);
  bool any = false;
  wide reference = 0;
  const auto raise = [&](wide t) {
    const wide wanted = floor_shift(t + 65535, 16);
    if (any && wanted <= reference) return;
    for (wide& y : r.acc) y = any ? round_shift(y, wanted - reference) : 0;
    r.sum = any ? round_shift(r.sum, wanted - reference) : 0;
    reference = wanted, any = true;
  };
  if (a.sinks) {
    raise(a.sinks[h]);
    r.sum += weight(reference * 65536 - a.sinks[h]);
  }
  for (int32_t block = a.first_key / 64; block * 64 < a.first_key + a.keys; ++block) {
    std::vector<int32_t> seen;
    for (int32_t j = std::max(block * 64, a.first_key); j < std::min(block * 64 + 64, a.first_key + a.keys);
         ++j)
      if (x.sees(h, i, j - a.first_key)) seen.push_back(j - a.first_key);
    if (seen.empty()) continue;
    wide top = x.octaves(h, i, seen[0]);
    for (int32_t n : seen) top = std::max(top, x.octaves(h, i, n));
    raise(top);
    std::vector<wide> sums(r.acc.size(), 0);
    for (int32_t n : seen) {
      const wide p = weight(reference * 65536 - x.octaves(h, i, n));
      r.sum += p;
      const wide scaled = value_weights ? mulr(p, value_weights[n]) : p;
      for (size_t c = 0; c < sums.size(); ++c)
        sums[c] += scaled * x.v(x.kv_head(h), n, static_cast<int32_t>(c));
    }
    for (size_t c = 0; c < sums.size(); ++c) r.acc[c] += round_shift(sums[c], x.spill());
  }
  if (a.sinks) r.sink = std::min(r.sum, weight(reference * 65536 - a.sinks[h]));
  return r;
}

// sum_j 2^t_j (v_j - zero) = sum_j 2^t_j v_j - zero * sum_j 2^t_j, over keys only.
inline wide zero_sum(const call& x, const row& r) {
  return round_shift(x.a.v.zero_point * (r.sum - r.sink), x.spill());
}

inline wide integer_output(const call& x, int32_t h, const row& r, size_t c) {
  if (r.sum == 0) return x.a.out.zero_point;
  int z = 0;
  while (!((r.sum << z) >> 31)) ++z;
  const wide inverse = 4294967295 / ((r.sum << z) >> 15),
             rm = floor_shift(inverse * x.scale(h).out_multiplier, 17);
  const wide wanted = 29 - z - x.scale(h).out_shift, shift = std::max<wide>(wanted, 1),
             left = wide{1} << (shift - wanted);
  if (shift > 31) return x.a.out.zero_point;
  const wide scaled = floor_shift(r.acc[c] * left * rm, 32),
             zero = floor_shift(zero_sum(x, r) * left * rm, 32);
  wide y = floor_shift(scaled - zero + (wide{1} << (shift - 1)), shift);
  y += x.a.out.zero_point;
  const wide limit = x.a.out.dtype == FOVEA_FIXED_S16 ? 32768 : 128;
  return std::clamp<wide>(y, -limit, limit - 1);
}

inline float float_output(const call& x, int32_t h, const row& r, size_t c) {
  if (r.sum == 0) return 0;
  float scale;
  std::memcpy(&scale, &x.scale(h).f32_scale, sizeof scale);
  const volatile float by = scale / static_cast<float>(r.sum);
  const volatile float acc = static_cast<float>(r.acc[c] - zero_sum(x, r));
  return acc * by;
}

// The bytes of the output of row (h, i).
inline std::vector<unsigned char> output(const call& x, int32_t h, int32_t i) {
  const row r = sums_of(x, h, i);
  std::vector<unsigned char> bytes;
  for (size_t c = 0; c < r.acc.size(); ++c) {
    unsigned char b[4] = {};
    const int32_t type = x.a.out.dtype;
    const int8_t s8 = static_cast<int8_t>(type == FOVEA_FIXED_S8 ? integer_output(x, h, r, c) : 0);
    const int16_t s16 = static_cast<int16_t>(type == FOVEA_FIXED_S16 ? integer_output(x, h, r, c) : 0);
    const float f32 = type == FOVEA_FIXED_F32 ? float_output(x, h, r, c) : 0;
    if (type == FOVEA_FIXED_S8) std::memcpy(b, &s8, 1);
    if (type == FOVEA_FIXED_S16) std::memcpy(b, &s16, 2);
    if (type == FOVEA_FIXED_F32) std::memcpy(b, &f32, 4);
    bytes.insert(bytes.end(), b, b + (type == FOVEA_FIXED_S8 ? 1 : type == FOVEA_FIXED_S16 ? 2 : 4));
  }
  return bytes;
}

// The bytes of the whole output.
inline std::vector<unsigned char> output(const fovea_fixed_attention& a) {
  std::vector<unsigned char> all;
  const call x{a};
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const std::vector<unsigned char> row = output(x, h, i);
      all.insert(all.end(), row.begin(), row.end());
    }
  return all;
}

// softmax in double on the same integers, as real values: sum_j 2^t_j (v_j - zero) / (sum_j 2^t_j + 2^sink),
// in units of v.
inline std::vector<double> exact(const call& x, int32_t h, int32_t i) {
  std::vector<double> out(static_cast<size_t>(x.v_dim()), 0.0);
  const double sink = x.a.sinks ? x.a.sinks[h] / 65536.0 : -1e300;
  double top = sink;
  const auto octaves = [&](int32_t n) {
    wide s = 0;
    for (int32_t c = 0; c < x.a.dim; ++c) s += x.q(h, i, c) * x.k(x.kv_head(h), n, c);
    double t = static_cast<double>(s) * static_cast<double>(x.multiplier(h, n)) /
               std::exp2(x.scale(h).score_shift + x.scale(h).score_pre_shift + 16);
    if (x.a.alibi) t -= x.a.alibi[h] / 65536.0 * static_cast<double>(x.distance(i, n));
    return t + x.bias(h, i, n) / 65536.0;
  };
  for (int32_t n = 0; n < x.a.keys; ++n)
    if (x.sees(h, i, n)) top = std::max(top, octaves(n));
  double sum = x.a.sinks ? std::exp2(sink - top) : 0;
  for (int32_t n = 0; n < x.a.keys; ++n) {
    if (!x.sees(h, i, n)) continue;
    const double w = std::exp2(octaves(n) - top);
    sum += w;
    for (size_t c = 0; c < out.size(); ++c)
      out[c] += w * static_cast<double>(x.v(x.kv_head(h), n, static_cast<int32_t>(c)) - x.a.v.zero_point);
  }
  for (double& y : out) y = sum > 0 ? y / sum : 0;
  return out;
}

} // namespace fixed_reference
