// Caches of int8: attention in integers on a cache has the bits of attention on the same rows. Quantising at
// append, the image and its checksum are written here once more, from docs/cache.md.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "data.hpp"
#include "fovea/cache.h"
#include "fovea/fixed.hpp"

namespace {

using bytes = std::vector<unsigned char>;

struct cache_case {
  const char* why;
  int32_t group, kv_heads, dim, v_dim, capacity, window, keep_first, most; // most: tokens at once
  bool scaled;

  fovea_cache_shape shape() const {
    fovea_cache_shape s = {};
    s.kv_heads = kv_heads, s.dim = dim, s.v_dim = v_dim, s.capacity = capacity, s.dtype = FOVEA_I8;
    s.window = window, s.keep_first = keep_first;
    if (scaled) s.k_largest = 3, s.v_largest = 1.5f, s.score_multiplier = multiplier();
    return s;
  }
  int32_t width() const { return v_dim ? v_dim : dim; }
  fovea_fixed_scale scale() const {
    return fovea::make_fixed_scale({4.0 / 127, 3.0 / 127, 1.5 / 127, 1.0 / 127, 0}, dim, 1024).scale;
  }
  int32_t multiplier() const { return scale().score_multiplier; }
};

constexpr int32_t ring(int32_t window, int32_t keep_first, int32_t most) {
  return FOVEA_CACHE_RING(window, keep_first, most, FOVEA_I8);
}
const cache_case cases[] = {
    {"one token a panel does not fill", 1, 1, 8, 0, 5, 0, 0, 2, false},
    {"over a border of blocks", 2, 2, 16, 20, 150, 0, 0, 37, false},
    {"odd dims", 1, 3, 5, 19, 70, 0, 0, 16, false},
    {"with scales", 2, 2, 20, 7, 140, 0, 0, 21, true},
    {"a ring", 1, 2, 16, 16, ring(50, 0, 9), 50, 0, 9, false},
    {"a ring with kept tokens", 2, 1, 7, 33, ring(90, 5, 30), 90, 5, 30, false},
    {"a ring with scales", 2, 1, 12, 12, ring(70, 3, 8), 70, 3, 8, true},
};

// The formulas of docs/cache.md.
struct quantised_row {
  int32_t by;
  std::vector<int8_t> q;
};
quantised_row quantise(const float* x, int32_t dim, float largest, int32_t greatest) {
  float size = 0;
  for (int32_t c = 0; c < dim; ++c) size = std::fabs(x[c]) > size ? std::fabs(x[c]) : size;
  const volatile float share = size / largest;
  const int64_t of_2_30 = static_cast<int64_t>(share * 1073741824.0f) + 1;
  const int64_t by = ((greatest * of_2_30) >> 30) + 1;
  quantised_row row{static_cast<int32_t>(by < greatest ? by : greatest), {}};
  const volatile float a_127th = largest / 127, unit = a_127th / static_cast<float>(greatest);
  const volatile float step = static_cast<float>(row.by) * unit;
  for (int32_t c = 0; c < dim; ++c) {
    const volatile float steps = x[c] / step;
    const double y = std::nearbyint(static_cast<double>(steps));
    row.q.push_back(static_cast<int8_t>(y > 127 ? 127 : y < -127 ? -127 : y));
  }
  return row;
}

// The tokens of a sequence in plain rows: [head][token][dim].
struct model {
  const cache_case& c;
  uint32_t seed;
  int32_t length = 0;

  float number(int32_t token, int32_t g, int32_t i, uint32_t kind) const {
    const uint32_t row = static_cast<uint32_t>(token * 3 + g);
    const float size = kind == 1 ? 3.0f : 1.5f, scale = data::noise(9 + kind, row);
    return size * data::noise(seed * 5 + kind, row * 1024 + static_cast<uint32_t>(i)) * scale * scale;
  }
  template <class T>
  std::vector<T> rows(int32_t from, int32_t to, uint32_t kind) const {
    std::vector<T> all;
    const int32_t dim = kind == 1 ? c.dim : c.width();
    for (int32_t g = 0; g < c.kv_heads; ++g)
      for (int32_t j = from; j < to; ++j)
        for (int32_t i = 0; i < dim; ++i) {
          const float x = number(j, g, i, kind);
          all.push_back(static_cast<T>(sizeof(T) == 1 ? x * 42 : x));
        }
    return all;
  }
  int32_t append_to(void* image, int32_t count) {
    fovea_in k = {}, v = {};
    const std::vector<float> kf = rows<float>(length, length + count, 1),
                             vf = rows<float>(length, length + count, 2);
    const std::vector<int8_t> kb = rows<int8_t>(length, length + count, 1),
                              vb = rows<int8_t>(length, length + count, 2);
    k.dtype = v.dtype = c.scaled ? FOVEA_F32 : FOVEA_I8;
    k.data = c.scaled ? static_cast<const void*>(kf.data()) : kb.data();
    v.data = c.scaled ? static_cast<const void*>(vf.data()) : vb.data();
    const int32_t status = fovea_cache_append(image, &k, &v, count);
    if (!status) length += count;
    return status;
  }
};

struct call_memory {
  std::vector<int8_t> q, k, v, out;
  std::vector<int32_t> multipliers;
  std::vector<int16_t> weights;
  fovea_fixed_attention a = {};

