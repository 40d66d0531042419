// The float32 arithmetic of docs/numerics.md once more: one row, one key, one number after the other, in
// plain scalar code. The library must give these bits on every ISA with fma; nothing here is shared with it.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "fovea/fovea.h"
#include "reference.hpp"

namespace numerics {

constexpr int64_t block_keys = 256, span_keys = 4096;
constexpr float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to a whole number
constexpr float lowest = -3e38f;
constexpr float log2_e = 1.44269504f, ln_2 = 6.93147181e-1f;
constexpr float hidden = -std::numeric_limits<float>::infinity();

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// A whole number near x. From 2^23 on every float is whole, and the sum with magic could be far off.
inline float nearest(float x) { return std::fabs(x) < 8388608.0f ? (x + magic) - magic : x; }
inline float nearest_even(float x) { return std::fabs(x) < 8388608.0f ? 2 * ((x / 2 + magic) - magic) : x; }

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// (2^r - 1) / r for |r| <= 1/2.
inline float slope_of_exp2(float r) {
  float p = fma(1.32647273e-3f, r, 9.67151299e-3f);
  p = fma(p, r, 5.55073358e-2f);
  p = fma(p, r, 2.40222424e-1f);
  return fma(p, r, 6.93147004e-1f);
}

// 2^(score - top) for a whole number top. The exponent stands in the low bits of t.
inline float exp2(float score, float top) {
  const float shift = magic - top, floor = top - 100.0f;
  const float x = score < floor ? floor : score;
  if (x != x) return x; // whatever stands in the low bits of a NaN is no exponent
  const float t = x + shift, r = x - (t - shift);
  return float_of(bits_of(fma(slope_of_exp2(r), r, 1.0f)) + (bits_of(t) << 23));
}

// log2 of a positive number: x = m 2^n, m between the roots of 1/2 and 2.
inline float log2(float x) {
  const uint32_t root_half = 0x3f3504f3u;
  const int32_t n = static_cast<int32_t>(bits_of(x) - root_half) >> 23;
  const float f = float_of(bits_of(x) - (static_cast<uint32_t>(n) << 23)) - 1.0f;
  float p = 1.25696182e-1f;
  for (float c : {-2.10060403e-1f, 2.17133313e-1f, -2.38550633e-1f, 2.87693858e-1f, -3.60720158e-1f,
                  4.80920643e-1f, -7.21347153e-1f, 1.44269490f})
    p = fma(p, f, c);
  return fma(p, f, static_cast<float>(n));
}

// cap tanh(s / cap) for a score s in base 2: m / (2 - m) with m = 1 - 2^(-2 |s| / cap).
inline float softcapped(float s, float softcap) {
  const float cap = softcap * log2_e, factor = -2.0f / softcap;
  const float steep = std::fabs(s) * factor, x = steep < -100.0f ? -100.0f : steep;
  const float t = x + magic, n = t - magic, whole = float_of(bits_of(1.0f) + (bits_of(t) << 23));
  const float m = fma(whole * (n - x), slope_of_exp2(x - n), 1.0f - whole);
  const float y = cap * (m / (2.0f - m));
  return s < 0 ? 0.0f - y : y;
}

// `least`: of a score so far below top that their difference overflows.
inline float weight(float score, float top, float least) {
  if (std::fabs(top) < 4194304.0f) return exp2(score, top);
  const float below = score - top; // top is too large for the magic number: one rounding instead
  return below == hidden ? least : exp2(below, 0.0f);
}

// What a row has gathered so far: in a block, in a span, in all spans.
struct gathered {
  bool empty = true;
  float top = lowest;
  float sum[16] = {};
  std::vector<float> out;
};

inline float scale(const fovea_attention& a) {
  const float given = (a.flags & FOVEA_SCALE) != 0 ? a.scale : 1.0f / std::sqrt(static_cast<float>(a.dim));
  return given * log2_e;
}

struct ending { // what the output of a row is multiplied by, and its log-sum-exp
  float factor, lse;
};

class row {
 public:
  row(const fovea_attention& a, int32_t head, int32_t query)
      : a_(a),
        head_(head),
        kv_head_(head / (a.q_heads / reference::kv_heads(a))),
        query_(query),
        width_(static_cast<size_t>(reference::v_dim(a))) {
    const float* given = reference::row(a.q, head, query, a.queries, a.dim);
    bool overflows = false;
    for (int32_t c = 0; c < a.dim; ++c) {
      q_.push_back(given[c] * scale(a));
      overflows = overflows || (std::isfinite(given[c]) && !std::isfinite(q_.back()));
    }
    if (overflows) shrink(given);
    all_.out.assign(width_, 0.0f);
    gather_spans();
    end_ = end();
  }

