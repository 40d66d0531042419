// A model in llama2.c's first file format, in memory: seven int32, then float32. Nothing is copied.
//
//   width, hidden, layers, heads, kv_heads, words (negative: the classifier is not the embedding), positions
//   embedding [words][width] | attention norms | wq | wk | wv | wo | MLP norms | w1 | w2 | w3 | final norm |
//   cosines and sines, which nobody needs | classifier, if it is not the embedding
//
// Each group has the tensors of all layers, one after another. Files may come from anybody: sizes are checked
// against the length of the file, and each weight must be a finite number.
#pragma once
#include <cstddef>
#include <cstdint>

#include "minilm/refusal.hpp"

namespace stories {

using minilm::refusal;

struct shape {
  int32_t width, hidden, layers, heads, kv_heads, words, positions;
  int32_t own_classifier; // 1: it is not the embedding

  constexpr int32_t head_dim() const { return width / heads; }
  constexpr int32_t kv_width() const { return kv_heads * head_dim(); }
  constexpr int32_t qkv_width() const { return width + 2 * kv_width(); }
};

// Null if a decoder can be made of it, or a sentence.
const char* why_refused(const shape& s);

struct model_file {
  shape of;
  const float *embedding, *attention_norm, *wq, *wk, *wv, *wo, *mlp_norm, *w1, *w2, *w3, *final_norm;
  const float* classifier; // the embedding, if it is the same
};

// `bytes` at a multiple of 4.
refusal read_llama2c(const unsigned char* bytes, size_t size, model_file& file);

} // namespace stories
