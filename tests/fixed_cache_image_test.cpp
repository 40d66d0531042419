// The image of a cache of int8 and its checksums, written once more from docs/cache.md; images of machines
// with another order of panels.
#include "fixed_cache_model.hpp"

using namespace fixed_cache;

namespace {

// The image as docs/cache.md describes it.
uint32_t mix(uint32_t sum, uint32_t word) {
  sum ^= word;
  return (sum << 13 | sum >> 19) * 0x9e3779b1u;
}
uint32_t mix_words(uint32_t sum, const uint32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i) sum = mix(sum, words[i]);
  return sum;
}
constexpr size_t check_word = 31;

struct image_reader {
  const cache_case& c;
  unsigned char* at;

  size_t up16(int32_t n) const { return static_cast<size_t>((n + 15) / 16 * 16); }
  size_t places() const { return static_cast<size_t>((c.capacity + 63) / 64 * 64); }
  unsigned char& key(size_t g, size_t j, size_t i, int order) const {
    const size_t depth = up16(c.dim), head = g * places() * depth;
    return at[192 + head +
              (order == 1 ? ((j / 16 * (depth / 4) + i / 4) * 16 + j % 16) * 4 + i % 4
                          : ((j / 4 * (depth / 16) + i / 16) * 4 + j % 4) * 16 + i % 16)];
  }
  unsigned char& value(size_t g, size_t j, size_t i, int order) const {
    const size_t width = up16(c.width()),
                 head = static_cast<size_t>(c.kv_heads) * places() * up16(c.dim) + g * places() * width;
    return at[192 + head +
              (order == 1 ? (((j / 64 * (width / 16) + i / 16) * 16 + j % 64 / 4) * 16 + i % 16) * 4 + j % 4
                          : (j / 64 * width + i) * 64 + j % 64)];
  }
  uint32_t table(size_t g, size_t j, bool weights) const {
    const size_t heads = static_cast<size_t>(c.kv_heads);
    const size_t tables = 192 + heads * places() * (up16(c.dim) + up16(c.width()));
    int32_t multiplier;
    int16_t weight;
    std::memcpy(&multiplier, at + tables + 4 * (g * places() + j), 4);
    std::memcpy(&weight, at + tables + 4 * heads * places() + 2 * (g * places() + j), 2);
    return static_cast<uint32_t>(weights ? weight : multiplier);
  }
  uint32_t sum_of_token(size_t j, int order) const {
    uint32_t sum = static_cast<uint32_t>(j);
    for (size_t g = 0; g < static_cast<size_t>(c.kv_heads); ++g) {
      for (size_t i = 0; i < up16(c.dim); i += 4)
        sum = mix(sum, four([&](size_t n) { return key(g, j, i + n, order); }));
      for (size_t i = 0; i < static_cast<size_t>(c.width()); i += 4)
        sum = mix(sum, four([&](size_t n) {
                    return i + n < static_cast<size_t>(c.width()) ? value(g, j, i + n, order)
                                                                  : static_cast<unsigned char>(0);
                  }));
      if (c.scaled) sum = mix(mix(sum, table(g, j, false)), table(g, j, true));
    }
    return mix(sum ^ sum >> 16, 0);
  }
  template <class Byte>
  static uint32_t four(Byte byte) {
    return byte(0) | static_cast<uint32_t>(byte(1)) << 8 | static_cast<uint32_t>(byte(2)) << 16 |
           static_cast<uint32_t>(byte(3)) << 24;
  }
};

// The same image as a machine with the other order of panels would have written it.
void turn(const cache_case& c, int8_block& image, int32_t length) {
  const int here = fovea_fixed_panel_order(), there = 3 - here;
  int8_block other = image;
  const image_reader from{c, image.data()}, to{c, other.data()};
  for (size_t g = 0; g < static_cast<size_t>(c.kv_heads); ++g)
    for (size_t j = 0; j < static_cast<size_t>(length); ++j) {
      for (size_t i = 0; i < from.up16(c.dim); ++i) to.key(g, j, i, there) = from.key(g, j, i, here);
      for (size_t i = 0; i < static_cast<size_t>(c.width()); ++i)
        to.value(g, j, i, there) = from.value(g, j, i, here);
    }
  other.words[2] = static_cast<uint32_t>(there);
  other.words[check_word] = mix_words(0x43564b46u, other.words.data(), check_word);
  for (size_t slot : {32u, 40u})
    if (other.words[slot + 4])
      other.words[slot + 4] = mix_words(other.words[check_word], &other.words[slot], 4);
  image = other;
}

} // namespace

TEST_CASE("int8 cache: the image and its checksums are those of docs/cache.md") {
  for (const cache_case& c : {cases[2], cases[3]}) {
    INFO(std::string(c.why));
    const fovea_cache_shape shape = c.shape();
    int8_block image(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    model m{c, 3};
    for (int32_t count : {5, 1, 16, 40}) REQUIRE(m.append_to(image.data(), count) == FOVEA_OK);
    const uint32_t* const words = image.words.data();
    const uint32_t* const slot = words + 32 + 8 * (fovea_cache_generation(image.data()) & 1);
    const image_reader reader{c, image.data()};
    uint32_t sum = 0;
    for (int32_t j = 0; j < m.length; ++j)
      sum += reader.sum_of_token(static_cast<size_t>(j), fovea_fixed_panel_order());
    CHECK(words[0] == 0x43564b46u);
    CHECK(words[1] == 1);
    CHECK(words[2] == static_cast<uint32_t>(fovea_fixed_panel_order()));
    CHECK(words[5] == image.size());
    CHECK(std::memcmp(image.data(), "FKVC", 4) == 0);
    CHECK(words[check_word] == mix_words(words[0], words, check_word));
    CHECK(slot[0] == fovea_cache_generation(image.data()));
    CHECK(slot[1] == static_cast<uint32_t>(m.length));
    CHECK(slot[3] == sum);
    CHECK(slot[4] == mix_words(words[check_word], slot, 4));
  }
}

TEST_CASE(
    "int8 cache: an image of a machine with another order of panels is refused, and converted by restore") {
  for (const cache_case& c : {cases[1], cases[3]}) {
    const fovea_cache_shape shape = c.shape();
    int8_block image(shape), restored(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    model m{c, 3};
    REQUIRE(m.append_to(image.data(), 70) == FOVEA_OK);
    turn(c, image, m.length);
    fovea_fixed_attention a = {};
    CHECK(fovea_cache_view_fixed(image.data(), nullptr, &a) == (FOVEA_UNSUPPORTED | FOVEA_ARG_IMAGE << 8));
    CHECK(fovea_cache_length(image.data()) == 70);
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    REQUIRE(fovea_cache_restore(restored.data(), restored.size(), image.data(), image.size()) == FOVEA_OK);
    CHECK(fovea_cache_generation(restored.data()) == fovea_cache_generation(image.data()));
    REQUIRE(m.append_to(restored.data(), 7) == FOVEA_OK);
    CHECK(attend_to_cache(m, {restored.data()}, 9, FOVEA_FIXED_BEST) ==
          attend_to_rows(m, 9, FOVEA_FIXED_BEST));
    image.data()[300] ^= 4;
    const std::vector<uint32_t> before = restored.words;
    CHECK(fovea_cache_restore(restored.data(), restored.size(), image.data(), image.size()) ==
          (FOVEA_DAMAGED | FOVEA_ARG_IMAGE << 8));
    CHECK(restored.words == before);
  }
}
