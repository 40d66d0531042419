// Files of examples/stories from anybody: models, tokenizers and images that were cut, damaged or made up
// lead to a sentence, and to no read beyond them.
#include <doctest/doctest.h>

#include <string>

#include "examples/stories/image_layout.hpp"
#include "stories_model.hpp"
#include "stories_tokenizer.hpp"

namespace {

using namespace stories_model;
using namespace stories_tokenizer;
using stories::refusal;

// In memory of exactly this size, from a multiple of 4 on: under AddressSanitizer each byte beyond is a
// finding.
std::string why(const unsigned char* bytes, size_t size) {
  const std::vector<unsigned char> exact(bytes, bytes + size);
  stories::model_file file;
  const refusal refused = stories::read_llama2c(exact.data(), size, file);
  return refused ? refused.why() : "";
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

constexpr shape tiny = {4, 3, 1, 2, 1, 5, 2, 0};

} // namespace

TEST_CASE("stories: a model that is cut off anywhere, or too long, is refused") {
  file_bytes file(tiny);
  REQUIRE(why(file.data(), file.size()) == "");
  for (size_t size = 0; size < file.size(); ++size) CHECK(why(file.data(), size) != "");
  std::vector<unsigned char> longer(file.data(), file.data() + file.size());
  for (size_t more : {1, 4, 100}) {
    longer.resize(file.size() + more);
    CHECK(holds(why(longer.data(), longer.size()), "goes on behind"));
  }
}

TEST_CASE("stories: headers that nothing can be made of are refused") {
  struct {
    int field;
    int32_t number;
    const char* why;
  } const rows[] = {
      {0, 0, "width"},          {0, -4, "width"},        {0, 8, "ends before"},
      {0, 1 << 30, "width"},    {1, 0, "hidden"},        {1, INT32_MAX, "hidden"},
      {2, 0, "layers"},         {2, 257, "layers"},      {2, 256, "ends before"},
      {3, 0, "heads"},          {3, 3, "heads"},         {3, 4, "even"},
      {3, INT32_MIN, "heads"},  {4, 0, "KV heads"},      {4, 3, "KV heads"},
      {5, 0, "words"},          {5, INT32_MIN, "words"}, {5, INT32_MAX, "words"},
      {5, -5, "ends before"},   {6, 0, "positions"},     {6, INT32_MAX, "positions"},
      {6, 1, "goes on behind"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.field);
    CAPTURE(row.number);
    file_bytes file(tiny);
    std::memcpy(file.data() + 4 * row.field, &row.number, sizeof row.number);
    CHECK(holds(why(file.data(), file.size()), row.why));
  }
}

TEST_CASE(
    "stories: a weight that is infinite or not a number is refused, one of a table that nobody reads is "
    "not") {
  shape own = tiny;
  own.own_classifier = 1;
  file_bytes file(own);
  const size_t numbers = (file.size() - 28) / 4, classifier = static_cast<size_t>(own.words * own.width),
               tables = static_cast<size_t>(own.positions * own.head_dim());
  for (uint32_t bits : {0x7f800000u, 0xff800000u, 0x7fc00000u})
    for (size_t i = 0; i < numbers; ++i) {
      uint32_t before;
      unsigned char* const at = file.data() + 28 + 4 * i;
      std::memcpy(&before, at, sizeof before);
      std::memcpy(at, &bits, sizeof bits);
      const bool unused = i >= numbers - classifier - tables && i < numbers - classifier;
      CHECK(holds(why(file.data(), file.size()), "not a number") == !unused);
      std::memcpy(at, &before, sizeof before);
    }
}

TEST_CASE("stories: weights too large for four bits are refused, and so is little memory") {
  file_bytes bytes(tiny);
  const float large = 1e6f;
  std::memcpy(bytes.data() + bytes.size() - 4 * static_cast<size_t>(4 + 4 + 12), &large,
              sizeof large); // in w3
  stories::model_file file;
  REQUIRE(!stories::read_llama2c(bytes.data(), bytes.size(), file));
  aligned floats(stories::image_size(tiny, FOVEA_F32)), integers(stories::image_size(tiny, FOVEA_I4));
  CHECK(holds(stories::pack_image(file, FOVEA_I4, integers.data(), integers.size()).why(), "four bits"));
  CHECK(holds(stories::pack_image(file, FOVEA_F32, floats.data(), floats.size() - 1).why(), "too small"));
  CHECK(stories::image_size(tiny, FOVEA_F16) == 0);
}

TEST_CASE("stories: damaged images") {
  packed_model packed(small, FOVEA_I8);
  stories::model m;
  const auto open = [&](size_t size) {
    const refusal refused = stories::open_image(packed.image.data(), size, m);
    return std::string(refused ? refused.why() : "");
  };
  for (size_t size = 0; size < packed.image.size(); size += size < 70 ? 1 : 997) CHECK(open(size) != "");
  for (int byte = 0; byte < 76; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      packed.image.data()[byte] = static_cast<unsigned char>(packed.image.data()[byte] ^ 1 << bit);
      CHECK(open(packed.image.size()) != "");
      packed.image.data()[byte] = static_cast<unsigned char>(packed.image.data()[byte] ^ 1 << bit);
    }
  CHECK(open(packed.image.size()) == "");
  stories::image_header h; // whose check is right
  std::memcpy(&h, packed.image.data(), sizeof h);
  h.panel_order = 3 - h.panel_order;
  h.check = stories::check_of(h);
  std::memcpy(packed.image.data(), &h, sizeof h);
  CHECK(holds(open(packed.image.size()), "order of other cores"));
  h.of.layers = 250;
  h.check = stories::check_of(h);
  std::memcpy(packed.image.data(), &h, sizeof h);
  CHECK(holds(open(packed.image.size()), "contradicts itself"));
}

namespace {

void change(std::string& file, data::lottery& lot) {
  const auto at = static_cast<size_t>(lot.between(0, static_cast<int32_t>(file.size()) - 1));
  constexpr uint32_t numbers[] = {0, 1, 2, 0x7fffffff, 0x80000000u, 0xffffffffu, 0x7f800000u, 0x00010000u};
  switch (lot.between(0, 4)) {
    case 0:
      file[at] = static_cast<char>(lot.between(0, 255));
      break;
    case 1: // a number of the header
      file.replace(static_cast<size_t>(4 * lot.between(0, 6)), 4, le(lot.one_of(numbers)));
      break;
    case 2:
      file.resize(at + 1);
      break;
    case 3:
      file.replace(std::min(at, file.size() - 4), 4, le(lot.one_of(numbers)));
      break;
    default:
      file.append(static_cast<size_t>(lot.between(1, 8)), 'x');
  }
  if (file.size() < 32) file.resize(32, 'x');
}

// What is accepted runs.
void read_damaged_models(uint64_t from, uint64_t to) {
  uint64_t accepted = 0;
  file_bytes whole(tiny);
  for (uint64_t seed = from; seed < to; ++seed) {
    CAPTURE(seed);
    data::lottery lot(seed);
    std::string changed(reinterpret_cast<const char*>(whole.data()), whole.size());
    for (int changes = lot.between(1, 3); changes > 0; --changes) change(changed, lot);
    const std::vector<unsigned char> exact(changed.begin(), changed.end());
    stories::model_file file;
    if (stories::read_llama2c(exact.data(), exact.size(), file)) continue;
    ++accepted;
    if (!lot.one_in(16)) continue;
    aligned image(stories::image_size(file.of, FOVEA_I8));
    stories::model m;
    if (stories::pack_image(file, FOVEA_I8, image.data(), image.size())) continue;
    REQUIRE(!stories::open_image(image.data(), image.size(), m));
    reader r(m, 1, 1);
    REQUIRE(r.decoder.begin() == FOVEA_OK);
    r.read(1);
  }
  CAPTURE(accepted);
  CHECK(accepted > (to - from) / 100);
  CHECK(accepted < (to - from) / 2);
}

void read_damaged_tokenizers(uint64_t from, uint64_t to) {
  const std::string whole = tokenizer_file(pieces);
  uint64_t accepted = 0;
  for (uint64_t seed = from; seed < to; ++seed) {
    CAPTURE(seed);
    data::lottery lot(seed);
    std::string changed = whole;
    for (int changes = lot.between(1, 3); changes > 0; --changes) change(changed, lot);
    const tokenizer t(changed, piece_count);
    if (t.refused != "") continue;
    ++accepted;
    const std::vector<int32_t> ids = t.encode("abc \u00e9\xff");
    t.decode(ids);
  }
  CAPTURE(accepted);
  CHECK(accepted > (to - from) / 100);
}

} // namespace

TEST_CASE("stories: damaged files") {
  read_damaged_models(0, 5000);
  read_damaged_tokenizers(0, 200);
}

TEST_CASE("prove_damaged_stories" * doctest::skip()) {
  read_damaged_models(0, 1000000);
  read_damaged_tokenizers(0, 20000);
}