  void tell_results(std::vector<float>& to) const {
    for (float o : all_.out) to.push_back(fma(o, end_.factor, 0.0f));
  }
  void tell_lse(std::vector<float>& to) const { to.push_back(end_.lse); }
  void tell_weights(std::vector<float>& to) const {
    const int32_t stage = a_.weights.stage;
    for (int64_t j = a_.first_key; j < int64_t{a_.first_key} + a_.keys; ++j) {
      const bool is_seen = attends(j);
      if (stage == 0) to.push_back(is_seen ? weight(biased(j), all_.top, 0) * end_.factor : 0.0f);
      if (stage == 1) to.push_back(score(j) * ln_2);
      if (stage == 2) to.push_back(capped(j) * ln_2);
      if (stage == 3) to.push_back(is_seen ? biased(j) * ln_2 : hidden);
    }
  }

 private:
  // q times the scale overflows: a part of the scale below 1 goes to q, a power of two to the scores.
  void shrink(const float* given) {
    int exponent = 0;
    const float part = std::frexp(scale(a_), &exponent);
    for (size_t c = 0; c < q_.size(); ++c) q_[c] = given[c] * part;
    stretch_ = exponent;
  }

  bool attends(int64_t j) const {
    return reference::attends(a_, head_, query_, static_cast<int32_t>(j - a_.first_key));
  }

  float score(int64_t j) const {
    const float* k = reference::row(a_.k, kv_head_, j - a_.first_key, a_.keys, a_.dim);
    float s = 0;
    for (size_t c = 0; c < q_.size(); ++c) s = fma(q_[c], k[c], s);
    return std::ldexp(s, stretch_);
  }

  float capped(int64_t j) const { return a_.softcap > 0 ? softcapped(score(j), a_.softcap) : score(j); }

  // ALiBi counts from the first key of the block; what it makes of a score, and what a finite bias makes of
  // it, is held above `lowest`.
  float biased(int64_t j) const {
    float s = capped(j);
    const int64_t block = j / block_keys * block_keys, lane = j % 16;
    const float distance = static_cast<float>(reference::position(a_, query_) - block) -
                           static_cast<float>(j - block - lane);
    // A draft stands before its key, by a number that all floats here hold exactly.
    const auto behind = static_cast<float>(j - pattern::key_position(a_, j));
    const float slope = a_.alibi == nullptr ? 0.0f : -a_.alibi[head_] * log2_e;
    if (slope != 0) s = fma(slope, std::fabs((distance - static_cast<float>(lane)) + behind), s);
    if (slope != 0 && s < lowest) s = lowest;
    if (a_.mask.data == nullptr) return s;
    s = fma(log2_e, reference::bias_of(a_, head_, query_, static_cast<int32_t>(j - a_.first_key)), s);
    return s < lowest ? lowest : s;
  }

  void gather_spans() {
    const int64_t end_of_keys = int64_t{a_.first_key} + a_.keys;
    for (int64_t span = a_.first_key / span_keys * span_keys; span < end_of_keys; span += span_keys) {
      gathered of_span;
      const int64_t first = std::max(span, a_.first_key / block_keys * block_keys); // the first with a key
      for (int64_t block = first; block < span + span_keys && block < end_of_keys; block += block_keys)
        visit(block, of_span);
      merge(of_span, all_);
    }
  }

