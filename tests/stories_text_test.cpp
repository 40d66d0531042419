// The model itself, where FOVEA_STORIES_DIR names its folder: the story that llama2.c's own test expects, its
// bits on every ISA, and what int8 and int4 lose.
#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "digest.hpp"
#include "examples/minilm/mapped_file.hpp"
#include "examples/stories/sampler.hpp"
#include "examples/stories/tokenizer.hpp"
#include "isas.hpp"
#include "report.hpp"
#include "stories_model.hpp"

namespace {

using namespace stories_model;

const char* const story =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, "
    "she "
    "saw a big, red ball. She wanted to play with it, but it was too high.\nLily's mom said, \"Lily, let's "
    "go to "
    "the park.\" Lily was sad and didn't know what to do. She said, \"I want to play with your ball, but I "
    "can't "
    "find it.\"\nLily was sad and didn't know what to do. She said, \"I'm sorry, Lily. I didn't know what to "
    "do.\"\n"
    "Lily didn't want to help her mom, so she";

const char* folder() {
  const char* const named = std::getenv("FOVEA_STORIES_DIR");
  if (named && *named) return named;
  report::skip("FOVEA_STORIES_DIR names no folder with stories260K.bin and tok512.bin");
  return nullptr;
}

struct files {
  minilm::mapped_file weights, words_file;
  stories::model_file given;
  std::vector<uint32_t> index;
  stories::vocabulary words;

  explicit files(const std::string& from)
      : weights(from + "/stories260K.bin"), words_file(from + "/tok512.bin") {
    REQUIRE(weights.problem() == "");
    REQUIRE(words_file.problem() == "");
    REQUIRE(!stories::read_llama2c(weights.data(), weights.size(), given));
    index.resize(2 * static_cast<size_t>(given.of.words));
    REQUIRE(!words.read(words_file.data(), words_file.size(), given.of.words, index.data()));
  }
};

struct opened {
  aligned image;
  stories::model model;
  opened(const files& f, int32_t dtype) : image(stories::image_size(f.given.of, dtype)) {
    REQUIRE(!stories::pack_image(f.given, dtype, image.data(), image.size()));
    REQUIRE(!stories::open_image(image.data(), image.size(), model));
  }
};

// Tokens behind begin_of_text, and the digest of the logits they come from.
std::vector<int32_t> write(const stories::model& m, int32_t tokens, stories::sampler s, digest& seen) {
  reader r(m, tokens, 1, {s.isa, FOVEA_FIXED_BEST});
  REQUIRE(r.decoder.begin() == FOVEA_OK);
  std::vector<int32_t> ids = {stories::begin_of_text};
  std::vector<float> logits(static_cast<size_t>(m.of.words));
  for (int32_t i = 0; i < tokens; ++i) {
    REQUIRE(r.decoder.run(&ids.back(), 1, 1, logits.data(), r.scratch.data()) == FOVEA_OK);
    seen.add(logits);
    int32_t id = 0;
    REQUIRE(s.choose(logits.data(), m.of.words, id) == FOVEA_OK);
    ids.push_back(id);
  }
  return ids;
}

// The sum of -log p(next token) over a text that begins with begin_of_text.
double loss_of(const stories::model& m, const std::vector<int32_t>& ids, int32_t cache) {
  constexpr int32_t rows = 32;
  const auto tokens = static_cast<int32_t>(ids.size()) - 1;
  reader r(m, tokens, rows, {}, cache);
  REQUIRE(r.decoder.begin() == FOVEA_OK);
  std::vector<float> logits(static_cast<size_t>(rows * m.of.words));
  double sum = 0;
  for (int32_t at = 0; at < tokens; at += rows) {
    const int32_t n = std::min(rows, tokens - at);
    REQUIRE(r.decoder.run(ids.data() + at, n, n, logits.data(), r.scratch.data()) == FOVEA_OK);
    for (int32_t i = 0; i < n; ++i) {
      const float* const row = logits.data() + i * m.of.words;
      double total = 0;
      for (int32_t w = 0; w < m.of.words; ++w) total += std::exp(static_cast<double>(row[w]));
      sum += std::log(total) - static_cast<double>(row[ids[static_cast<size_t>(at + i) + 1]]);
    }
  }
  return sum;
}

} // namespace

TEST_CASE("stories: 200 tokens are those that llama2.c expects, with the same logits on every ISA") {
  const char* const from = folder();
  if (!from) return;
  const files f(from);
  struct {
    int32_t dtype;
    uint64_t digest;
  } const rows[] = {
      {FOVEA_F32, 0x5b83b10472b370e3}, {FOVEA_I8, 0x8946707967a7d7eb}, {FOVEA_I4, 0xc45157b961faf60a}};
  for (const auto& row : rows) {
    const opened o(f, row.dtype);
    isas::for_each([&](int32_t isa) {
      digest seen;
      stories::sampler likeliest;
      likeliest.isa = isa;
      const std::vector<int32_t> ids = write(o.model, 200, likeliest, seen);
      if (isas::promises_bits(isa)) CHECK(seen.value() == row.digest);
      if (row.dtype != FOVEA_F32) return;
      std::string text;
      char room[256];
      for (size_t i = 1; i < ids.size(); ++i)
        text.append(room, static_cast<size_t>(f.words.say(ids[i - 1], ids[i], room, sizeof room)));
      CHECK(text == story);
    });
  }
}

TEST_CASE("stories: int8 loses at most 1 percent, int4 at most 4, over 2,000 tokens of the model's own") {
#if FOVEA_EMULATED
  report::skip(
      "the loss over 2,000 tokens takes a minute under an emulator, and its bits are those of this machine");
  return;
#endif
  const char* const from = folder();
  if (!from) return;
  const files f(from);
  const opened floats(f, FOVEA_F32);
  std::vector<std::vector<int32_t>> texts;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    digest unused;
    stories::sampler drawn;
    drawn.temperature = 1;
    drawn.seed = seed;
    texts.push_back(write(floats.model, 500, drawn, unused));
  }
  struct {
    int32_t dtype, cache;
    double loss;
  } kinds[] = {
      {FOVEA_F32, FOVEA_F32, 0}, {FOVEA_I8, FOVEA_F32, 0}, {FOVEA_I4, FOVEA_F32, 0}, {FOVEA_I8, FOVEA_I8, 0}};
  for (auto& kind : kinds) {
    const opened o(f, kind.dtype);
    for (const auto& ids : texts) kind.loss += loss_of(o.model, ids, kind.cache) / 2000;
  }
  MESSAGE("loss of a token: float32 ", kinds[0].loss, ", int8 ", kinds[1].loss, ", int4 ", kinds[2].loss,
          ", int8 with caches of int8 ", kinds[3].loss);
  CHECK(kinds[1].loss < 1.01 * kinds[0].loss);
  CHECK(kinds[2].loss < 1.04 * kinds[0].loss);
  CHECK(kinds[3].loss < 1.01 * kinds[0].loss);
}
