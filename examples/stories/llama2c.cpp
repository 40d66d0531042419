// Sizes first, in 64 bits, then the pointers.
#include "llama2c.hpp"

#include <cstring>

namespace stories {
namespace {

constexpr size_t header_numbers = 7;

// Cuts tensors off a row of floats; counts without memory as well.
class tensors {
 public:
  explicit tensors(const float* at) : at_(at) {}

  fovea_rows_in take(int64_t rows, int64_t columns = 1) { return take_of_layer(0, 1, rows, columns); }

  // Those of all layers stand together.
  fovea_rows_in take_of_layer(int32_t index, int32_t layers, int64_t rows, int64_t columns = 1) {
    fovea_rows_in found = {};
    if (at_) found.data = at_ + count_ + static_cast<uint64_t>(index * rows * columns);
    count_ += static_cast<uint64_t>(layers * rows * columns);
    return found;
  }
  uint64_t count() const { return count_; }

 private:
  const float* at_;
  uint64_t count_ = 0;
};

// The tensors of a file, and those of one layer; the numbers that they are.
uint64_t take_all(model_file& f, const float* at, int32_t index, layer_tensors& layer) {
  const shape& s = f.of;
  tensors next(at);
  const auto of_layer = [&](int64_t rows, int64_t columns = 1) {
    return next.take_of_layer(index, s.layers, rows, columns);
  };
  f.embedding = next.take(s.words, s.width);
  layer.attention_norm = of_layer(s.width);
  layer.wq = of_layer(s.width, s.width);
  layer.wk = of_layer(s.kv_width(), s.width);
  layer.wv = of_layer(s.kv_width(), s.width);
  layer.wo = of_layer(s.width, s.width);
  layer.mlp_norm = of_layer(s.width);
  layer.w1 = of_layer(s.hidden, s.width);
  layer.w2 = of_layer(s.width, s.hidden);
  layer.w3 = of_layer(s.hidden, s.width);
  f.final_norm = next.take(s.width);
  next.take(s.positions, s.head_dim());
  f.classifier = s.own_classifier ? next.take(s.words, s.width) : f.embedding;
  return next.count();
}

layer_tensors layer_of(const model_file& file, int32_t index) {
  model_file same = file;
  layer_tensors layer = {};
  take_all(same, static_cast<const float*>(file.layers), index, layer);
  return layer;
}

} // namespace

refusal read_llama2c(const unsigned char* bytes, size_t size, model_file& file) {
  int32_t header[header_numbers];
  if (size < sizeof header) return {"the file is too short for a model of llama2.c", {}};
  std::memcpy(header, bytes, sizeof header);
  const int32_t words = header[5];
  const bool own = words < 0;
  file = {};
  file.of = {header[0], header[1], header[2],
             header[3], header[4], words == INT32_MIN ? 0 : own ? -words : words,
             header[6], own};
  if (const char* why = why_refused(file.of)) return {why, {}};
  if (reinterpret_cast<uintptr_t>(bytes) % alignof(float) != 0)
    return {"its bytes are not aligned to 4 in memory", {}};
  layer_tensors layer = {};
  const uint64_t count = take_all(file, nullptr, 0, layer), held = (size - sizeof header) / sizeof(float);
  if (count > held) return {"the file ends before its last weight: fetch it again", {}};
  if (sizeof header + count * sizeof(float) != size)
    return {"the file goes on behind its last weight: it is no model of llama2.c's first format", {}};
  const float* const numbers = reinterpret_cast<const float*>(bytes + sizeof header);
  file.layers = numbers;
  file.find_layer = layer_of;
  file.rope.rotary_dim = file.of.head_dim();
  take_all(file, numbers, 0, layer);
  const uint64_t before_tables = static_cast<uint64_t>(static_cast<const float*>(file.final_norm.data) -
                                                       numbers) +
                                 static_cast<uint64_t>(file.of.width);
  fovea_rows_in all = {};
  all.data = numbers;
  if (!all_finite(all, before_tables))
    return {"a weight is infinite or not a number: fetch the file again", {}};
  if (own && !all_finite(file.classifier,
                         static_cast<uint64_t>(file.of.words) * static_cast<uint64_t>(file.of.width)))
    return {"a weight of the classifier is infinite or not a number: fetch the file again", {}};
  return {};
}

} // namespace stories
