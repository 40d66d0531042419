// Attention as a textbook writes it, in double, for comparison. It reads the call; it shares no code with the library.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "fovea/fovea.h"
#include "report.hpp"

namespace reference {

// A result may differ from the exact one by (c1 + c2 * S) * eps * max|V|, S = max_j sum_c |scale q_c k_jc|; docs/numerics.md derives it.
// A row sees `seen` keys in `spans` spans of 4,096: one product of a block after the other, blocks, spans, exp2, the sums, the division.
constexpr double eps = 1.0 / (1 << 24);
constexpr double c1(size_t seen, double spans) { return (seen < 256 ? static_cast<double>(seen) : 256) + 62 + 2 * spans; }
constexpr double c2(int32_t dim) { return 2 * (dim + 4.3); }

inline int32_t kv_heads(const fovea_attention& a) { return a.kv_heads == 0 ? a.q_heads : a.kv_heads; }
inline int32_t v_dim(const fovea_attention& a) { return a.v_dim == 0 ? a.dim : a.v_dim; }

inline double scale(const fovea_attention& a) {
  return (a.flags & FOVEA_SCALE) != 0 ? static_cast<double>(a.scale) : 1 / std::sqrt(static_cast<double>(a.dim));
}

// The position of query i; unless it is given, the queries are the last keys.
inline int64_t position(const fovea_attention& a, int64_t i) {
  if ((a.flags & FOVEA_POSITION) != 0) return a.position + i;
  return int64_t{a.first_key} + a.keys - a.queries + i;
}

// Does query i see key j, counted from absolute key 0?
inline bool sees(const fovea_attention& a, int64_t i, int64_t j) {
  const int64_t p = position(a, i);
  const bool given = a.first_key <= j && j < int64_t{a.first_key} + a.keys;
  const bool past = (a.flags & FOVEA_CAUSAL) == 0 || j <= p;
  const bool left = a.window_left < 0 || p - a.window_left <= j;
  const bool right = a.window_right < 0 || j <= p + a.window_right;
  const bool near = (a.flags & FOVEA_WINDOW) == 0 || j < a.keep_first || (left && right);
  return given && (j < a.prefix || (past && near));
}

inline const float* row(const fovea_in& in, int64_t head, int64_t token, int64_t tokens, int64_t dim) {
  const int64_t token_stride = in.token_stride == 0 ? dim : in.token_stride;
  const int64_t head_stride = in.head_stride == 0 ? tokens * dim : in.head_stride;
  return static_cast<const float*>(in.data) + head * head_stride + token * token_stride;
}

struct answer {
  std::vector<double> out;   // [head][query][v_dim]
  std::vector<double> bound; // of the error, beside each
};

// One row: scores of the seen keys, softmax, weighted sum.
class row_of_attention {
 public:
  row_of_attention(const fovea_attention& a, int32_t head, int32_t query) : a_(a), kv_head_(head / (a.q_heads / kv_heads(a))) {
    const float* q = row(a.q, head, query, a.queries, a.dim);
    for (int32_t j = 0; j < a.keys; ++j)
      if (sees(a, query, int64_t{a.first_key} + j)) score(q, j);
    softmax();
  }

  void append_to(answer& result) const {
    std::vector<double> out(static_cast<size_t>(v_dim(a_)), 0.0);
    double max_v = 0;
    for (size_t n = 0; n < seen_.size(); ++n) {
      const float* v = row(a_.v, kv_head_, seen_[n], a_.keys, v_dim(a_));
      for (size_t c = 0; c < out.size(); ++c) {
        out[c] += weights_[n] * static_cast<double>(v[c]);
        max_v = std::max(max_v, std::fabs(static_cast<double>(v[c])));
      }
    }
    result.out.insert(result.out.end(), out.begin(), out.end());
    result.bound.insert(result.bound.end(), out.size(), (c1(seen_.size(), spans()) + c2(a_.dim) * largest_sum_) * eps * max_v);
  }

 private:
  void score(const float* q, int32_t j) {
    const float* k = row(a_.k, kv_head_, j, a_.keys, a_.dim);
    double sum = 0, sum_of_sizes = 0;
    for (int32_t c = 0; c < a_.dim; ++c) {
      const double product = static_cast<double>(q[c]) * static_cast<double>(k[c]);
      sum += product;
      sum_of_sizes += std::fabs(product);
    }
    seen_.push_back(j);
    weights_.push_back(scale(a_) * sum);
    largest_sum_ = std::max(largest_sum_, std::fabs(scale(a_)) * sum_of_sizes);
  }

  double spans() const {
    if (seen_.empty()) return 0;
    return static_cast<double>((int64_t{a_.first_key} + seen_.back()) / 4096 - (int64_t{a_.first_key} + seen_.front()) / 4096 + 1);
  }

  void softmax() {
    if (weights_.empty()) return;
    const double top = *std::max_element(weights_.begin(), weights_.end());
    double total = 0;
    for (double& w : weights_) total += (w = std::exp(w - top));
    for (double& w : weights_) w /= total;
  }

  const fovea_attention& a_;
  int32_t kv_head_;
  std::vector<int32_t> seen_;
  std::vector<double> weights_; // first scores, then weights
  double largest_sum_ = 0;
};

inline answer attend(const fovea_attention& a) {
  answer result;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) row_of_attention(a, h, i).append_to(result);
  return result;
}

// Checks all results at once and names the worst of them.
inline void check_results(const answer& expected, const std::vector<float>& got) {
  REQUIRE(got.size() == expected.out.size());
  size_t worst = 0;
  double worst_share = -1;
  for (size_t n = 0; n < got.size(); ++n) {
    const double error = std::fabs(static_cast<double>(got[n]) - expected.out[n]);
    const double share = error == 0 ? 0 : error / expected.bound[n];
    if (!(share <= worst_share)) worst = n, worst_share = share; // a NaN is the worst of all
    if (worst_share != worst_share) break;
  }
  if (got.empty()) return;
  CHECK_MESSAGE(worst_share <= 1, "result ", worst, " is ", got[worst], ", exactly ", expected.out[worst], ", bound ",
                expected.bound[worst]);
  report::share_of_bound(worst_share);
}

} // namespace reference