  call_memory(const model& m, int32_t queries) : out(size(m, queries) * static_cast<size_t>(m.c.width())) {
    for (size_t i = 0; i < size(m, queries) * static_cast<size_t>(m.c.dim); ++i)
      q.push_back(static_cast<int8_t>(
          127 * data::noise(55, static_cast<uint32_t>(i) + static_cast<uint32_t>(m.length) * 999)));
    a.q.data = q.data(), a.out.data = out.data();
    a.q_heads = m.c.group * m.c.kv_heads, a.kv_heads = m.c.kv_heads, a.dim = m.c.dim, a.v_dim = m.c.v_dim;
    a.queries = queries, a.max_keys = 1024, a.flags = FOVEA_CAUSAL, a.scale = m.c.scale();
    if (m.c.window) a.flags |= FOVEA_WINDOW, a.window_left = m.c.window, a.window_right = -1;
    a.keep_first = m.c.keep_first;
  }
  static size_t size(const model& m, int32_t queries) {
    return static_cast<size_t>(m.c.group) * static_cast<size_t>(m.c.kv_heads) * static_cast<size_t>(queries);
  }
  std::vector<int8_t> run() {
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a) + 1);
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    return out;
  }
};

std::vector<int8_t> attend_to_rows(const model& m, int32_t queries, int32_t isa) {
  call_memory x(m, queries);
  if (m.c.scaled) {
    const std::vector<float> kf = m.rows<float>(0, m.length, 1), vf = m.rows<float>(0, m.length, 2);
    for (int32_t row = 0; row < m.c.kv_heads * m.length; ++row) {
      const quantised_row k = quantise(&kf[static_cast<size_t>(row * m.c.dim)], m.c.dim, 3, m.c.multiplier()),
                          v = quantise(&vf[static_cast<size_t>(row * m.c.width())], m.c.width(), 1.5f, 32767);
      x.k.insert(x.k.end(), k.q.begin(), k.q.end()), x.v.insert(x.v.end(), v.q.begin(), v.q.end());
      x.multipliers.push_back(k.by), x.weights.push_back(static_cast<int16_t>(v.by));
    }
    x.a.key_multipliers.data = x.multipliers.data(), x.a.value_weights.data = x.weights.data();
  } else {
    x.k = m.rows<int8_t>(0, m.length, 1), x.v = m.rows<int8_t>(0, m.length, 2);
  }
  x.a.k.data = x.k.data(), x.a.v.data = x.v.data(), x.a.keys = m.length, x.a.isa = isa;
  return x.run();
}

std::vector<int8_t> attend_to_cache(const model& m, const std::vector<const void*>& images, int32_t queries,
                                    int32_t isa) {
  call_memory x(m, queries);
  fovea_segments map = {};
  for (const void* image : images) CHECK(fovea_cache_view_fixed(image, &map, &x.a) == FOVEA_OK);
  x.a.isa = isa;
  return x.run();
}

template <class Body>
void each_isa(const Body& body) {
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (fovea_fixed_has_isa(isa) != 1) continue;
    INFO(std::string(fovea_fixed_isa_name(isa)));
    body(isa);
  }
}

struct int8_block {
  std::vector<uint32_t> words;
  explicit int8_block(const fovea_cache_shape& s) : words(fovea_cache_size(&s) / 4, 0xA5A5A5A5u) {}
  unsigned char* data() { return reinterpret_cast<unsigned char*>(words.data()); }
  size_t size() const { return words.size() * 4; }
};

} // namespace

