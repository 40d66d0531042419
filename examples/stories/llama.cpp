// The configuration first: it says which tensors there must be, and of which shape.
#include "llama.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "json.hpp"

namespace stories {
namespace {

constexpr size_t most_tensors = 4096; // twelve for each of 256 layers, and what others save besides

// Reads fields of a configuration. The first one that cannot be used is kept.
class config_reader {
 public:
  explicit config_reader(const json_values& values) : values_(values) {}

  const refusal& refused() const { return refused_; }

  bool has(const char* path) const {
    const std::string_view text = values_.find(path);
    return !text.empty() && text != "null";
  }

  std::string_view word(const char* path) const { // of a string, without quotes
    const std::string_view text = values_.find(path);
    return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : std::string_view();
  }

  bool is_true(const char* path) const { return values_.find(path) == "true"; }

  double number(const char* path) {
    const std::string text(values_.find(path)); // strtod needs its end
    if (text.empty() || text.size() > 40 || std::string("-0123456789").find(text[0]) == std::string::npos)
      refuse("it needs this number", path);
    return std::strtod(text.c_str(), nullptr);
  }
  double number_or(const char* path, double otherwise) { return has(path) ? number(path) : otherwise; }

  int32_t whole(const char* path) {
    const double value = number(path);
    const bool fits = value >= 0 && value <= 1e9 && value == static_cast<double>(static_cast<int32_t>(value));
    if (!fits) refuse("it is not a whole number from 0 to 10^9", path);
    return fits ? static_cast<int32_t>(value) : 0;
  }
  int32_t whole_or(const char* path, int32_t otherwise) { return has(path) ? whole(path) : otherwise; }

  void refuse(const char* why, std::string_view about) {
    if (!refused_) refused_ = {why, about};
  }

