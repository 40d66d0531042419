// A decoder of any shape with seeded random weights, packed. All layers have the same numbers, each in memory
// of its own.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "stories/image.hpp"
#include "stories/image_layout.hpp"

namespace bench {

// Bytes at a multiple of 64, all zero.
class aligned_block {
 public:
  explicit aligned_block(uint64_t size) : memory_(static_cast<size_t>(size) + 63) {
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    data_ = memory_.data() + ((at + 63) / 64 * 64 - at);
    size_ = static_cast<size_t>(size);
  }
  unsigned char* data() { return data_; }
  size_t size() const { return size_; }

 private:
  std::vector<unsigned char> memory_;
  unsigned char* data_;
  size_t size_;
};

class random_model {
 public:
  random_model(const stories::shape& s, int32_t dtype) : image_(stories::image_size(s, dtype)) {
    const int32_t most_rows = std::max({s.words, s.hidden, s.q_width(), s.width});
    numbers_.resize(static_cast<size_t>(std::max(s.width, s.hidden)) * static_cast<size_t>(most_rows) +
                    8 * apart);
    uint32_t state = 1;
    const float size = 1.7f / std::sqrt(static_cast<float>(s.width)); // outputs are about as large as inputs
    for (float& x : numbers_) {
      state = state * 1664525 + 1013904223;
      x = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f * size;
    }
    ones_.assign(static_cast<size_t>(s.width), 1.0f);
    stories::model_file file = {};
    file.of = s;
    file.rope.rotary_dim = s.head_dim();
    file.embedding = file.classifier = rows(numbers_.data());
    file.final_norm = rows(ones_.data());
    file.layers = this;
    file.find_layer = [](const stories::model_file& f, int32_t) {
      const auto& self = *static_cast<const random_model*>(f.layers);
      stories::layer_tensors t = {};
      fovea_rows_in* const all[] = {&t.wq, &t.wk, &t.wv, &t.wo, &t.w1, &t.w2, &t.w3};
      for (size_t i = 0; i < 7; ++i) *all[i] = rows(self.numbers_.data() + (i + 1) * apart);
      t.attention_norm = t.mlp_norm = rows(self.ones_.data());
      return t;
    };
    stories::refusal refused = stories::pack_image(file, dtype, image_.data(), image_.size());
    if (!refused) refused = stories::open_image(image_.data(), image_.size(), model_);
    if (refused) throw std::runtime_error(std::string("the random model is refused: ") + refused.why());
    const stories::layout at(s, dtype);
    weights_from_ = at.classifier;
  }
  random_model(const random_model&) = delete;
  random_model& operator=(const random_model&) = delete;

  const stories::model& of() const { return model_; }
  // What each token reads: the classifier and all layers.
  const unsigned char* weights() { return image_.data() + weights_from_; }
  size_t weight_bytes() const { return image_.size() - static_cast<size_t>(weights_from_); }

 private:
  static constexpr size_t apart = 10007; // so that matrices have nothing in common

  static fovea_rows_in rows(const float* numbers) {
    fovea_rows_in r = {};
    r.data = numbers;
    return r;
  }

  aligned_block image_;
  std::vector<float> numbers_, ones_;
  stories::model model_;
  uint64_t weights_from_;
};

} // namespace bench
