// Caches of floats: attention on a cache has the bits of attention on the same rows, however they came into
// it.
#include "cache_model.hpp"
#include "fovea/fovea.hpp"

using namespace cache_test;

namespace {

const cache_shape contiguous[] = {
    {"one token a panel does not fill", 1, 1, 8, 0, 5, 0, 0},
    {"whole panels", 1, 1, 16, 0, 32, 0, 0},
    {"grouped heads, odd dims", 3, 2, 5, 19, 41, 0, 0},
    {"v narrower than a vector", 2, 2, 20, 3, 50, 0, 0},
    {"over a border of blocks", 2, 1, 4, 16, 270, 0, 0},
    {"f16", 2, 2, 5, 19, 41, 0, 0, FOVEA_F16},
    {"f16 over a border of blocks, whole vectors", 2, 1, 16, 24, 288, 0, 0, FOVEA_F16},
    {"bf16", 3, 2, 6, 3, 37, 0, 0, FOVEA_BF16},
};

} // namespace

TEST_CASE("cache: any chunks of appends decode as a prefill does") {
  for (const cache_shape& s : contiguous) {
    INFO(doctest::String(s.why));
    const fovea_cache_shape shape = s.shape();
    isas::for_each([&](int32_t isa) {
      for (int32_t chunk : {1, 3, 16, 37, 300}) {
        block image = room_for(shape);
        REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
        tokens t(s, 1);
        while (t.length() < s.capacity) {
          const int32_t left = s.capacity - t.length(), count = chunk < left ? chunk : left;
          t.add(count);
          REQUIRE(append(image.data(), t, count, s.dtype) == FOVEA_OK);
          if (chunk == 1 && t.length() % 9 != 1 && left > 1) continue;
          CHECK(same_as_model(s, t, {image.data()}, count, isa, 1 + count % 3));
        }
        CHECK(same_as_model(s, t, {image.data()}, s.capacity, isa));
        CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
        CHECK(image.guards_hold());
      }
    });
  }
}

TEST_CASE("cache: the constant size is the size") {
  for (const cache_shape& s : contiguous) {
    const fovea_cache_shape shape = s.shape();
    CHECK(fovea_cache_size(&shape) == FOVEA_CACHE_BYTES(s.kv_heads, s.dim, s.width(), s.capacity, s.dtype));
  }
}

TEST_CASE("cache: rows of any stride") {
  const cache_shape s = {"", 1, 3, 6, 4, 40, 0, 0};
  const fovea_cache_shape shape = s.shape();
  block image = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(s, 1);
  t.add(23);
  const std::vector<float> k = t.keys(0, 23), v = t.values(0, 23);
  std::vector<float> rows(23 * 3 * 10, 1e30f); // [token][head][k, v]
  for (size_t g = 0; g < 3; ++g)
    for (size_t j = 0; j < 23; ++j) {
      std::memcpy(&rows[(j * 3 + g) * 10], &k[(g * 23 + j) * 6], 6 * sizeof(float));
      std::memcpy(&rows[(j * 3 + g) * 10 + 6], &v[(g * 23 + j) * 4], 4 * sizeof(float));
    }
  fovea_in in_k = rows_of(rows), in_v = in_k;
  in_v.data = rows.data() + 6;
  in_k.head_stride = in_v.head_stride = 10, in_k.token_stride = in_v.token_stride = 30;
  CHECK(fovea_cache_append(image.data(), &in_k, &in_v, 23) == FOVEA_OK);
  CHECK(same_as_model(s, t, {image.data()}, 23));
}

TEST_CASE("cache: truncated and reset, it goes on as if the tokens had never come") {
  const cache_shape s = {"", 2, 2, 7, 0, 100, 0, 0};
  const fovea_cache_shape shape = s.shape();
  block image = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(s, 1);
  for (int32_t length : {40, 33, 32, 16, 1, 0}) {
    t.add(50);
    REQUIRE(append(image.data(), t, 50) == FOVEA_OK);
    REQUIRE(fovea_cache_truncate(image.data(), length) == FOVEA_OK);
    t.truncate(length);
    t.add(3);
    REQUIRE(append(image.data(), t, 3) == FOVEA_OK);
    CHECK(same_as_model(s, t, {image.data()}, 5));
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    REQUIRE(fovea_cache_reset(image.data()) == FOVEA_OK);
    CHECK(fovea_cache_length(image.data()) == 0);
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    t.truncate(0);
  }
}

