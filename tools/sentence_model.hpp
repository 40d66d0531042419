// The model of `fovea embed` and `fovea bank`: opened from a folder, and run by a crew.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "crew.hpp"
#include "minilm/encoder.hpp"
#include "minilm/mapped_file.hpp"
#include "minilm/tokenizer.hpp"

namespace demo {

// vocab.txt of a folder. Throws usage_error.
class model_words {
 public:
  explicit model_words(const std::string& folder);
  const minilm::vocabulary& words() const { return *words_; }

 private:
  minilm::mapped_file file_;
  std::unique_ptr<minilm::vocabulary> words_;
};

struct model_options {
  std::string folder;
  bool int8_weights = false;
  minilm::arithmetic how;
  int threads = 1;
};

int32_t fixed_isa_by_name(const std::string& name); // throws usage_error
std::vector<flag> model_flags();
model_options read_model_options(const flags& given); // throws usage_error

// model.safetensors and vocab.txt of a folder, and the memory of all that runs. Throws usage_error.
class sentence_model {
 public:
  explicit sentence_model(const model_options& options);

  const minilm::vocabulary& words() const { return words_.words(); }
  // Embeddings of a batch. Throws usage_error if they are not numbers.
  void encode(const minilm::batch& sentences, float* embeddings, const minilm::insight& seen = {});

 private:
  model_options options_;
  model_words words_;
  minilm::mapped_file file_;
  minilm::model model_;
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<minilm::batch_space> shared_;
  std::vector<std::unique_ptr<minilm::worker_space>> own_;
  crew crew_;
};

int run_tokens(const std::vector<std::string>& arguments);
int run_embed(const std::vector<std::string>& arguments);
int run_bank(const std::vector<std::string>& arguments);

} // namespace demo
