// The decoder of examples/stories with caches of int8 and attention in integers: near the formula, the same
// bits on every ISA, whatever is read at once, behind a prefix, and where int8 cannot hold a query.
#include <doctest/doctest.h>

#include "digest.hpp"
#include "isas.hpp"
#include "stories_model.hpp"

namespace {

using namespace stories_model;

constexpr int32_t token_count = 135; // tokens: over two panels of keys

// A model of floats whose queries are `factor` times as large.
struct steep_model {
  file_bytes bytes;
  stories::model_file file;
  aligned image;
  stories::model model;

  explicit steep_model(float factor) : bytes(small), image(stories::image_size(small, FOVEA_F32)) {
    REQUIRE(!stories::read_llama2c(bytes.data(), bytes.size(), file));
    const auto floats = static_cast<size_t>(small.layers * small.width * small.q_width());
    auto* const wq = const_cast<float*>(static_cast<const float*>(file.layer(0).wq.data));
    for (size_t i = 0; i < floats; ++i) wq[i] *= factor;
    REQUIRE(!stories::pack_image(file, FOVEA_F32, image.data(), image.size()));
    REQUIRE(!stories::open_image(image.data(), image.size(), model));
  }
};

} // namespace

TEST_CASE("stories, int8 cache: near the formula, also where queries are too large for integers") {
  struct {
    float factor;
    double error;
  } const rows[] = {{1, 0.02}, {16, 0.15}, {64, 0.2}}; // of 16 some queries, of 64 nearly all
  for (const auto& row : rows) {
    CAPTURE(row.factor);
    const steep_model steep(row.factor);
    const std::vector<double> expected = reference(steep.file, token_count);
    const std::vector<float> found = logits_by(steep.model, token_count, 1, {}, FOVEA_I8);
    CHECK(distance(found, expected) < row.error);
    for (int32_t at_once : {2, 9, 64, 100})
      CHECK(data::same_bits(logits_by(steep.model, token_count, at_once, {}, FOVEA_I8), found));
  }
}

TEST_CASE("stories, int8 cache: the same bits on every ISA") {
  struct {
    float factor;
    uint64_t digest;
  } const rows[] = {{1, 0x2560eab9369f3d43u}, {16, 0x8aa722b233eaae45u}};
  for (const auto& row : rows) {
    const steep_model steep(row.factor);
    const auto check = [&](const stories::arithmetic& how) {
      digest d;
      d.add(logits_by(steep.model, token_count, 1, how, FOVEA_I8));
      CHECK(d.value() == row.digest);
    };
    isas::for_each([&](int32_t isa) {
      if (!isas::promises_bits(isa)) return;
      for (int32_t integers = FOVEA_FIXED_SCALAR; integers < FOVEA_FIXED_ISA_END; ++integers)
        if (fovea_fixed_has_isa(integers) == 1) check({isa, integers});
    });
  }
}

TEST_CASE("stories, int8 cache: behind a prefix in constant memory") {
  const packed_model packed(small, FOVEA_I8);
  const std::vector<float> expected = logits_by(packed.model, token_count, 9, {}, FOVEA_I8);
  for (int32_t prefix : {1, 63, 64, 65, 100, 127, 128, 134}) {
    CAPTURE(prefix);
    reader first(packed.model, prefix, prefix, {}, FOVEA_I8);
    REQUIRE(first.decoder.begin() == FOVEA_OK);
    REQUIRE(first.read(prefix) == FOVEA_OK);
    reader rest(packed.model, token_count - prefix + stories::branch_tokens(FOVEA_I8), 7, {}, FOVEA_I8);
    REQUIRE(rest.decoder.begin({first.caches.data(), prefix}) == FOVEA_OK);
    while (rest.decoder.length() < token_count)
      REQUIRE(rest.read(std::min<int32_t>(7, token_count - rest.decoder.length())) == FOVEA_OK);
    CHECK(std::memcmp(rest.logits.data(), expected.data() + static_cast<size_t>(prefix * small.words),
                      rest.logits.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("stories, int8 cache: no token leads to a key or value that the caches refuse") {
  // Rows of norms that point along one row of W_K, or of W_V, make the largest numbers there are.
  shape s = small;
  s.words = 2 * s.kv_width();
  file_bytes bytes(s);
  stories::model_file file;
  REQUIRE(!stories::read_llama2c(bytes.data(), bytes.size(), file));
  auto* const words = const_cast<float*>(static_cast<const float*>(file.embedding.data));
  const stories::layer_tensors layer = file.layer(0);
  for (int32_t w = 0; w < s.words; ++w)
    for (int32_t c = 0; c < s.width; ++c) {
      const bool is_key = w < s.kv_width();
      words[w * s.width + c] = stories::number_at(layer.attention_norm, c) *
                               stories::number_at(is_key ? layer.wk : layer.wv,
                                                  w % s.kv_width() * s.width + c);
    }
  for (int32_t dtype : {FOVEA_F32, FOVEA_I8, FOVEA_I4}) {
    aligned image(stories::image_size(s, dtype));
    stories::model m;
    REQUIRE(!stories::pack_image(file, dtype, image.data(), image.size()));
    REQUIRE(!stories::open_image(image.data(), image.size(), m));
    reader r(m, s.words, 1, {}, FOVEA_I8);
    REQUIRE(r.decoder.begin() == FOVEA_OK);
    for (int32_t w = 0; w < s.words; ++w) {
      std::vector<float> logits(static_cast<size_t>(s.words));
      CHECK(r.decoder.run(&w, 1, 1, logits.data(), r.scratch.data()) == FOVEA_OK);
    }
  }
}
