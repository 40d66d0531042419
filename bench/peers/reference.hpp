// Attention in double, straight from its formula, for some rows of every head: enough to tell a wrong peer.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "peer.hpp"

namespace bench {

inline std::vector<double> reference_row(const tensors& t, int head, int query) {
  const work& w = t.what;
  const ptrdiff_t cache = static_cast<ptrdiff_t>(head / (w.q_heads / w.kv_heads)) * w.keys * w.dim;
  const float* q = t.q + (static_cast<ptrdiff_t>(head) * w.queries + query) * w.dim;
  const int seen = w.causal ? w.keys - w.queries + query + 1 : w.keys;
  std::vector<double> p(static_cast<size_t>(seen)), out(static_cast<size_t>(w.dim));
  double sum = 0, top = -HUGE_VAL;
  for (int j = 0; j < seen; ++j) {
    double& s = p[static_cast<size_t>(j)];
    for (int c = 0; c < w.dim; ++c)
      s += double{q[c]} * double{t.k[cache + static_cast<ptrdiff_t>(j) * w.dim + c]};
    s /= std::sqrt(static_cast<double>(w.dim));
    top = std::max(top, s);
  }
  for (double& s : p) sum += s = std::exp(s - top);
  for (int j = 0; j < seen; ++j)
    for (int c = 0; c < w.dim; ++c)
      out[static_cast<size_t>(c)] += p[static_cast<size_t>(j)] / sum *
                                     double{t.v[cache + static_cast<ptrdiff_t>(j) * w.dim + c]};
  return out;
}

// The largest error over a few rows of every head, the last one among them.
inline double largest_error(const tensors& t) {
  const int step = std::max(1, t.what.queries / 8);
  double worst = 0;
  for (int head = 0; head < t.what.q_heads; ++head)
    for (int query = t.what.queries - 1; query >= 0; query -= step) {
      const std::vector<double> right = reference_row(t, head, query);
      const float* out = t.out + (static_cast<ptrdiff_t>(head) * t.what.queries + query) * t.what.dim;
      for (int c = 0; c < t.what.dim; ++c) {
        const double error = std::fabs(out[c] - right[static_cast<size_t>(c)]);
        if (std::isnan(error)) return HUGE_VAL;
        worst = std::max(worst, error);
      }
    }
  return worst;
}

} // namespace bench
