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

#include "model_file.hpp"

namespace stories {

// `bytes` at a multiple of 4.
refusal read_llama2c(const unsigned char* bytes, size_t size, model_file& file);

} // namespace stories
