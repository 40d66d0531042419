// A model before it is packed: its shape, and the rows of its tensors, which stay where they were read.
#pragma once
#include <cstdint>
#include <cstring>

#include "fovea/linear.h"
#include "fovea/ops.h"
#include "minilm/refusal.hpp"

namespace stories {

using minilm::refusal;

struct shape {
  int32_t width, hidden, layers, heads, kv_heads, words, positions;
  int32_t own_classifier;   // 1: it is not the embedding
  int32_t own_head_dim = 0; // numbers of a head; 0: width / heads
  int32_t half_pairs = 0;   // what RoPE rotates. 1: numbers i and i + head_dim / 2; 0: neighbours
  int32_t qkv_bias = 0;     // 1: W_Q, W_K and W_V have a bias
  float norm_epsilon = 0;   // 0: 1e-5

  constexpr int32_t head_dim() const { return own_head_dim ? own_head_dim : width / heads; }
  constexpr int32_t q_width() const { return heads * head_dim(); }
  constexpr int32_t kv_width() const { return kv_heads * head_dim(); }
  constexpr int32_t qkv_width() const { return q_width() + 2 * kv_width(); }
};

// Null if a decoder can be made of it, or a sentence.
const char* why_refused(const shape& s);

// Rows of FOVEA_F32, FOVEA_F16 or FOVEA_BF16 without a gap; those of a vector are single numbers.
struct layer_tensors {
  fovea_rows_in attention_norm, wq, wk, wv, wo, mlp_norm, w1, w2, w3;
  fovea_rows_in bq, bk, bv; // with qkv_bias
};

struct model_file {
  shape of;
  fovea_rope_frequencies rope;
  fovea_rows_in embedding, final_norm;
  fovea_rows_in classifier; // the embedding, if it is the same
  layer_tensors (*find_layer)(const model_file& file, int32_t index);
  const void* layers; // what find_layer looks into

  layer_tensors layer(int32_t index) const { return find_layer(*this, index); }
};

// Number `index` of a tensor, which is finite.
inline float number_at(const fovea_rows_in& tensor, ptrdiff_t index) {
  if (tensor.dtype == FOVEA_F32) return static_cast<const float*>(tensor.data)[index];
  const uint32_t half = static_cast<const uint16_t*>(tensor.data)[index];
  const bool is_f16 = tensor.dtype == FOVEA_F16;
  const uint32_t bits = is_f16 ? (half & 0x8000u) << 16 | (half & 0x7fffu) << 13 : half << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return is_f16 ? number * 0x1p112f : number; // the exponents of float16 begin 112 later
}

inline bool all_finite(const fovea_rows_in& tensor, uint64_t count) {
  const uint32_t exponent = tensor.dtype == FOVEA_F32   ? 0x7f800000u
                            : tensor.dtype == FOVEA_F16 ? 0x7c00u
                                                        : 0x7f80u;
  bool finite = true;
  if (tensor.dtype == FOVEA_F32) {
    for (uint64_t i = 0; i < count; ++i) {
      uint32_t bits;
      std::memcpy(&bits, static_cast<const float*>(tensor.data) + i, sizeof bits);
      finite &= (bits & exponent) != exponent;
    }
  } else {
    for (uint64_t i = 0; i < count; ++i)
      finite &= (static_cast<const uint16_t*>(tensor.data)[i] & exponent) != exponent;
  }
  return finite;
}

} // namespace stories
