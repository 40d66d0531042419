// The model of `fovea stories`: opened from a folder, packed, and run by a crew.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "crew.hpp"
#include "minilm/mapped_file.hpp"
#include "stories/decoder.hpp"
#include "stories/llama2c.hpp"
#include "stories/sampler.hpp"
#include "stories/tokenizer.hpp"

namespace demo {

// Bytes at a multiple of 64, all zero. Throws usage_error where the machine does not have them.
class aligned_bytes {
 public:
  explicit aligned_bytes(uint64_t size);
  unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::unique_ptr<unsigned char[]> memory_;
  unsigned char* data_;
  size_t size_;
};

// A model of a folder, packed as an image: stories260K.bin and tok512.bin of llama2.c, or config.json and
// model.safetensors of transformers. Throws usage_error.
class story_files {
 public:
  story_files(const std::string& folder, int32_t dtype);

  const stories::model& model() const { return model_; }
  bool has_words() const { return words_file_ != nullptr; } // of llama2.c
  const stories::vocabulary& words() const { return words_; }

  // The tokens of a prompt.
  std::vector<int32_t> tokens_of(const std::string& prompt) const;
  // Throws usage_error if the model has no positions for a prompt and `more` tokens, or no such token.
  void check_tokens(const std::vector<int32_t>& prompt, int64_t more) const;

 private:
  void read_llama2c(const std::string& folder, int32_t dtype);
  void read_llama(const std::string& folder, int32_t dtype);
  void pack(const stories::model_file& file, int32_t dtype, const std::string& path);

  std::unique_ptr<minilm::mapped_file> words_file_;
  std::unique_ptr<aligned_bytes> image_;
  stories::model model_;
  stories::vocabulary words_;
  std::vector<uint32_t> index_;
};

// A decoder with memory of its own. Throws usage_error.
class story_decoder {
 public:
  static constexpr int32_t rows = 32; // tokens of a prompt that are read at once

  // `cache`: FOVEA_F32 or FOVEA_I8.
  story_decoder(const stories::model& m, int32_t tokens, const stories::arithmetic& how, int threads,
                int32_t cache = FOVEA_F32);

  void begin();
  // Reads tokens; the logits of the last one.
  float* read(const int32_t* ids, int32_t count);
  const unsigned char* caches() const { return caches_.data(); }
  size_t caches_size() const { return caches_.size(); }

 private:
  void check(int32_t status) const;

  aligned_bytes caches_, numbers_;
  stories::decoder decoder_;
  std::vector<float> logits_;
  std::vector<std::unique_ptr<aligned_bytes>> scratch_;
  crew crew_;
};

std::vector<flag> story_model_flags();
std::string story_folder(const flags& given); // throws usage_error
int32_t story_dtype(const flags& given);      // of --int8 and --int4

int run_stories(const std::vector<std::string>& arguments);

} // namespace demo
