// Models as transformers saves them: the decoder of examples/stories is right by its formula for each dtype,
// with biases and heads of an own width; damaged files lead to a sentence. tools/check/llama has more.
#include <doctest/doctest.h>

#include <string>

#include "examples/stories/llama.hpp"
#include "safetensors_files.hpp"
#include "stories_model.hpp"

namespace {

using namespace stories_model;

struct kind {
  shape of;
  const char* dtype;
  const char* more; // fields of the configuration
};

const kind kinds[] = {
    {{48, 40, 2, 6, 2, 37, 64, 0, 0, 1, 0, 1e-5f}, "F32", ""},
    {{48, 40, 2, 6, 1, 37, 64, 1, 0, 1, 1, 1e-6f}, "F16", R"("rope_theta": 500.0,)"},
    {{40, 56, 2, 6, 6, 33, 64, 0, 12, 1, 0, 1e-4f}, "BF16", R"("head_dim": 12, "rope_scaling": null,)"},
    {{272, 40, 2, 4, 2, 32, 64, 1, 20, 1, 1, 1e-5f},
     "BF16",
     R"("head_dim": 20, "rope_parameters": {"rope_theta": 1e5, "rope_type": "default"},)"},
};

std::string config_of(const kind& k) {
  const shape& s = k.of;
  const auto number = [](const char* name, int32_t value) {
    return "\"" + std::string(name) + "\": " + std::to_string(value) + ",\n";
  };
  return R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",)" +
         number("hidden_size", s.width) + number("intermediate_size", s.hidden) +
         number("num_hidden_layers", s.layers) + number("num_attention_heads", s.heads) +
         number("num_key_value_heads", s.kv_heads) + number("vocab_size", s.words) +
         number("max_position_embeddings", s.positions) + k.more +
         "\"rms_norm_eps\": " + std::to_string(s.norm_epsilon) +
         ", \"tie_word_embeddings\": " + (s.own_classifier ? "false" : "true") + "}";
}

// The seeded tensors of a file.
class tensors_of {
 public:
  explicit tensors_of(const kind& k) : dtype_(k.dtype) {
    const shape& s = k.of;
    add("model.embed_tokens.weight", s.words, s.width, 0, std::sqrt(static_cast<float>(s.width)));
    for (int32_t i = 0; i < s.layers; ++i) {
      const std::string layer = "model.layers." + std::to_string(i) + ".", self = layer + "self_attn.";
      add(layer + "mlp.down_proj.weight", s.width, s.hidden, 0, 1.5f);
      add(layer + "mlp.gate_proj.weight", s.hidden, s.width, 0, 1.5f);
      add(layer + "mlp.up_proj.weight", s.hidden, s.width, 0, 1.5f);
      add(layer + "input_layernorm.weight", s.width, 0, 1, 0.25f);
      add(layer + "post_attention_layernorm.weight", s.width, 0, 1, 0.25f);
      add(self + "o_proj.weight", s.width, s.q_width(), 0, 1.5f);
      for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
        const int32_t rows = *part == 'q' ? s.q_width() : s.kv_width();
        add(self + part + ".weight", rows, s.width, 0, 1.5f);
        if (s.qkv_bias) add(self + part + ".bias", rows, 0, 0, 0.5f);
      }
    }
    add("model.norm.weight", s.width, 0, 1, 0.25f);
    if (s.own_classifier) add("lm_head.weight", s.words, s.width, 0, 3);
  }

  std::string file() const {
    std::string header = "{" + header_ + "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    return safetensors_files::little_endian(header.size()) + header + data_;
  }

