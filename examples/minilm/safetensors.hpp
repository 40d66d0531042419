// Tensors of a safetensors file that is in memory, a mapped one for example. Nothing is copied and no memory
// is allocated: names and data stay in the file.
//
//   8 bytes: length of the header, little-endian | header: JSON | data
//   {"weight": {"dtype": "F32", "shape": [384, 384], "data_offsets": [0, 589824]}, ...}
//
// The reader is strict, as files may come from anybody: all tensors together are the data, without gap and
// without overlap, each as long as its shape says. JSON that the format does not need is refused, so nothing
// recurses and no number is rounded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "refusal.hpp"

namespace minilm {

constexpr int most_dims = 8;
constexpr uint64_t longest_header = 100'000'000; // the limit of the format

struct tensor {
  std::string_view name;
  std::string_view dtype; // "F32", "BF16", ...
  uint64_t shape[most_dims];
  int dims; // 0: one number
  const unsigned char* data;
  uint64_t bytes;
  uint64_t begin; // of the data, counted from the end of the header
};

// Fills tensors[0 .. count - 1], in the order of their data. A file with more tensors than `room` is refused.
refusal read_safetensors(const unsigned char* file, size_t size, tensor* tensors, size_t room, size_t& count);

const tensor* find_tensor(const tensor* tensors, size_t count, std::string_view name); // null: not there

} // namespace minilm
