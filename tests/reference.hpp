// Attention as a textbook writes it, in double, for comparison. It reads the call; it shares no code with the
// library.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "fovea/fovea.h"
#include "pattern_reference.hpp"
#include "report.hpp"

namespace reference {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

// A result may differ from the exact one by (c1 + c2 * S) * eps * max|V|; docs/numerics.md derives it. S is
// the size of a score: sum_c |scale q_c k_jc|, and what modifiers add to it. A row sees `seen` keys in
// `spans` spans of 4,096: one product of a block after the other, blocks, spans, exp2, the sums, a sink, the
// division. A score: the chain of products; softcap, ALiBi and bias round 8 times.
constexpr double eps = 1.0 / (1 << 24);
constexpr double c1(size_t seen, double spans) {
  return (seen < 256 ? static_cast<double>(seen) : 256) + 66 + 2 * spans;
}
constexpr double c2(const fovea_attention& a) {
  const bool modified = a.softcap > 0 || a.alibi != nullptr || a.mask.data != nullptr || a.sinks != nullptr;
  return 2 * (a.dim + 4.3 + (modified ? 8 : 0));
}

inline int32_t kv_heads(const fovea_attention& a) { return a.kv_heads == 0 ? a.q_heads : a.kv_heads; }
inline int32_t v_dim(const fovea_attention& a) { return a.v_dim == 0 ? a.dim : a.v_dim; }

inline double scale(const fovea_attention& a) {
  return (a.flags & FOVEA_SCALE) != 0 ? static_cast<double>(a.scale)
                                      : 1 / std::sqrt(static_cast<double>(a.dim));
}

using pattern::position;
using pattern::sees;

// What the mask adds to the score of row j of K; minus infinity hides it.
inline float bias_of(const fovea_attention& a, int32_t head, int32_t query, int32_t j) {
  const fovea_mask& m = a.mask;
  constexpr float hidden = -std::numeric_limits<float>::infinity();
  if (m.data == nullptr) return 0;
  if (m.keys > 0 && j >= m.keys) return hidden;
  const ptrdiff_t at = head * m.head_stride + query * m.query_stride + j;
  if (m.is_bias != 0) return static_cast<const float*>(m.data)[at];
  return static_cast<const uint8_t*>(m.data)[at] != 0 ? 0 : hidden;
}

// Does this row see row j of K and V, as far as numbers and the mask say?
inline bool attends(const fovea_attention& a, int32_t head, int32_t query, int32_t j) {
  return sees(a, query, int64_t{a.first_key} + j) &&
         !(bias_of(a, head, query, j) == static_cast<float>(minus_infinity));
}

inline const float* row(const fovea_in& in, int64_t head, int64_t token, int64_t tokens, int64_t dim) {
  const int64_t token_stride = in.token_stride == 0 ? dim : in.token_stride;
  const int64_t head_stride = in.head_stride == 0 ? tokens * dim : in.head_stride;
  return static_cast<const float*>(in.data) + head * head_stride + token * token_stride;
}

// Rows whose weights or scores the call asks for.
inline bool is_told(const fovea_attention& a, int32_t head, int32_t query) {
  const fovea_weights& w = a.weights;
  const int32_t heads = w.heads == 0 ? a.q_heads : w.heads, queries = w.queries == 0 ? a.queries : w.queries;
  return w.data != nullptr && head >= w.first_head && head - w.first_head < heads && query >= w.first_query &&
         query - w.first_query < queries;
}

struct answer { // all that the call asks for: [head][query][v_dim], then the log-sum-exp, then weights or
                // scores
  std::vector<double> out;
  std::vector<double> bound; // of the error, beside each

  void add(double exact, double error) { out.push_back(exact), bound.push_back(error); }
  void add(const answer& more) {
    out.insert(out.end(), more.out.begin(), more.out.end());
    bound.insert(bound.end(), more.bound.begin(), more.bound.end());
  }
};

struct score {
  double scaled, capped, biased, size; // size: of all that was added up
};

// One row: scores of the seen keys, softmax, weighted sum.
class row_of_attention {
 public:
  row_of_attention(const fovea_attention& a, int32_t head, int32_t query)
      : a_(a), head_(head), query_(query), kv_head_(head / (a.q_heads / kv_heads(a))) {
    for (int32_t j = 0; j < a.keys; ++j)
      if (attends(a, head, query, j)) seen_.push_back(j), scores_.push_back(score_of(j));
    if (a.sinks != nullptr && static_cast<double>(a.sinks[head]) > minus_infinity)
      sink_ = static_cast<double>(a.sinks[head]);
    softmax();
  }

  void tell_results(answer& result) const {
    std::vector<double> out(static_cast<size_t>(v_dim(a_)), 0.0);
    double max_v = 0;
    for (size_t n = 0; n < seen_.size(); ++n) {
      const float* v = row(a_.v, kv_head_, seen_[n], a_.keys, v_dim(a_));
      for (size_t c = 0; c < out.size(); ++c) {
        out[c] += weights_[n] * static_cast<double>(v[c]);
        max_v = std::max(max_v, std::fabs(static_cast<double>(v[c])));
      }
    }
    for (double x : out) result.add(x, error() * max_v);
  }