 private:
  // Rows of matrices are about `size` long.
  void add(const std::string& name, int32_t rows, int32_t columns, float offset, float size) {
    const size_t begin = data_.size();
    if (columns) size /= std::sqrt(static_cast<float>(columns));
    const int32_t numbers = columns ? rows * columns : rows;
    ++seed_;
    for (int32_t i = 0; i < numbers; ++i) {
      const float x = offset + size * data::noise(seed_, static_cast<uint32_t>(i));
      uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      const size_t bytes = dtype_ == "F32" ? 4 : 2;
      if (dtype_ == "BF16") bits >>= 16;
      if (dtype_ == "F16") bits = f16_of(bits);
      data_ += safetensors_files::little_endian(bits).substr(0, bytes);
    }
    header_ += std::string(header_.empty() ? "" : ",") + "\"" + name + R"(":{"dtype":")" + dtype_ +
               R"(","shape":[)" + std::to_string(rows) + (columns ? "," + std::to_string(columns) : "") +
               R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(data_.size()) + "]}";
  }

  static uint32_t f16_of(uint32_t bits) { // cut off; 0 below the normal numbers
    const uint32_t exponent = bits >> 23 & 255, sign = bits >> 16 & 0x8000u;
    return exponent < 113 ? sign : sign | (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
  }

  const std::string dtype_;
  std::string header_, data_;
  uint32_t seed_ = 100;
};

// In memory of exactly this size: under AddressSanitizer each byte beyond is a finding.
struct opened {
  std::vector<unsigned char> bytes;
  std::vector<char> config;
  stories::llama_files files;
  stories::refusal refused;

  opened(const std::string& json, const std::string& file)
      : bytes(file.begin(), file.end()), config(json.begin(), json.end()) {
    refused = files.read_config({config.data(), config.size()});
    if (!refused) refused = files.read_tensors(bytes.data(), bytes.size());
  }
  std::string why() const { return refused ? refused.why() : ""; }
};

} // namespace

TEST_CASE("stories: models of transformers are what their formula says") {
  constexpr int32_t count = 50;
  for (const kind& k : kinds) {
    CAPTURE(k.dtype);
    CAPTURE(k.of.width);
    const opened model(config_of(k), tensors_of(k).file());
    REQUIRE(model.why() == "");
    const stories::model_file& file = model.files.file();
    CHECK(file.of.qkv_bias == k.of.qkv_bias);
    CHECK(file.of.own_classifier == k.of.own_classifier);
    const std::vector<double> expected = reference(file, count);
    struct {
      int32_t dtype, cache;
      double error;
    } const rows[] = {{FOVEA_F32, FOVEA_F32, 3e-6},
                      {FOVEA_I8, FOVEA_F32, 0.04},
                      {FOVEA_I4, FOVEA_F32, 0.4},
                      {FOVEA_F32, FOVEA_I8, 0.03},
                      {FOVEA_I8, FOVEA_I8, 0.05}};
    for (const auto& row : rows) {
      CAPTURE(row.dtype);
      CAPTURE(row.cache);
      aligned image(stories::image_size(file.of, row.dtype));
      stories::model m;
      REQUIRE(!stories::pack_image(file, row.dtype, image.data(), image.size()));
      REQUIRE(!stories::open_image(image.data(), image.size(), m));
      CHECK(distance(logits_by(m, count, 7, {}, row.cache), expected) < row.error);
    }
  }
}

TEST_CASE("stories: models of transformers that are cut off anywhere are refused") {
  const kind k = {{4, 3, 1, 2, 1, 5, 2, 0, 0, 1, 1, 1e-5f}, "F32", ""};
  const std::string config = config_of(k), file = tensors_of(k).file();
  REQUIRE(opened(config, file).why() == "");
  for (size_t size = 0; size < file.size(); ++size) CHECK(opened(config, file.substr(0, size)).why() != "");
  for (size_t size = 0; size < config.size(); ++size) CHECK(opened(config.substr(0, size), file).why() != "");
}

namespace {

// What was read can be packed and run, which takes long, so one in eight is.
void damaged_models(uint32_t seeds) {
  const kind k = {{4, 3, 1, 2, 1, 5, 4, 0, 0, 1, 1, 1e-5f}, "BF16", ""};
  const std::string config = config_of(k), file = tensors_of(k).file();
  uint32_t accepted = 0;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    data::lottery lot(seed);
    std::string texts[] = {config, file};
    const auto changes = lot.between(1, 3);
    for (int32_t i = 0; i < changes; ++i) {
      std::string& text = texts[lot.between(0, 1)];
      const auto at = static_cast<size_t>(lot.between(0, static_cast<int32_t>(text.size()) - 1));
      constexpr char letters[] = "0123456789-.eE\"{}[],:ntf \\\x7f";
      if (lot.between(0, 3) == 0)
        text.erase(at, static_cast<size_t>(lot.between(1, 9)));
      else if (lot.between(0, 3) == 0)
        text.insert(at, text.substr(static_cast<size_t>(lot.between(0, static_cast<int32_t>(at))), 9));
      else
        text[at] = letters[lot.between(0, static_cast<int32_t>(sizeof letters) - 2)];
    }
    const opened model(texts[0], texts[1]);
    if (model.refused) continue;
    if (++accepted % 8) continue;
    const stories::model_file& given = model.files.file();
    aligned image(stories::image_size(given.of, FOVEA_I8));
    stories::model m;
    REQUIRE(!stories::pack_image(given, FOVEA_I8, image.data(), image.size()));
    REQUIRE(!stories::open_image(image.data(), image.size(), m));
    reader r(m, 3, 3, {}, FOVEA_I8);
    REQUIRE(r.decoder.begin() == FOVEA_OK);
    r.read(3);
  }
  CHECK(accepted > seeds / 100);
}

} // namespace

TEST_CASE("stories: damaged models of transformers") { damaged_models(3000); }
TEST_CASE("prove_damaged_llama" * doctest::skip()) { damaged_models(1000000); }
