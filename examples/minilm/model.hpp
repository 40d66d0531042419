// The weights of all-MiniLM-L6-v2: packed for products into memory of the caller, or used where the file is
// mapped.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/linear.h"
#include "refusal.hpp"

namespace minilm {

constexpr int32_t layers = 6, width = 384, heads = 12, head_dim = width / heads, inner = 1536;
constexpr int32_t positions = 512, token_types = 2;
constexpr float norm_epsilon = 1e-12f;

struct norm_weights {
  const float *weight, *bias; // [width]
};

// A product of integers has one scale for all inputs of a row, and some channels are ten times as large as
// the others. So the channels of its input are divided by factors, and its weights multiplied by them.
struct smoothed_norm {
  float factors[width];
  float weight[width], bias[width]; // of the norm before the product, divided
};

struct layer_weights {
  fovea_linear qkv, out, up, down;
  norm_weights after_attention, after_mlp;
  const smoothed_norm *before_qkv, *before_up; // null: not smoothed
};

struct model {
  const float *words, *positions, *types; // [vocabulary_size | positions | token_types][width]
  int32_t vocabulary_size;
  norm_weights after_embedding;
  layer_weights layer[layers];
  smoothed_norm* smoothed; // memory of two for each layer; null for FOVEA_F32
};

// Packed weights of FOVEA_F32 or FOVEA_I8, the biases of Q, K and V, which become one, and smoothed norms.
constexpr size_t layer_bytes(int32_t dtype) {
  return FOVEA_LINEAR_BYTES(width, 3 * width, dtype) + FOVEA_LINEAR_BYTES(width, width, dtype) +
         FOVEA_LINEAR_BYTES(width, inner, dtype) + FOVEA_LINEAR_BYTES(inner, width, dtype) +
         sizeof(float) * 3 * width + (dtype == FOVEA_I8 ? 2 * sizeof(smoothed_norm) : 0);
}
constexpr size_t model_bytes(int32_t dtype) { return layers * layer_bytes(dtype); }

struct model_file {
  const unsigned char* bytes; // safetensors, which must stay where they are
  size_t size;
};

// Takes the weights of a file, and packs those of products into `memory`: model_bytes(dtype) bytes at a
// multiple of
// 64. `vocabulary_size` is that of the tokenizer. FOVEA_I8 is better with smoothing.hpp.
refusal load(model& m, const model_file& file, int32_t vocabulary_size, int32_t dtype, void* memory,
             size_t memory_bytes);

// Packs weights of FOVEA_I8 again, smoothed. peaks: [layers][2][width], the largest inputs of qkv and of up.
refusal smooth_by(model& m, const model_file& file, const float* peaks);

} // namespace minilm
