// One scale for all queries of a head, and one for each key and each value. Keys are quantised relative to
// their mean, which changes no softmax.
#include "fixed_head.hpp"

#include <algorithm>

#include "fovea/fixed.hpp"
#include "fovea/fixed_quantize.h"

namespace minilm {
namespace {

// Keeps the first status that is not FOVEA_OK.
class quantiser {
 public:
  explicit quantiser(int32_t tokens) : tokens_(tokens) {}

  int32_t status() const { return status_; }

  fovea_float_rows rows(const float* data, ptrdiff_t stride) const {
    return {data, stride, tokens_, head_dim};
  }

  float quantise(const fovea_float_rows& x, int8_t* out) {
    float scale = 1;
    note(fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &scale));
    note(fovea_fixed_quantize_s8(&x, scale, 0, out));
    return scale;
  }

  // Each row by a scale of its own; returns the largest. Rows of zeros, which any scale suits, take no part.
  float quantise_rows(const fovea_float_rows& x, float* scales, int8_t* out) {
    float largest = 1;
    note(fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &largest));
    note(fovea_fixed_quantize_tokens(&x, scales, out));
    for (int32_t i = 0; i < tokens_; ++i) scales[i] = std::min(scales[i], largest);
    return largest;
  }

  void subtract_mean(const fovea_float_rows& x, float* out) {
    float mean[head_dim];
    note(fovea_fixed_mean(&x, mean));
    note(fovea_fixed_subtract(&x, mean, out));
  }

 private:
  void note(int32_t status) {
    if (status_ == FOVEA_OK) status_ = status;
  }

  int32_t tokens_;
  int32_t status_ = FOVEA_OK;
};

} // namespace

int32_t attend_int8(const float* qkv, float* context, int32_t tokens, int32_t isa, worker_space& own) {
  quantiser to_int8(tokens);
  fovea::real_scales scales;
  scales.q = to_int8.quantise(to_int8.rows(qkv, 3 * width), own.q);
  to_int8.subtract_mean(to_int8.rows(qkv + width, 3 * width), own.keys);
  scales.k = to_int8.quantise_rows(to_int8.rows(own.keys, head_dim), own.key_scales, own.k);
  scales.v = to_int8.quantise_rows(to_int8.rows(qkv + 2 * width, 3 * width), own.value_scales, own.v);
  if (to_int8.status() != FOVEA_OK) return to_int8.status();

  const fovea::fixed_scale_answer scale = fovea::make_fixed_scale(scales, head_dim);
  if (scale.refusal) return FOVEA_RANGE + 256 * FOVEA_ARG_SCALE;
  for (int32_t i = 0; i < tokens; ++i) {
    own.key_multipliers[i] = std::max(1, fovea::key_multiplier(scale.scale, own.key_scales[i], scales.k));
    own.value_weights[i] = fovea::value_weight(own.value_scales[i], scales.v);
  }
  fovea_fixed_attention a = {};
  a.q.data = own.q;
  a.k.data = own.k;
  a.v.data = own.v;
  a.out.data = context;
  a.out.token_stride = width;
  a.out.dtype = FOVEA_FIXED_F32;
  a.q_heads = 1;
  a.dim = head_dim;
  a.queries = a.keys = tokens;
  a.scale = scale.scale;
  a.key_multipliers.data = own.key_multipliers;
  a.value_weights.data = own.value_weights;
  a.isa = isa;
  return fovea_fixed_attend(&a, own.fixed_attention, sizeof own.fixed_attention);
}

} // namespace minilm
