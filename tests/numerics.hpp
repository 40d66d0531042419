// The float32 arithmetic of docs/numerics.md once more: one row, one key, one number after the other, in plain scalar code.
// The library must give these bits on every ISA with fma; nothing here is shared with it.
#pragma once
#include <cmath>
#include <cstring>
#include <vector>

#include "fovea/fovea.h"
#include "reference.hpp"

namespace numerics {

constexpr int64_t block_keys = 256, span_keys = 4096;
constexpr float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to a whole number
constexpr float lowest = -3e38f;

inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }

// A whole number near x. From 2^23 on every float is whole, and the sum with magic could be far off.
inline float nearest(float x) { return std::fabs(x) < 8388608.0f ? (x + magic) - magic : x; }

// 2^(score - top) for a whole number top.
inline float exp2(float score, float top) {
  const float shift = magic - top, floor = top - 100.0f;
  const float x = score < floor ? floor : score;
  const float t = x + shift, r = x - (t - shift);
  float p = fma(1.32647273e-3f, r, 9.67151299e-3f);
  p = fma(p, r, 5.55073358e-2f);
  p = fma(p, r, 2.40222424e-1f);
  p = fma(p, r, 6.93147004e-1f);
  p = fma(p, r, 1.0f);
  uint32_t exponent, bits;
  std::memcpy(&exponent, &t, sizeof t);
  std::memcpy(&bits, &p, sizeof p);
  bits += exponent << 23;
  std::memcpy(&p, &bits, sizeof p);
  return p;
}

inline float weight(float score, float top) {
  if (std::fabs(top) < 4194304.0f) return exp2(score, top);
  return exp2(score - top, 0.0f); // top is too large for the magic number: one rounding instead
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
  return given * 1.44269504f;
}

class row {
 public:
  row(const fovea_attention& a, int32_t head, int32_t query)
      : a_(a), head_(head / (a.q_heads / reference::kv_heads(a))), query_(query), width_(static_cast<size_t>(reference::v_dim(a))) {
    const float* given = reference::row(a.q, head, query, a.queries, a.dim);
    for (int32_t c = 0; c < a.dim; ++c) q_.push_back(given[c] * scale(a));
  }

  std::vector<float> attend() const {
    const int64_t end = int64_t{a_.first_key} + a_.keys;
    gathered all;
    for (int64_t span = a_.first_key / span_keys * span_keys; span < end; span += span_keys) {
      gathered of_span;
      for (int64_t block = span; block < span + span_keys && block < end; block += block_keys) visit(block, of_span);
      merge(of_span, all);
    }
    return finish(all);
  }

 private:
  float score(int64_t j) const {
    const float* k = reference::row(a_.k, head_, j - a_.first_key, a_.keys, a_.dim);
    float s = 0;
    for (size_t c = 0; c < q_.size(); ++c) s = fma(q_[c], k[c], s);
    return s;
  }

  void visit(int64_t block, gathered& span) const {
    std::vector<int64_t> seen;
    std::vector<float> scores;
    float peak = lowest;
    for (int64_t j = block; j < block + block_keys; ++j)
      if (reference::sees(a_, query_, j)) {
        seen.push_back(j);
        scores.push_back(score(j));
        peak = scores.back() > peak ? scores.back() : peak;
      }
    if (seen.empty()) return;
    const float top = nearest(peak) > span.top ? nearest(peak) : span.top;
    enter(gather(seen, scores, top), span);
  }

  gathered gather(const std::vector<int64_t>& seen, const std::vector<float>& scores, float top) const {
    gathered block;
    block.top = top;
    block.out.assign(width_, 0.0f);
    for (size_t n = 0; n < seen.size(); ++n) {
      const float* v = reference::row(a_.v, head_, seen[n] - a_.first_key, a_.keys, reference::v_dim(a_));
      const float w = weight(scores[n], top);
      block.sum[seen[n] % 16] += w;
      for (size_t c = 0; c < width_; ++c) block.out[c] = fma(w, v[c], block.out[c]);
    }
    return block;
  }

  // A block joins its span with one fma; the first one is the span.
  void enter(const gathered& block, gathered& span) const {
    if (span.empty) {
      span = block;
      span.empty = false;
      return;
    }
    const float rescale = exp2(span.top - block.top, 0.0f);
    for (int i = 0; i < 16; ++i) span.sum[i] = fma(span.sum[i], rescale, block.sum[i]);
    for (size_t c = 0; c < width_; ++c) span.out[c] = fma(span.out[c], rescale, block.out[c]);
    span.top = block.top;
  }

  void merge(const gathered& span, gathered& all) const {
    if (span.empty) return;
    if (all.empty) {
      all = span;
      return;
    }
    const float top = all.top > span.top ? all.top : span.top;
    const float old_part = exp2(all.top - top, 0.0f), new_part = exp2(span.top - top, 0.0f);
    for (int i = 0; i < 16; ++i) all.sum[i] = fma(all.sum[i], old_part, span.sum[i] * new_part);
    for (size_t c = 0; c < width_; ++c) all.out[c] = fma(all.out[c], old_part, span.out[c] * new_part);
    all.top = top;
  }

  std::vector<float> finish(const gathered& all) const {
    if (all.empty) return std::vector<float>(width_, 0.0f);
    float tree[16];
    std::memcpy(tree, all.sum, sizeof tree);
    for (int half = 8; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) tree[i] += tree[i + half];
    const float inverse = 1.0f / tree[0];
    std::vector<float> result;
    for (float o : all.out) result.push_back(fma(o, inverse, 0.0f));
    return result;
  }

  const fovea_attention& a_;
  int32_t head_, query_;
  size_t width_;
  std::vector<float> q_;
};

inline std::vector<float> attend(const fovea_attention& a) {
  std::vector<float> all;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const std::vector<float> result = row(a, h, i).attend();
      all.insert(all.end(), result.begin(), result.end());
    }
  return all;
}

} // namespace numerics
