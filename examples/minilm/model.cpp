// Each tensor is found by the name that Hugging Face gives it, and has to have the shape of this model.
#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <string_view>

#include "safetensors.hpp"

namespace minilm {
namespace {

constexpr size_t most_tensors = 256;
constexpr const char* qkv_names[] = {"query", "key", "value"};

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

  smoothed_norm* take_smoothed_norms() {
    return static_cast<smoothed_norm*>(take_memory(2 * layers * sizeof(smoothed_norm)));
  }

  // Q, K and V are one product of three times the outputs.
  fovea_linear take_qkv(const char* prefix) {
    fovea_linear linear = begin_linear(width, 3 * width);
    float* const bias = static_cast<float*>(take_memory(sizeof(float) * 3 * width));
    for (int32_t i = 0; i < 3; ++i) {
      pack(linear, i * width, {prefix, qkv_names[i], ".weight"}, width);
      const float* const part = take({prefix, qkv_names[i], ".bias"}, {width});
      if (part) std::memcpy(bias + i * width, part, sizeof(float) * width);
    }
    linear.bias = bias;
    return linear;
  }

  // The outputs `at` and on, with inputs multiplied by `factors` if there are any.
  void pack(const fovea_linear& linear, int32_t at, const tensor_name& name, int32_t outputs,
            const float* factors = nullptr) {
    const float* const weights = take(name, {outputs, linear.in});
    if (!weights) return;
    for (int32_t i = 0; factors && i < outputs; ++i) {
      float row[width];
      for (int32_t c = 0; c < linear.in; ++c) row[c] = weights[i * linear.in + c] * factors[c];
      pack_rows(linear, at + i, row, 1, name);
    }
    if (!factors) pack_rows(linear, at, weights, outputs, name);
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

  void pack_rows(const fovea_linear& linear, int32_t at, const float* weights, int32_t outputs,
                 const tensor_name& name) {
    fovea_rows_in rows = {};
    rows.data = weights;
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

// The tensors of layer 0 .. 5.
struct layer_names {
  char layer[17] = "encoder.layer.0.", self[32] = "encoder.layer.0.attention.self.";

  explicit layer_names(int32_t index) { layer[14] = self[14] = static_cast<char>('0' + index); }
};

layer_weights take_layer(loader& from, int32_t index) {
  const layer_names names(index);
  layer_weights one = {};
  one.qkv = from.take_qkv(names.self);
  one.out = from.take_linear(names.layer, "attention.output.dense", width, width);
  one.up = from.take_linear(names.layer, "intermediate.dense", width, inner);
  one.down = from.take_linear(names.layer, "output.dense", inner, width);
  one.after_attention = from.take_norm(names.layer, "attention.output.LayerNorm");
  one.after_mlp = from.take_norm(names.layer, "output.LayerNorm");
  return one;
}

// x^(parts/32), from square roots alone: they are rounded in the same way on every machine.
float power_of_32nds(float x, int parts) {
  float product = 1;
  for (int bit = 16; bit > 0; bit /= 2) {
    x = std::sqrt(x);
    if (parts & bit) product *= x;
  }
  return product;
}

// Two thirds of the difference between channels go to the weights.
void set_smoothed(smoothed_norm& s, const norm_weights& norm, const float* peaks, const float* weight_peaks) {
  for (int32_t c = 0; c < width; ++c) {
    const bool used = peaks[c] > 0 && weight_peaks[c] > 0;
    s.factors[c] = used ? power_of_32nds(peaks[c], 21) / power_of_32nds(weight_peaks[c], 32 - 21) : 1;
    s.weight[c] = norm.weight[c] / s.factors[c];
    s.bias[c] = norm.bias[c] / s.factors[c];
  }
}

// The largest weight of each input, over several tensors.
void raise_peaks(loader& from, const tensor_name& name, int32_t outputs, float* peaks) {
  const float* const weights = from.take(name, {outputs, width});
  for (int32_t i = 0; weights && i < outputs * width; ++i)
    peaks[i % width] = std::max(peaks[i % width], std::fabs(weights[i]));
}

void smooth_layer(loader& from, layer_weights& layer, const norm_weights& before_qkv,
                  const layer_names& names, smoothed_norm* memory, const float* peaks) {
  float weight_peaks[width] = {};
  for (const char* part : qkv_names) raise_peaks(from, {names.self, part, ".weight"}, width, weight_peaks);
  set_smoothed(memory[0], before_qkv, peaks, weight_peaks);
  for (int32_t i = 0; i < 3; ++i)
    from.pack(layer.qkv, i * width, {names.self, qkv_names[i], ".weight"}, width, memory[0].factors);

  std::fill_n(weight_peaks, width, 0.0f);
  raise_peaks(from, {names.layer, "intermediate.dense.weight"}, inner, weight_peaks);
  set_smoothed(memory[1], layer.after_attention, peaks + width, weight_peaks);
  from.pack(layer.up, 0, {names.layer, "intermediate.dense.weight"}, inner, memory[1].factors);
  layer.before_qkv = memory;
  layer.before_up = memory + 1;
}

} // namespace

refusal load(model& m, const model_file& file, int32_t vocabulary_size, int32_t dtype, void* memory,
             size_t memory_bytes) {
  tensor tensors[most_tensors];
  size_t count = 0;
  const refusal refused = read_safetensors(file.bytes, file.size, tensors, most_tensors, count);
  if (refused) return refused;
  if (memory_bytes < model_bytes(dtype)) return {"there is too little memory for the packed weights", {}};
  loader from(tensors, count, dtype, memory);
  m = {};
  m.vocabulary_size = vocabulary_size;
  m.words = from.take({"embeddings.word_embeddings.weight"}, {vocabulary_size, width});
  m.positions = from.take({"embeddings.position_embeddings.weight"}, {positions, width});
  m.types = from.take({"embeddings.token_type_embeddings.weight"}, {token_types, width});
  m.after_embedding = from.take_norm("embeddings.", "LayerNorm");
  if (dtype == FOVEA_I8) m.smoothed = from.take_smoothed_norms();
  for (int32_t i = 0; i < layers; ++i) m.layer[i] = take_layer(from, i);
  return from.refused();
}

refusal smooth_by(model& m, const model_file& file, const float* peaks) {
  if (!m.smoothed) return {"only weights in int8 are smoothed", {}};
  tensor tensors[most_tensors];
  size_t count = 0;
  const refusal refused = read_safetensors(file.bytes, file.size, tensors, most_tensors, count);
  if (refused) return refused;
  loader from(tensors, count, FOVEA_I8, nullptr);
  const norm_weights* before = &m.after_embedding;
  for (int32_t i = 0; i < layers; ++i) {
    smooth_layer(from, m.layer[i], *before, layer_names(i), m.smoothed + 2 * i, peaks + 2 * i * width);
    before = &m.layer[i].after_mlp;
  }
  return from.refused();
}

} // namespace minilm
