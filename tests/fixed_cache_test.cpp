// Caches of int8: attention in integers on a cache has the bits of attention on the same rows.
#include "fixed_cache_model.hpp"

using namespace fixed_cache;

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

TEST_CASE("int8 cache: each key and value has the multiplier of docs/cache.md") {
  const cache_case& c = cases[3];
  const fovea_cache_shape shape = c.shape();
  int8_block image(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  model m{c, 3};
  constexpr int32_t tokens = 20;
  REQUIRE(m.append_to(image.data(), tokens) == FOVEA_OK);
  fovea_fixed_attention a = {};
  REQUIRE(fovea_cache_view_fixed(image.data(), nullptr, &a) == FOVEA_OK);
  const std::vector<float> k = m.rows<float>(0, tokens, 1), v = m.rows<float>(0, tokens, 2);
  const auto* multipliers = static_cast<const int32_t*>(a.key_multipliers.data);
  const auto* weights = static_cast<const int16_t*>(a.value_weights.data);
  int wrong = 0;
  for (int32_t g = 0; g < c.kv_heads; ++g)
    for (int32_t j = 0; j < tokens; ++j) {
      const int32_t row = g * tokens + j;
      const quantised_row key = quantise(k.data() + row * c.dim, c.dim, 3, c.multiplier()),
                          value = quantise(v.data() + row * c.width(), c.width(), 1.5f, 32767);
      wrong += multipliers[g * a.key_multipliers.head_stride + j] != key.by;
      wrong += weights[g * a.value_weights.head_stride + j] != value.by;
    }
  CHECK(wrong == 0);
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
  CHECK(image.words == before);

  shape = scaled.shape();
  int8_block other(shape);
  REQUIRE(fovea_cache_init(other.data(), other.size(), &shape) == FOVEA_OK);
  const std::vector<uint32_t> fresh = other.words;
  fovea_cache_shape small = shape; // numbers below 1, and the multiplier that 0 stands for
  small.k_largest = small.v_largest = 0.5f, small.score_multiplier = 0;
  int8_block of_small(small);
  CHECK(fovea_cache_init(of_small.data(), of_small.size(), &small) == FOVEA_OK);
  small.score_multiplier = (1 << 30) - 1;
  CHECK(fovea_cache_init(of_small.data(), of_small.size(), &small) == status(FOVEA_RANGE, FOVEA_ARG_SCALE));
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