  void visit(int64_t block, gathered& span) const {
    std::vector<int64_t> seen;
    std::vector<float> scores;
    float peak = lowest;
    for (int64_t j = block; j < block + block_keys; ++j)
      if (attends(j)) {
        seen.push_back(j);
        scores.push_back(biased(j));
        peak = scores.back() > peak ? scores.back() : peak;
      }
    if (seen.empty()) return;
    merge(gather(seen, scores, nearest_even(peak)), span);
  }

  // Does an option change or hide scores of the block?
  bool changes_scores(int64_t block) const {
    const int64_t drafts = int64_t{a_.first_key} + a_.keys - a_.queries;
    const bool has_drafts = a_.pattern != nullptr && a_.pattern->parents != nullptr &&
                            block + block_keys > drafts;
    return a_.softcap > 0 || a_.alibi != nullptr || a_.mask.data != nullptr || has_drafts;
  }

  gathered gather(const std::vector<int64_t>& seen, const std::vector<float>& scores, float top) const {
    gathered block;
    block.empty = false;
    block.top = top;
    block.out.assign(width_, 0.0f);
    const float least = changes_scores(seen[0] / block_keys * block_keys) ? 0 : 0x1p-100f;
    for (size_t n = 0; n < seen.size(); ++n) {
      const float* v = reference::row(a_.v, kv_head_, seen[n] - a_.first_key, a_.keys, reference::v_dim(a_));
      const float w = weight(scores[n], top, least);
      block.sum[seen[n] % 16] += w;
      for (size_t c = 0; c < width_; ++c) block.out[c] = fma(w, v[c], block.out[c]);
    }
    return block;
  }

  // A block joins its span, and a span all spans before it. The first of them is what they have.
  void merge(const gathered& next, gathered& all) const {
    if (next.empty) return;
    if (all.empty) {
      all = next;
      return;
    }
    const float top = all.top > next.top ? all.top : next.top;
    const float old_part = exp2(all.top - top, 0.0f), new_part = exp2(next.top - top, 0.0f);
    for (int i = 0; i < 16; ++i) all.sum[i] = fma(all.sum[i], old_part, next.sum[i] * new_part);
    for (size_t c = 0; c < width_; ++c) all.out[c] = fma(all.out[c], old_part, next.out[c] * new_part);
    all.top = top;
  }

  // The sink joins the sum; its reference may be the higher one.
  ending end() const {
    float tree[16];
    std::memcpy(tree, all_.sum, sizeof tree);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) tree[i] += tree[i + half];
    const float logit = a_.sinks == nullptr ? hidden : a_.sinks[head_] * log2_e;
    const float highest = nearest(logit) > all_.top ? nearest(logit) : all_.top,
                old = exp2(all_.top - highest, 0.0f);
    const float total = fma(tree[0], old, logit == hidden ? 0.0f : exp2(logit - highest, 0.0f));
    if (total != total) return {total, total};
    if (!(total > 0)) return {0.0f, hidden};
    return {old * (1.0f / total), (highest + log2(total)) * ln_2 + 0.0f};
  }

  const fovea_attention& a_;
  int32_t head_, kv_head_, query_;
  size_t width_;
  std::vector<float> q_;
  int stretch_ = 0; // scores are times 2 to this power
  gathered all_;
  ending end_ = {};
};

// All that the call asks for, in the order of problem::results.
inline std::vector<float> attend(const fovea_attention& a) {
  std::vector<float> all, lse, weights;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const row result(a, h, i);
      result.tell_results(all);
      if (a.lse != nullptr) result.tell_lse(lse);
      if (reference::is_told(a, h, i)) result.tell_weights(weights);
    }
  all.insert(all.end(), lse.begin(), lse.end());
  all.insert(all.end(), weights.begin(), weights.end());
  return all;
}

} // namespace numerics
