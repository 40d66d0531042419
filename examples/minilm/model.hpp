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

struct layer_weights {
  fovea_linear qkv, out, up, down;
  norm_weights after_attention, after_mlp;
};

struct model {
  const float *words, *positions, *types; // [vocabulary_size | positions | token_types][width]
  int32_t vocabulary_size;
  norm_weights after_embedding;
  layer_weights layer[layers];
};

// Packed weights of FOVEA_F32 or FOVEA_I8, and the biases of Q, K and V, which become one.
constexpr size_t layer_bytes(int32_t dtype) {
  return FOVEA_LINEAR_BYTES(width, 3 * width, dtype) + FOVEA_LINEAR_BYTES(width, width, dtype) +
         FOVEA_LINEAR_BYTES(width, inner, dtype) + FOVEA_LINEAR_BYTES(inner, width, dtype) +
         sizeof(float) * 3 * width;
}
constexpr size_t model_bytes(int32_t dtype) { return layers * layer_bytes(dtype); }

// Takes the weights of a safetensors file, which must stay where it is, and packs those of products into
// `memory`: model_bytes(dtype) bytes at a multiple of 64.
// `vocabulary_size` is that of the tokenizer.
refusal load(model& m, const unsigned char* file, size_t size, int32_t vocabulary_size, int32_t dtype,
             void* memory, size_t memory_bytes);

} // namespace minilm