TEST_CASE("int8 cache: attention has the bits of the same rows, in one piece and in a ring") {
  for (const cache_case& c : cases) {
    INFO(std::string(c.why));
    const fovea_cache_shape shape = c.shape();
    int8_block image(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    model m{c, 3};
    data::lottery lot(2);
    const int32_t end = c.window ? 2 * c.capacity : c.capacity;
    while (m.length < end) {
      const int32_t left = end - m.length, wanted = lot.one_in(2) ? c.most : 1,
                    count = wanted < left ? wanted : left;
      REQUIRE(m.append_to(image.data(), count) == FOVEA_OK);
      if (m.length < end && !lot.one_in(sizeof(void*) == 8 ? 3 : 16)) continue;
      each_isa([&](int32_t isa) {
        CHECK(attend_to_cache(m, {image.data()}, count, isa) == attend_to_rows(m, count, isa));
      });
    }
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
  }
}

TEST_CASE("int8 cache: the constant size is the size") {
  for (const cache_case& c : cases) {
    const fovea_cache_shape shape = c.shape();
    CHECK(fovea_cache_size(&shape) == FOVEA_CACHE_BYTES(c.kv_heads, c.dim, c.width(), c.capacity, FOVEA_I8) +
                                          (c.scaled ? FOVEA_CACHE_SCALES(c.kv_heads, c.capacity) : 0));
  }
}

TEST_CASE("int8 cache: behind a prefix") {
  const cache_case c = {"", 2, 2, 12, 20, 200, 0, 0, 8, true};
  const fovea_cache_shape shape = c.shape();
  int8_block prefix(shape);
  REQUIRE(fovea_cache_init(prefix.data(), prefix.size(), &shape) == FOVEA_OK);
  model m{c, 3};
  REQUIRE(m.append_to(prefix.data(), 150) == FOVEA_OK);
  for (int32_t split : {1, 63, 64, 65, 128, 149, 150}) {
    INFO("split ", split);
    fovea_cache_shape branch = {};
    branch.capacity = 200;
    int8_block tail(shape);
    REQUIRE(fovea_cache_branch(tail.data(), tail.size(), &branch, prefix.data(), split) == FOVEA_OK);
    model own{c, 3, split};
    REQUIRE(own.append_to(tail.data(), 150 - split) == FOVEA_OK);
    each_isa([&](int32_t isa) {
      CHECK(attend_to_cache(own, {prefix.data(), tail.data()}, 5, isa) == attend_to_rows(own, 5, isa));
    });
    CHECK(fovea_cache_verify(tail.data(), tail.size()) == FOVEA_OK);
  }
}

TEST_CASE("int8 cache: it refuses by name") {
  const cache_case plain = cases[1], scaled = cases[3];
  const auto status = [](int32_t reason, int32_t argument) { return reason | argument << 8; };
  fovea_cache_shape shape = plain.shape();
  int8_block image(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  const std::vector<uint32_t> before = image.words;
  const std::vector<float> rows(4096, 0.5f);
  fovea_in in = {};
  in.data = rows.data();
  CHECK(fovea_cache_append(image.data(), &in, &in, 1) == status(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
  fovea_attention floats = {};
  CHECK(fovea_cache_view(image.data(), nullptr, &floats) == status(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
  CHECK(image.words == before);

  shape = scaled.shape();
  int8_block other(shape);
  REQUIRE(fovea_cache_init(other.data(), other.size(), &shape) == FOVEA_OK);
  const std::vector<uint32_t> fresh = other.words;
  std::vector<float> k(40, 1), v(14, 1);
  fovea_in in_k = {}, in_v = {};
  in_k.data = k.data(), in_v.data = v.data();
  k[39] = 3.0000002f;
  CHECK(fovea_cache_append(other.data(), &in_k, &in_v, 1) == status(FOVEA_RANGE, FOVEA_ARG_K));
  k[39] = -3, v[3] = -1.6f;
  CHECK(fovea_cache_append(other.data(), &in_k, &in_v, 1) == status(FOVEA_RANGE, FOVEA_ARG_V));
  v[3] = NAN;
  CHECK(fovea_cache_append(other.data(), &in_k, &in_v, 1) == status(FOVEA_NOT_FINITE, FOVEA_ARG_V));
  in_k.dtype = in_v.dtype = FOVEA_I8;
  CHECK(fovea_cache_append(other.data(), &in_k, &in_v, 1) == status(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
  fovea_fixed_attention a = {};
  a.scale.score_multiplier = shape.score_multiplier + 1;
  CHECK(fovea_cache_view_fixed(other.data(), nullptr, &a) == status(FOVEA_RANGE, FOVEA_ARG_SCALE));
  CHECK(other.words == fresh);
}

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
