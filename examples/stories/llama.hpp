// A model as transformers saves it: config.json and model.safetensors of Llama, or of a model that differs
// only in sizes and in biases of W_Q, W_K and W_V, as Qwen2 does. Both files are in memory. Nothing is
// copied.
//
// Files may come from anybody: each tensor must have the shape that the configuration gives it, and finite
// numbers. A tensor that this decoder has no use for is refused, because the model would be another.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

#include "minilm/safetensors.hpp"
#include "model_file.hpp"

namespace stories {

class llama_files {
 public:
  llama_files() = default;
  llama_files(const llama_files&) = delete;
  llama_files& operator=(const llama_files&) = delete;

  refusal read_config(std::string_view json);
  refusal read_tensors(const unsigned char* safetensors, size_t size); // after the configuration

  const model_file& file() const { return file_; } // as long as this object and both files stay

 private:
  refusal take_all(std::vector<minilm::tensor>& tensors, size_t count);

  model_file file_ = {};
  std::vector<layer_tensors> layers_;
};

} // namespace stories