 private:
  const json_values& values_;
  refusal refused_;
};

// `at`: rope_scaling, or rope_parameters of newer files.
void read_rope_scaling(config_reader& config, const std::string& at, fovea_rope_frequencies& rope) {
  const auto path = [&](const char* name) { return at + "." + name; };
  const auto number = [&](const char* name) {
    return static_cast<float>(config.number_or(path(name).c_str(), 0));
  };
  std::string_view type = config.word(path("rope_type").c_str());
  if (type.empty()) type = config.word(path("type").c_str());
  if (type.empty() || type == "default") return;
  if (type == "linear") {
    rope.scaling = FOVEA_ROPE_LINEAR;
  } else if (type == "llama3") {
    rope.scaling = FOVEA_ROPE_LLAMA3;
    rope.low_factor = number("low_freq_factor");
    rope.high_factor = number("high_freq_factor");
    rope.original_positions = config.whole_or(path("original_max_position_embeddings").c_str(), 0);
  } else {
    config.refuse("this kind of scaled rotation is not known here", type);
  }
  rope.factor = number("factor");
}

void read_rope(config_reader& config, fovea_rope_frequencies& rope) {
  const bool newer = config.has("rope_parameters.rope_theta");
  rope.base = static_cast<float>(
      config.number_or(newer ? "rope_parameters.rope_theta" : "rope_theta", 10000));
  read_rope_scaling(config, newer ? "rope_parameters" : "rope_scaling", rope);
}

refusal check_rope(const fovea_rope_frequencies& rope) {
  float cosines[512], sines[512];
  if (fovea_rope_table(&rope, 0, 1, cosines, sines) == FOVEA_OK) return {};
  return {"its rotation is one that fovea_rope_table refuses", "rope"};
}

int32_t dtype_of(std::string_view name) {
  return name == "F32" ? FOVEA_F32 : name == "F16" ? FOVEA_F16 : name == "BF16" ? FOVEA_BF16 : -1;
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Takes tensors out of a file, each once.
class tensor_taker {
 public:
  tensor_taker(const minilm::tensor* tensors, size_t count) : tensors_(tensors), taken_(count) {}

  const refusal& refused() const { return refused_; }

  bool has(const std::string& name) const { return find_tensor(tensors_, taken_.size(), name) != nullptr; }

  fovea_rows_in take(const std::string& name, int32_t rows, int32_t columns = 0) {
    const minilm::tensor* const t = find_tensor(tensors_, taken_.size(), name);
    if (!t) return refuse("the model needs this tensor, and the file does not have it", name);
    const auto is = [](uint64_t size, int32_t wanted) { return size == static_cast<uint64_t>(wanted); };
    const bool vector = columns == 0;
    if (t->dims != (vector ? 1 : 2) || !is(t->shape[0], rows) || !(vector || is(t->shape[1], columns)))
      return refuse("its shape is not that of the configuration", name);
    fovea_rows_in found = {};
    found.dtype = dtype_of(t->dtype);
    if (found.dtype < 0) return refuse("its dtype is not F32, F16 or BF16", name);
    if (reinterpret_cast<uintptr_t>(t->data) % (found.dtype == FOVEA_F32 ? 4 : 2) != 0)
      return refuse("its data are not aligned: save the file again with a newer safetensors", name);
    found.data = t->data;
    const uint64_t size = static_cast<uint64_t>(rows) * static_cast<uint64_t>(vector ? 1 : columns);
    if (!all_finite(found, size)) refuse("one of its numbers is infinite or not a number", name);
    taken_[static_cast<size_t>(t - tensors_)] = true;
    return found;
  }

  // Not one that this model knows nothing of.
  void check_rest(bool own_classifier) {
    for (size_t i = 0; i < taken_.size(); ++i) {
      const std::string_view name = tensors_[i].name;
      const bool known = ends_with(name, "rotary_emb.inv_freq") || // follows from the configuration
                         (name == "lm_head.weight" && !own_classifier);
      if (!taken_[i] && !known) refuse("this decoder has no use for this tensor: the model is another", name);
    }
  }

 private:
  fovea_rows_in refuse(const char* why, std::string_view about) {
    if (!refused_) refused_ = {why, about};
    return {};
  }

  const minilm::tensor* const tensors_;
  std::vector<bool> taken_;
  refusal refused_;
};

} // namespace

refusal llama_files::read_config(std::string_view json) {
  json_values values;
  file_ = {};
  if (const refusal refused = values.read(json)) return refused;
  config_reader config(values);
  shape& s = file_.of;
  const std::string_view kind = config.word("model_type");
  if (kind != "llama" && kind != "mistral" && kind != "qwen2")
    return {"model_type is not llama, mistral or qwen2", {}};
  if (config.word("hidden_act") != "silu") return {"hidden_act is not silu", {}};
  if (config.is_true("use_sliding_window")) return {"its attention has a sliding window", {}};
  s.width = config.whole("hidden_size");
  s.hidden = config.whole("intermediate_size");
  s.layers = config.whole("num_hidden_layers");
  s.heads = config.whole("num_attention_heads");
  s.kv_heads = config.whole_or("num_key_value_heads", s.heads);
  s.words = config.whole("vocab_size");
  s.positions = config.whole("max_position_embeddings");
  s.own_classifier = !config.is_true("tie_word_embeddings");
  s.own_head_dim = config.whole_or("head_dim", 0);
  s.half_pairs = 1;
  s.norm_epsilon = static_cast<float>(config.number_or("rms_norm_eps", 1e-6));
  if (!(s.norm_epsilon > 0)) config.refuse("it is not a positive number", "rms_norm_eps");
  if (config.has("sliding_window") && !config.has("use_sliding_window") &&
      config.whole("sliding_window") < s.positions)
    return {"its attention has a sliding window", {}};
  read_rope(config, file_.rope);
  if (config.refused()) return config.refused();
  if (const char* why = why_refused(s)) return {why, {}};
  file_.rope.rotary_dim = s.head_dim();
  return check_rope(file_.rope);
}

refusal llama_files::read_tensors(const unsigned char* safetensors, size_t size) {
  std::vector<minilm::tensor> tensors(most_tensors);
  size_t count = 0;
  const refusal refused = read_safetensors(safetensors, size, tensors.data(), tensors.size(), count);
  return refused ? refused : take_all(tensors, count);
}

refusal llama_files::take_all(std::vector<minilm::tensor>& tensors, size_t count) {
  tensor_taker from(tensors.data(), count);
  shape& s = file_.of;
  s.qkv_bias = from.has("model.layers.0.self_attn.q_proj.bias");
  file_.embedding = from.take("model.embed_tokens.weight", s.words, s.width);
  file_.final_norm = from.take("model.norm.weight", s.width);
  file_.classifier = s.own_classifier ? from.take("lm_head.weight", s.words, s.width) : file_.embedding;
  layers_.assign(static_cast<size_t>(s.layers), {});
  for (size_t i = 0; i < layers_.size() && !from.refused(); ++i) {
    const std::string layer = "model.layers." + std::to_string(i) + ".", self = layer + "self_attn.",
                      mlp = layer + "mlp.";
    layer_tensors& to = layers_[i];
    to.attention_norm = from.take(layer + "input_layernorm.weight", s.width);
    to.wq = from.take(self + "q_proj.weight", s.q_width(), s.width);
    to.wk = from.take(self + "k_proj.weight", s.kv_width(), s.width);
    to.wv = from.take(self + "v_proj.weight", s.kv_width(), s.width);
    to.wo = from.take(self + "o_proj.weight", s.width, s.q_width());
    to.mlp_norm = from.take(layer + "post_attention_layernorm.weight", s.width);
    to.w1 = from.take(mlp + "gate_proj.weight", s.hidden, s.width);
    to.w2 = from.take(mlp + "down_proj.weight", s.width, s.hidden);
    to.w3 = from.take(mlp + "up_proj.weight", s.hidden, s.width);
    if (!s.qkv_bias) continue;
    to.bq = from.take(self + "q_proj.bias", s.q_width());
    to.bk = from.take(self + "k_proj.bias", s.kv_width());
    to.bv = from.take(self + "v_proj.bias", s.kv_width());
  }
  from.check_rest(s.own_classifier);
  file_.layers = layers_.data();
  file_.find_layer = [](const model_file& file, int32_t index) {
    return static_cast<const layer_tensors*>(file.layers)[index];
  };
  return from.refused();
}

} // namespace stories