TEST_CASE("cache: it may be copied anywhere") {
  const cache_shape s = {"", 2, 2, 7, 0, 40, 0, 0};
  const fovea_cache_shape shape = s.shape();
  block image = room_for(shape), copy = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  tokens t(s, 1);
  t.add(20);
  REQUIRE(append(image.data(), t, 20) == FOVEA_OK);
  copy.set(image.bytes());
  t.add(9);
  REQUIRE(append(copy.data(), t, 9) == FOVEA_OK);
  CHECK(same_as_model(s, t, {copy.data()}, 29));
  CHECK(fovea_cache_length(image.data()) == 20);
}

TEST_CASE("cache: the typed face") {
  static fovea::kv_cache<float, 2, 7, FOVEA_CACHE_RING(20, 4, 3, FOVEA_F32), 5> cache, prefix;
  const cache_shape s = {"", 2, 2, 7, 5, 0, 20, 4}, open_ended = {"", 2, 2, 7, 5, 0, 0, 0};
  CHECK(cache.length() == -1);
  REQUIRE(cache.init(20, 4) == FOVEA_OK);
  REQUIRE(prefix.init() == FOVEA_OK);
  tokens t(s, 1);
  for (int32_t n = 0; n < 40; ++n) {
    t.add(3);
    const std::vector<float> k = t.keys(3 * n, 3 * n + 3), v = t.values(3 * n, 3 * n + 3);
    REQUIRE(cache.append({k.data(), 0, 0}, {v.data(), 0, 0}, 3) == FOVEA_OK);
    if (n < 6) REQUIRE(prefix.append({k.data(), 0, 0}, {v.data(), 0, 0}, 3) == FOVEA_OK);
    CHECK(cache.length() == t.length());
  }
  CHECK(same_as_model(s, t, {cache.bytes}, 3));
  t.truncate(17);
  CHECK(cache.branch(prefix.bytes, 17) == FOVEA_OK);
  CHECK(same_as_model(open_ended, t, {prefix.bytes, cache.bytes}, 3));
  CHECK(cache.reset() == FOVEA_OK);
  CHECK(prefix.truncate(0) == FOVEA_OK);
  fovea_attention a = {};
  CHECK(prefix.view(a) == FOVEA_OK);
  CHECK(a.keys == 0);
}

TEST_CASE("cache: the typed face of 16 bits") {
  static fovea::kv_cache<fovea::f16, 2, 7, 40, 5> f16;
  static fovea::kv_cache<fovea::bf16, 2, 7, 40, 5> bf16;
  const cache_shape s = {"", 1, 2, 7, 5, 40, 0, 0};
  REQUIRE(f16.init() == FOVEA_OK);
  REQUIRE(bf16.init() == FOVEA_OK);
  tokens t(s, 1);
  t.add(20);
  const std::vector<float> k = t.keys(0, 20), v = t.values(0, 20);
  const fovea::view<const float> rows_k{k.data()}, rows_v{v.data()};
  REQUIRE(f16.append(rows_k, rows_v, 20) == FOVEA_OK);
  REQUIRE(bf16.append(rows_k, rows_v, 20) == FOVEA_OK);
  tokens more(s, 99);
  more.add(3);
  std::vector<fovea::f16> half_k, half_v;
  for (uint16_t x : halves_of(more.keys(0, 3), FOVEA_F16)) half_k.push_back({x});
  for (uint16_t x : halves_of(more.values(0, 3), FOVEA_F16)) half_v.push_back({x});
  REQUIRE(f16.append({half_k.data(), 0, 0}, {half_v.data(), 0, 0}, 3) == FOVEA_OK);
  CHECK(f16.length() == 23);
  CHECK(fovea_cache_verify(f16.bytes, sizeof f16.bytes) == FOVEA_OK);
  CHECK(same_as_model(
      s.of(FOVEA_BF16),
      [&] {
        tokens of_bf16(s.of(FOVEA_BF16), 1);
        return of_bf16.add(20), of_bf16;
      }(),
      {bf16.bytes}, 3));
}
