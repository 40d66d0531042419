// Caches of int8 under float queries: attention on a cache has the bits of attention on the same rows.
#include "fixed_cache_history.hpp"
#include "isas.hpp"

using namespace fixed_cache;

namespace {

struct float_call {
  std::vector<float> q, out;
  std::vector<int8_t> k, v;
  std::vector<int32_t> multipliers;
  std::vector<int16_t> weights;
  fovea_attention a = {};

  float_call(const model& m, int32_t queries) {
    const size_t rows = call_memory::size(m, queries);
    out.resize(rows * static_cast<size_t>(m.c.width()));
    // A row of queries has the same numbers whatever comes with it.
    for (int32_t h = 0; h < m.c.group * m.c.kv_heads; ++h)
      for (int32_t p = m.length - queries; p < m.length; ++p)
        for (int32_t c = 0; c < m.c.dim; ++c)
          q.push_back(4 * data::noise(55, static_cast<uint32_t>((p * 131 + h) * m.c.dim + c)));
    a.q.data = q.data(), a.out.data = out.data();
    a.q_heads = m.c.group * m.c.kv_heads, a.kv_heads = m.c.kv_heads, a.dim = m.c.dim, a.v_dim = m.c.v_dim;
    a.queries = queries, a.flags = FOVEA_CAUSAL;
    if (m.c.window) a.flags |= FOVEA_WINDOW, a.window_left = m.c.window, a.window_right = -1;
    a.keep_first = m.c.keep_first;
    if (!m.c.scaled) a.flags |= FOVEA_SCALE, a.scale = 0.0001f; // the numbers are up to 127
  }
  std::vector<float> run(int32_t isa) {
    a.isa = isa;
    std::vector<unsigned char> scratch(fovea_scratch_best(&a) + 1);
    CHECK(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    return out;
  }
};

std::vector<float> floats_on_rows(const model& m, int32_t queries, int32_t isa) {
  float_call x(m, queries);
  give_rows(m, x);
  if (m.c.scaled) {
    x.a.k.scales = x.multipliers.data(), x.a.v.scales = x.weights.data();
    x.a.k.scale_unit = 3.0f / 127 / static_cast<float>(m.c.multiplier());
    x.a.v.scale_unit = 1.5f / 127 / 32767;
  }
  x.a.k.dtype = x.a.v.dtype = FOVEA_I8;
  x.a.k.data = x.k.data(), x.a.v.data = x.v.data(), x.a.keys = m.length;
  return x.run(isa);
}

std::vector<float> floats_on_cache(const model& m, const std::vector<const void*>& images, int32_t queries,
                                   int32_t isa) {
  float_call x(m, queries);
  fovea_segments map = {};
  for (const void* image : images) CHECK(fovea_cache_view(image, &map, &x.a) == FOVEA_OK);
  return x.run(isa);
}

bool same(const model& m, const std::vector<const void*>& images, int32_t queries, int32_t isa) {
  return data::same_bits(floats_on_cache(m, images, queries, isa), floats_on_rows(m, queries, isa));
}

struct float_queries {
  static void check(const model& m, const std::vector<const void*>& images) {
    REQUIRE(same(m, images, 1, FOVEA_ISA_BEST));
  }
};

} // namespace

TEST_CASE("int8 cache under float queries: the bits of the same rows, in one piece and in a ring") {
  for (const cache_case& c : cases) {
    INFO(doctest::String(c.why));
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
      isas::for_each([&](int32_t isa) { CHECK(same(m, {image.data()}, count, isa)); });
    }
  }
}

TEST_CASE("int8 cache under float queries: decode has the bits of a prefill, row by row") {
  for (const cache_case& c : {cases[1], cases[3]}) {
    const fovea_cache_shape shape = c.shape();
    int8_block image(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    model m{c, 3};
    const size_t heads = call_memory::size(m, 1), width = static_cast<size_t>(c.width()), tokens = 130;
    std::vector<float> decoded(heads * tokens * width);
    for (size_t t = 0; t < tokens; ++t) {
      REQUIRE(m.append_to(image.data(), 1) == FOVEA_OK);
      const std::vector<float> row = floats_on_cache(m, {image.data()}, 1, FOVEA_ISA_BEST);
      for (size_t h = 0; h < heads; ++h)
        std::memcpy(&decoded[(h * tokens + t) * width], &row[h * width], width * sizeof(float));
    }
    CHECK(data::same_bits(decoded, floats_on_cache(m, {image.data()}, tokens, FOVEA_ISA_BEST)));
  }
}

TEST_CASE("int8 cache under float queries: behind a prefix, at every split point of 300 tokens") {
  const cache_case c = {"", 2, 2, 5, 19, 364, 0, 0, 8, true};
  const int32_t step = isas::any_promises_bits() && sizeof(void*) == 8 ? 1 : 37;
  const fovea_cache_shape shape = c.shape();
  int8_block prefix(shape);
  REQUIRE(fovea_cache_init(prefix.data(), prefix.size(), &shape) == FOVEA_OK);
  model m{c, 3};
  REQUIRE(m.append_to(prefix.data(), 300) == FOVEA_OK);
  const std::vector<float> expected = floats_on_rows(m, 7, FOVEA_ISA_BEST);
  for (int32_t split = 0; split <= 300; split += step) {
    INFO("split ", split);
    fovea_cache_shape branch = {};
    branch.capacity = 364 - split;
    int8_block tail(shape);
    REQUIRE(fovea_cache_branch(tail.data(), tail.size(), &branch, prefix.data(), split) == FOVEA_OK);
    model own{c, 3, split};
    REQUIRE(own.append_to(tail.data(), 300 - split) == FOVEA_OK);
    CHECK(data::same_bits(floats_on_cache(own, {prefix.data(), tail.data()}, 7, FOVEA_ISA_BEST), expected));
  }
}

TEST_CASE("int8 cache under float queries: few rows, of which some end with a block") {
  for (int32_t v_dim : {7, 16, 40}) {
    const cache_case c = {"", 1, 1, 16, v_dim, 300, 0, 0, 260, true};
    const fovea_cache_shape shape = c.shape();
    int8_block image(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    model m{c, 3};
    REQUIRE(m.append_to(image.data(), 258) == FOVEA_OK); // position 255 is the last one of a block
    for (int32_t queries = 2; queries <= 9; ++queries) {
      INFO("v_dim ", v_dim, ", queries ", queries);
      isas::for_each([&](int32_t isa) {
        const std::vector<float> together = floats_on_cache(m, {image.data()}, queries, isa);
        for (int32_t i = 0; i < queries; ++i) { // the same query alone
          float_call one(m, queries);
          one.a.q.data = &one.q[static_cast<size_t>(i * c.dim)], one.a.queries = 1;
          one.a.flags |= FOVEA_POSITION, one.a.position = m.length - queries + i;
          CHECK(fovea_cache_view(image.data(), nullptr, &one.a) == FOVEA_OK);
          const std::vector<float> alone = one.run(isa);
          CHECK(std::memcmp(&together[static_cast<size_t>(i * v_dim)], alone.data(),
                            static_cast<size_t>(v_dim) * sizeof(float)) == 0);
        }
      });
    }
  }
}

TEST_CASE("int8 cache under float queries: random histories") {
  random_histories<history<float_queries>>(sizeof(void*) == 8 ? 60 : 8, 25);
}
TEST_CASE("prove_int8_cache_float_histories" * doctest::skip()) {
  random_histories<history<float_queries>>(100000, 25);
}
