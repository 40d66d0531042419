// What caches of int8 and integer calls in segments refuse, by name; and the small entries, which refuse
// more.
#include "fixed_cache_model.hpp"

using namespace fixed_cache;

namespace {

using data::status_of;

int8_block cache_of(const cache_case& c, model& m, int32_t tokens) {
  const fovea_cache_shape shape = c.shape();
  int8_block image(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  while (tokens > 0) {
    const int32_t count = tokens < c.most ? tokens : c.most;
    REQUIRE(m.append_to(image.data(), count) == FOVEA_OK);
    tokens -= count;
  }
  return image;
}

} // namespace

TEST_CASE("int8 cache: the small entries do the same") {
  const cache_case& c = cases[2];
  model m{c, 3};
  int8_block image = cache_of(c, m, 0), other = image;
  for (int32_t count : {1, 16, 33, 20}) {
    const std::vector<int8_t> k = m.rows<int8_t>(m.length, m.length + count, 1),
                              v = m.rows<int8_t>(m.length, m.length + count, 2);
    fovea_in in_k = {}, in_v = {};
    in_k.dtype = in_v.dtype = FOVEA_I8;
    in_k.data = k.data(), in_v.data = v.data();
    CHECK(fovea_cache_append_plain(other.data(), &in_k, &in_v, count) == FOVEA_OK);
    REQUIRE(m.append_to(image.data(), count) == FOVEA_OK);
    CHECK(image.words == other.words);
  }
  call_memory x(m, 3);
  x.a.k.zero_point = 3;
  CHECK(fovea_cache_view_plain(other.data(), &x.a) == FOVEA_OK);
  CHECK(x.a.k.zero_point == 3);
  x.a.k.zero_point = 0;
  std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&x.a));
  CHECK(fovea_fixed_attend_plain(&x.a, scratch.data(), scratch.size()) == FOVEA_OK);
  CHECK(x.out == attend_to_rows(m, 3, FOVEA_FIXED_BEST));
  const std::vector<uint32_t> before = other.words;
  fovea_in none = {};
  none.dtype = FOVEA_I8;
  CHECK(fovea_cache_append_plain(other.data(), &none, &none, 1) ==
        status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS));
  CHECK(fovea_cache_append_plain(other.data(), &none, &none, -1) == status_of(FOVEA_SIZE, FOVEA_ARG_KEYS));
  CHECK(fovea_cache_append_plain(nullptr, &none, &none, 0) == status_of(FOVEA_NULL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_append_plain(other.data(), &none, &none, 0) == FOVEA_OK);
  CHECK(fovea_cache_view_plain(other.data(), nullptr) == status_of(FOVEA_NULL, FOVEA_ARG_CALL));
  CHECK(other.words == before);
}

TEST_CASE("int8 cache: the small entries refuse scales, rings and floats") {
  fovea_cache_shape floats = cases[1].shape();
  floats.dtype = FOVEA_F32;
  for (const fovea_cache_shape& shape : {cases[3].shape(), cases[4].shape(), floats}) {
    int8_block image(shape);
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    const std::vector<uint32_t> before = image.words;
    fovea_in none = {};
    fovea_fixed_attention a = {};
    CHECK(fovea_cache_append_plain(image.data(), &none, &none, 0) ==
          status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE));
    CHECK(fovea_cache_view_plain(image.data(), &a) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_IMAGE));
    CHECK(image.words == before);
  }
}

TEST_CASE("int8 cache: integer calls refuse segments by name") {
  const cache_case& c = cases[6]; // a ring with scales
  model m{c, 3};
  int8_block image = cache_of(c, m, 500);
  struct bad_call {
    const char* why;
    void (*spoil)(fovea_segments& map, fovea_fixed_attention& a);
    int32_t status;
  };
  const bad_call bad[] = {
      {"none", [](fovea_segments& s, fovea_fixed_attention&) { s.count = 0; },
       status_of(FOVEA_SIZE, FOVEA_ARG_SEGMENTS)},
      {"within a panel", [](fovea_segments& s, fovea_fixed_attention&) { s.at[1].first_key += 16; },
       status_of(FOVEA_ALIGN, FOVEA_ARG_SEGMENTS)},
      {"backwards", [](fovea_segments& s, fovea_fixed_attention&) { s.at[1].first_key = 0; },
       status_of(FOVEA_RANGE, FOVEA_ARG_SEGMENTS)},
      {"no keys", [](fovea_segments& s, fovea_fixed_attention&) { s.at[0].k = nullptr; },
       status_of(FOVEA_NULL, FOVEA_ARG_SEGMENTS)},
      {"no multipliers", [](fovea_segments& s, fovea_fixed_attention&) { s.at[1].key_multipliers = nullptr; },
       status_of(FOVEA_NULL, FOVEA_ARG_SEGMENTS)},
      {"no weights", [](fovea_segments& s, fovea_fixed_attention&) { s.at[1].value_weights = nullptr; },
       status_of(FOVEA_NULL, FOVEA_ARG_SEGMENTS)},
      {"a stride backwards",
       [](fovea_segments& s, fovea_fixed_attention&) { s.at[0].table_head_stride = -1; },
       status_of(FOVEA_STRIDE, FOVEA_ARG_SEGMENTS)},
      {"a window that has gone", [](fovea_segments&, fovea_fixed_attention& a) { a.window_left = 300; },
       status_of(FOVEA_RANGE, FOVEA_ARG_RING)},
      {"kept keys that have gone", [](fovea_segments&, fovea_fixed_attention& a) { a.keep_first = 65; },
       status_of(FOVEA_RANGE, FOVEA_ARG_RING)},
      {"more keys than max_keys", [](fovea_segments&, fovea_fixed_attention& a) { a.max_keys = 64; },
       status_of(FOVEA_SIZE, FOVEA_ARG_KEYS)},
      {"rows", [](fovea_segments&, fovea_fixed_attention& a) { a.k.layout = a.v.layout = FOVEA_ROWS; },
       status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS)},
      {"output over keys",
       [](fovea_segments& s, fovea_fixed_attention& a) { a.out.data = const_cast<void*>(s.at[1].k); },
       status_of(FOVEA_OVERLAP, FOVEA_ARG_OUT)},
  };
  for (const bad_call& b : bad) {
    INFO(std::string(b.why));
    call_memory x(m, 1);
    x.a.max_keys = 256; // less than the stream, more than the ring
    fovea_segments map = {};
    REQUIRE(fovea_cache_view_fixed(image.data(), &map, &x.a) == FOVEA_OK);
    REQUIRE(map.count > 1);
    CHECK(fovea_fixed_check(&x.a) == FOVEA_OK);
    b.spoil(map, x.a);
    CHECK(fovea_fixed_check(&x.a) == b.status);
  }
  call_memory x(m, 1);
  fovea_segments map = {};
  REQUIRE(fovea_cache_view_fixed(image.data(), &map, &x.a) == FOVEA_OK);
  const std::vector<uint32_t> before = image.words;
  CHECK(fovea_fixed_attend(&x.a, const_cast<void*>(map.at[0].v), 8192) ==
        status_of(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH));
  CHECK(image.words == before);
  x.a.key_multipliers = x.a.value_weights = {};
  std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&x.a));
  CHECK(fovea_fixed_attend_plain(&x.a, scratch.data(), scratch.size()) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS));
}
