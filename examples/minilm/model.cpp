// Each tensor is found by the name that Hugging Face gives it, and has to have the shape of this model.
#include "model.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "safetensors.hpp"

namespace minilm {
namespace {

constexpr size_t most_tensors = 256;

// "encoder.layer.0." "output.dense" ".bias"
class tensor_name {
 public:
  tensor_name(std::initializer_list<std::string_view> parts) {
    for (std::string_view part : parts)
      for (char letter : part)
        if (length_ < sizeof letters_) letters_[length_++] = letter;
  }
  std::string_view text() const { return {letters_, length_}; }

 private:
  char letters_[96];
  size_t length_ = 0;
};

class loader {
 public:
  loader(const tensor* tensors, size_t count, int32_t dtype, void* memory)
      : tensors_(tensors), count_(count), dtype_(dtype), next_(static_cast<unsigned char*>(memory)) {}

  const refusal& refused() const { return refused_; }

  norm_weights take_norm(const char* prefix, const char* name) {
    norm_weights norm = {};
    norm.weight = take({prefix, name, ".weight"}, {width});
    norm.bias = take({prefix, name, ".bias"}, {width});
    return norm;
  }

  fovea_linear take_linear(const char* prefix, const char* name, int32_t in, int32_t out) {
    fovea_linear linear = begin_linear(in, out);
    pack(linear, 0, {prefix, name, ".weight"}, out);
    linear.bias = take({prefix, name, ".bias"}, {out});
    return linear;
  }

  // Q, K and V are one product of three times the outputs.
  fovea_linear take_qkv(const char* prefix) {
    fovea_linear linear = begin_linear(width, 3 * width);
    float* const bias = static_cast<float*>(take_memory(sizeof(float) * 3 * width));
    const char* const names[] = {"query", "key", "value"};
    for (int32_t i = 0; i < 3; ++i) {
      pack(linear, i * width, {prefix, names[i], ".weight"}, width);
      const float* const part = take({prefix, names[i], ".bias"}, {width});
      if (part) std::memcpy(bias + i * width, part, sizeof(float) * width);
    }
    linear.bias = bias;
    return linear;
  }

  // Null if it is not as the model needs it. The first such tensor is told.
  const float* take(const tensor_name& name, std::initializer_list<int32_t> shape) {
    const tensor* found = find_tensor(tensors_, count_, name.text());
    if (!found) return refuse("the model needs this tensor, and the file does not have it", name.text());
    if (found->dtype != "F32") return refuse("its dtype is not F32", found->name);
    const auto same = [](uint64_t a, int32_t b) { return a == static_cast<uint64_t>(b); };
    if (!std::equal(found->shape, found->shape + found->dims, shape.begin(), shape.end(), same))
      return refuse("its shape is not that of all-MiniLM-L6-v2", found->name);
    if (reinterpret_cast<uintptr_t>(found->data) % alignof(float) != 0)
      return refuse("its data are not aligned to 4 bytes: save the file again with a newer safetensors",
                    found->name);
    return reinterpret_cast<const float*>(found->data);
  }

 private:
  const float* refuse(const char* why, std::string_view about) {
    if (!refused_) refused_ = {why, about};
    return nullptr;
  }

  void* take_memory(size_t bytes) {
    void* const memory = next_;
    next_ += bytes;
    return memory;
  }

  fovea_linear begin_linear(int32_t in, int32_t out) {
    fovea_linear linear = {};
    linear.packed = take_memory(fovea_linear_size(in, out, dtype_));
    linear.in = in;
    linear.out = out;
    linear.dtype = dtype_;
    return linear;
  }

  // The outputs `at` and on.
  void pack(const fovea_linear& linear, int32_t at, const tensor_name& name, int32_t outputs) {
    fovea_rows_in rows = {};
    rows.data = take(name, {outputs, linear.in});
    if (!rows.data) return;
    const size_t bytes = fovea_linear_size(linear.in, linear.out, dtype_);
    const int32_t status = fovea_pack_linear(const_cast<void*>(linear.packed), bytes, linear.in, linear.out,
                                             dtype_, at, &rows, outputs);
    if (status != FOVEA_OK) refuse(fovea_reason_text(status), name.text());
  }

  const tensor* tensors_;
  size_t count_;
  int32_t dtype_;
  unsigned char* next_;
  refusal refused_;
};

layer_weights take_layer(loader& from, int32_t index) {
  char prefix[] = "encoder.layer.0.", self[] = "encoder.layer.0.attention.self.";
  prefix[14] = self[14] = static_cast<char>('0' + index);
  layer_weights one = {};
  one.qkv = from.take_qkv(self);
  one.out = from.take_linear(prefix, "attention.output.dense", width, width);
  one.up = from.take_linear(prefix, "intermediate.dense", width, inner);
  one.down = from.take_linear(prefix, "output.dense", inner, width);
  one.after_attention = from.take_norm(prefix, "attention.output.LayerNorm");
  one.after_mlp = from.take_norm(prefix, "output.LayerNorm");
  return one;
}

} // namespace

refusal load(model& m, const unsigned char* file, size_t size, int32_t vocabulary_size, int32_t dtype,
             void* memory, size_t memory_bytes) {
  tensor tensors[most_tensors];
  size_t count = 0;
  const refusal refused = read_safetensors(file, size, tensors, most_tensors, count);
  if (refused) return refused;
  if (memory_bytes < model_bytes(dtype)) return {"there is too little memory for the packed weights", {}};
  loader from(tensors, count, dtype, memory);
  m = {};
  m.vocabulary_size = vocabulary_size;
  m.words = from.take({"embeddings.word_embeddings.weight"}, {vocabulary_size, width});
  m.positions = from.take({"embeddings.position_embeddings.weight"}, {positions, width});
  m.types = from.take({"embeddings.token_type_embeddings.weight"}, {token_types, width});
  m.after_embedding = from.take_norm("embeddings.", "LayerNorm");
  for (int32_t i = 0; i < layers; ++i) m.layer[i] = take_layer(from, i);
  return from.refused();
}

} // namespace minilm
