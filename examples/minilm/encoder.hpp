// Token numbers in, sentence embeddings out. All memory is given: the weights as model.hpp packed them, the
// numbers of a batch in a `batch_space`, and what each worker needs for itself in a `worker_space`.
#pragma once
#include <cstddef>
#include <cstdint>

#include "fovea/layer.h"
#include "model.hpp"

namespace minilm {

constexpr int32_t batch_tokens = 256; // one long sentence, or several short ones
constexpr int32_t batch_sentences = 64;

// Sentences one behind the other: sentence s has the tokens ids[starts[s]] .. ids[starts[s + 1] - 1].
struct batch {
  const int32_t* ids;
  const int32_t* starts; // [sentences + 1], the first is 0
  int32_t sentences;
};

struct arithmetic {
  bool int8_attention = false; // of the weights, model.hpp decides
  int32_t isa = FOVEA_ISA_BEST, fixed_isa = FOVEA_FIXED_BEST;
};

// Workers with the same batch, space and arithmetic run encode() at the same time, each with its own index.
// Where one needs what others compute, it calls `wait`, which returns when all have called it.
struct team {
  fovea_part part = {0, 1};
  void (*wait)(void* context) = nullptr; // not called for one worker
  void* context = nullptr;
};

// What is computed on the way, for those who want to look at it. Null: not wanted.
struct insight {
  float* vectors = nullptr; // [layers + 1][tokens][width]: behind the embedding, and behind each layer
  float* weights = nullptr; // [layers][heads][tokens][tokens] of the attention in floats, of one sentence
  float* peaks = nullptr;   // [layers][2][width]: the largest inputs of qkv and of up so far; one worker
};

struct alignas(64) batch_space {
  float x[batch_tokens * width]; // at the end: a vector for each token
  float sum[batch_tokens * width];
  float smoothed[batch_tokens * width];
  float hidden[batch_tokens * inner];
  alignas(64) unsigned char attention[FOVEA_LAYER_SHARED(batch_tokens, batch_tokens, heads, heads, head_dim,
                                                         head_dim)];
};

constexpr size_t product_scratch = FOVEA_MULTIPLY_SCRATCH(inner, batch_tokens, int32_t{FOVEA_I8});
constexpr size_t layer_scratch = FOVEA_MULTIPLY_SCRATCH(width, batch_tokens, int32_t{FOVEA_I8}) +
                                 FOVEA_SCRATCH_FAST(head_dim, head_dim, batch_tokens, batch_tokens) +
                                 FOVEA_LAYER_SCRATCH_I8(batch_tokens, batch_tokens, heads, heads, head_dim,
                                                        head_dim);

struct alignas(64) worker_space {
  unsigned char scratch[product_scratch > layer_scratch ? product_scratch : layer_scratch];
};

// Writes [sentences][width] numbers, each row of length 1. The numbers depend on nothing but the tokens of
// the sentence: not on the rest of the batch, the number of workers or the ISA. Returns a status of fovea; on
// any but FOVEA_OK the embeddings are undefined.
int32_t encode(const model& m, const batch& b, const arithmetic& how, float* embeddings, batch_space& shared,
               worker_space& own, const team& workers = {}, const insight& seen = {});

} // namespace minilm
