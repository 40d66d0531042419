// Tables of numbers for the operations on rows, and the textbook they are held to.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "data.hpp"
#include "digest.hpp"
#include "fovea/ops.h"
#include "isas.hpp"

namespace ops {

constexpr double u = 1.0 / (1 << 24);
constexpr float infinite = std::numeric_limits<float>::infinity();

// The textbook. `seen` tells which columns count; a row without any is zeros.
struct answer {
  std::vector<double> weight, score;
  double lse = -std::numeric_limits<double>::infinity();
  double size = 0; // of the scores before the peak is taken off: what single precision rounds
};

inline double bias_of(const fovea_softmax_rows& s, int32_t r, int32_t c) {
  const fovea_mask& m = s.mask;
  if (m.data == nullptr) return 0;
  if (m.keys != 0 && c >= m.keys) return -std::numeric_limits<double>::infinity();
  const ptrdiff_t at = r * m.query_stride + c;
  if (m.is_bias != 0) return static_cast<const float*>(m.data)[at];
  return static_cast<const uint8_t*>(m.data)[at] != 0 ? 0 : -std::numeric_limits<double>::infinity();
}

inline answer textbook(const fovea_softmax_rows& s, const float* row, int32_t r) {
  const double scale = (s.flags & FOVEA_SCALE) != 0 ? s.scale : 1.0;
  answer a;
  double peak = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int32_t c = 0; c < s.columns; ++c) {
    const double raw = scale * row[c], bias = bias_of(s, r, c);
    const bool hidden = raw < -1e300 || bias < -1e300;
    const double capped = s.softcap != 0 ? s.softcap * std::tanh(raw / s.softcap) : raw;
    const double score = hidden ? -std::numeric_limits<double>::infinity() : capped + bias;
    a.score.push_back(score);
    if (!hidden) a.size = std::fmax(a.size, std::fabs(raw) + std::fabs(bias));
    peak = std::fmax(peak, score);
  }
  for (double score : a.score) a.weight.push_back(std::isinf(score) ? 0 : std::exp(score - peak));
  for (double w : a.weight) sum += w;
  for (double& w : a.weight) w = sum > 0 ? w / sum : 0;
  if (sum > 0) a.lse = peak + std::log(sum);
  return a;
}

// docs/numerics.md, section 9: of a weight, and of the log-sum-exp.
inline double weight_bound(const fovea_softmax_rows& s, const answer& a, double weight) {
  const bool modified = s.mask.data != nullptr || s.softcap != 0;
  const double scores = modified ? 8 * a.size : 0,
               distance = std::fmin(70, -std::log(std::fmax(weight, 1e-43)));
  return (4 * distance + 4 * std::log(s.columns) + s.columns / 256 + 32 + scores) * u * weight + 3.2e-30;
}
inline double lse_bound(const fovea_softmax_rows& s, const answer& a) {
  return (4 * std::log(s.columns) + s.columns / 256 + 33 + 12 * a.size + 2 * std::fabs(a.lse)) * u;
}

// Rows of noise with strides, guarded by NaN.
struct table {
  int32_t rows, columns;
  ptrdiff_t in_stride, out_stride;
  data::guarded<float> in, out, lse;

  table(int32_t rows_, int32_t columns_, float size, ptrdiff_t in_gap = 0, ptrdiff_t out_gap = 0)
      : rows(rows_),
        columns(columns_),
        in_stride(columns_ + in_gap),
        out_stride(columns_ + out_gap),
        in(extent(in_stride)),
        out(extent(out_stride)),
        lse(static_cast<size_t>(rows_)) {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c)
        at(r, c) = size * data::noise(17, static_cast<uint32_t>(r * 8192 + c));
  }
  size_t extent(ptrdiff_t stride) const {
    return rows == 0 ? 0 : static_cast<size_t>((rows - 1) * stride + columns);
  }
  float& at(int32_t r, int32_t c) { return in[static_cast<size_t>(r * in_stride + c)]; }
  float result(int32_t r, int32_t c) const { return out[static_cast<size_t>(r * out_stride + c)]; }
  std::vector<float> results() const {
    std::vector<float> all;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) all.push_back(result(r, c));
    for (int32_t r = 0; r < rows; ++r) all.push_back(lse[static_cast<size_t>(r)]);
    return all;
  }
  fovea_softmax_rows call() {
    fovea_softmax_rows s = {};
    s.in = in.data(), s.out = out.data(), s.lse = lse.data();
    s.rows = rows, s.columns = columns;
    s.in_stride = in_stride, s.out_stride = out_stride;
    return s;
  }
  bool gaps_untouched() const {
    for (int32_t r = 0; r + 1 < rows; ++r)
      for (ptrdiff_t c = columns; c < out_stride; ++c)
        if (!data::is_untouched(out[static_cast<size_t>(r * out_stride + c)])) return false;
    return out.guards_hold() && lse.guards_hold() && in.guards_hold();
  }
};

inline void check_results(table& t, const fovea_softmax_rows& s) {
  int wrong = 0;
  for (int32_t r = 0; r < t.rows; ++r) {
    const answer a = textbook(s, &t.at(r, 0), r);
    for (int32_t c = 0; c < t.columns; ++c) {
      const double weight = a.weight[static_cast<size_t>(c)], error = std::fabs(t.result(r, c) - weight);
      wrong += !(error <= weight_bound(s, a, weight)) ||
               (std::isinf(a.score[static_cast<size_t>(c)]) && t.result(r, c) != 0);
    }
    const float lse = t.lse[static_cast<size_t>(r)];
    wrong += std::isinf(a.lse) ? lse != -infinite : !(std::fabs(lse - a.lse) <= lse_bound(s, a));
  }
  CHECK(wrong == 0);
}

// Runs a call on every ISA: right everywhere, nothing else written, and one digest where bits are promised.
inline void check_everywhere(table& t, fovea_softmax_rows s, digest* bits = nullptr) {
  std::vector<float> promised;
  isas::for_each([&](int32_t isa) {
    s.isa = isa;
    t.out.wipe(), t.lse.wipe();
    CHECK(fovea_softmax(&s) == FOVEA_OK);
    check_results(t, s);
    CHECK(t.gaps_untouched());
    if (!isas::promises_bits(isa)) return;
    if (promised.empty()) promised = t.results();
    CHECK(data::same_bits(t.results(), promised));
  });
  if (bits != nullptr) bits->add(promised);
}

// A change of these is a change of docs/numerics.md.
inline void check_digest(const digest& bits, uint64_t golden) {
  if (isas::any_promises_bits()) CHECK(bits.value() == golden);
}

inline std::vector<int32_t> lengths() {
  std::vector<int32_t> all;
  for (int32_t n = 0; n <= 70; ++n) all.push_back(n);
  for (int32_t n : {255, 256, 257, 1000, 4097}) all.push_back(n);
  return all;
}

} // namespace ops