  void tell_lse(answer& result) const {
    const double lse = total_ == 0 ? minus_infinity : top_ + std::log(total_);
    result.add(lse, total_ == 0 ? 0 : error() + 2 * eps * std::fabs(lse));
  }

  void tell_weights(answer& result) const {
    const int32_t stage = a_.weights.stage;
    for (int32_t j = 0, n = 0; j < a_.keys; ++j) {
      const bool is_seen = static_cast<size_t>(n) < seen_.size() && seen_[static_cast<size_t>(n)] == j;
      if (!is_seen && (stage == 0 || stage == 3))
        result.add(stage == 0 ? 0 : minus_infinity, 0);
      else if (stage == 0)
        tell_weight(result, static_cast<size_t>(n));
      else
        tell_score(result, score_of(j), stage);
      n += is_seen;
    }
  }

 private:
  double error() const { return error_with(largest_size_); }
  double error_with(double size) const { return (c1(seen_.size(), spans()) + c2(a_) * size) * eps; }
  // The score of a small weight may be larger than all that count for the output. No weight is below 2^-100.
  void tell_weight(answer& result, size_t n) const {
    const double size = std::max(largest_size_, scores_[n].size);
    result.add(weights_[n], error_with(size) * weights_[n] + 1e-29);
  }

  void tell_score(answer& result, const score& s, int32_t stage) const {
    const double value = stage == 1 ? s.scaled : stage == 2 ? s.capped : s.biased;
    result.add(value, (c2(a_) / 2 * s.size + 2 * std::fabs(value)) * eps + 1e-37);
  }

  score score_of(int32_t j) const {
    const float *q = row(a_.q, head_, query_, a_.queries, a_.dim),
                *k = row(a_.k, kv_head_, j, a_.keys, a_.dim);
    double sum = 0, sum_of_sizes = 0;
    for (int32_t c = 0; c < a_.dim; ++c) {
      const double product = static_cast<double>(q[c]) * static_cast<double>(k[c]);
      sum += product;
      sum_of_sizes += std::fabs(product);
    }
    score s = {scale(a_) * sum, scale(a_) * sum, 0, std::fabs(scale(a_)) * sum_of_sizes};
    const double cap = static_cast<double>(a_.softcap),
                 bias = static_cast<double>(bias_of(a_, head_, query_, j));
    if (cap > 0) s.capped = cap * std::tanh(s.scaled / cap);
    const double distance = std::fabs(
        static_cast<double>(position(a_, query_) - pattern::key_position(a_, int64_t{a_.first_key} + j)));
    const double penalty = a_.alibi == nullptr ? 0 : static_cast<double>(a_.alibi[head_]) * distance;
    s.biased = s.capped - penalty + bias;
    s.size += std::fabs(penalty) + (bias > minus_infinity ? std::fabs(bias) : 0);
    return s;
  }

  double spans() const {
    if (seen_.empty()) return 0;
    return static_cast<double>((int64_t{a_.first_key} + seen_.back()) / 4096 -
                               (int64_t{a_.first_key} + seen_.front()) / 4096 + 1);
  }

  void softmax() {
    top_ = sink_;
    for (const score& s : scores_) top_ = std::max(top_, s.biased);
    if (top_ == minus_infinity) return;
    total_ = std::exp(sink_ - top_);
    for (const score& s : scores_) {
      weights_.push_back(std::exp(s.biased - top_));
      total_ += weights_.back();
      // e^-40 cannot be seen: how exact such a score is does not matter.
      if (s.biased + c2(a_) * eps * s.size >= top_ - 40) largest_size_ = std::max(largest_size_, s.size);
    }
    if (sink_ > top_ - 40) largest_size_ = std::max(largest_size_, std::fabs(sink_));
    for (double& w : weights_) w /= total_;
  }

  const fovea_attention& a_;
  int32_t head_, query_, kv_head_;
  std::vector<int32_t> seen_;
  std::vector<score> scores_;
  std::vector<double> weights_; // of the seen keys
  double sink_ = minus_infinity, top_ = minus_infinity, total_ = 0, largest_size_ = 0;
};

inline answer attend(const fovea_attention& a) {
  answer result, lse, weights;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const row_of_attention one(a, h, i);
      one.tell_results(result);
      if (a.lse != nullptr) one.tell_lse(lse);
      if (is_told(a, h, i)) one.tell_weights(weights);
    }
  result.add(lse);
  result.add(weights);
  return result;
}

// Checks all results at once and names the worst of them.
inline void check_results(const answer& expected, const std::vector<float>& got) {
  REQUIRE(got.size() == expected.out.size());
  size_t worst = 0;
  double worst_share = -1;
  for (size_t n = 0; n < got.size(); ++n) {
    const double value = static_cast<double>(got[n]),
                 error = value == expected.out[n] ? 0 : std::fabs(value - expected.out[n]);
    const double share = error == 0 ? 0 : error / expected.bound[n];
    if (!(share <= worst_share)) worst = n, worst_share = share; // a NaN is the worst of all
    if (worst_share != worst_share) break;
  }
  if (got.empty()) return;
  CHECK_MESSAGE(worst_share <= 1, "result ", worst, " is ", got[worst], ", exactly ", expected.out[worst],
                ", bound ", expected.bound[worst]);
  report::share_of_bound(worst_share);
}

} // namespace reference
