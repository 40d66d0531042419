// What a cache refuses, by name, and that it stays as it was.
#include "cache_model.hpp"

using namespace cache_test;

namespace {

using data::status_of;

const cache_shape small = {"", 1, 2, 6, 4, 20, 0, 0};

struct bad_shape {
  const char* why;
  void (*spoil)(fovea_cache_shape& s);
  int32_t status;
};
const bad_shape bad_shapes[] = {
    {"no heads", [](fovea_cache_shape& s) { s.kv_heads = 0; }, status_of(FOVEA_SIZE, FOVEA_ARG_HEADS)},
    {"no dim", [](fovea_cache_shape& s) { s.dim = 0; }, status_of(FOVEA_SIZE, FOVEA_ARG_DIM)},
    {"too large a dim", [](fovea_cache_shape& s) { s.dim = 1025; }, status_of(FOVEA_SIZE, FOVEA_ARG_DIM)},
    {"a negative v_dim", [](fovea_cache_shape& s) { s.v_dim = -1; }, status_of(FOVEA_SIZE, FOVEA_ARG_V_DIM)},
    {"no room", [](fovea_cache_shape& s) { s.capacity = 0; }, status_of(FOVEA_SIZE, FOVEA_ARG_KEYS)},
    {"more than fits", [](fovea_cache_shape& s) { s.capacity = INT32_MAX; },
     status_of(FOVEA_SIZE, FOVEA_ARG_KEYS)},
    {"int16", [](fovea_cache_shape& s) { s.dtype = FOVEA_I16; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE)},
    {"a dtype below all", [](fovea_cache_shape& s) { s.dtype = -1; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE)},
    {"f16 with scales", [](fovea_cache_shape& s) { s.dtype = FOVEA_F16, s.k_largest = s.v_largest = 1; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SCALE)},
    {"a negative window", [](fovea_cache_shape& s) { s.window = -1; },
     status_of(FOVEA_RANGE, FOVEA_ARG_RING)},
    {"a ring of part of a panel", [](fovea_cache_shape& s) { s.window = 2; },
     status_of(FOVEA_ALIGN, FOVEA_ARG_KEYS)},
    {"a ring as large as its window", [](fovea_cache_shape& s) { s.window = s.capacity = 32; },
     status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS)},
    {"kept tokens leave no ring",
     [](fovea_cache_shape& s) { s.window = 1, s.capacity = 32, s.keep_first = 17; },
     status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS)},
    {"kept tokens without a ring", [](fovea_cache_shape& s) { s.keep_first = 1; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_KEEP_FIRST)},
    {"scales of floats", [](fovea_cache_shape& s) { s.k_largest = s.v_largest = 1; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_SCALE)},
    {"only one scale", [](fovea_cache_shape& s) { s.dtype = FOVEA_I8, s.k_largest = 1; },
     status_of(FOVEA_RANGE, FOVEA_ARG_SCALE)},
    {"a word of a later version", [](fovea_cache_shape& s) { s.reserved[3] = 1; },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED)},
};

struct live_cache {
  block image;
  tokens t;
  std::vector<float> k, v;
  fovea_in in_k, in_v;

  live_cache() : image(room_for(small.shape())), t(small, 1) {
    const fovea_cache_shape shape = small.shape();
    REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
    t.add(12);
    REQUIRE(append(image.data(), t, 12) == FOVEA_OK);
    k = t.keys(0, 4), v = t.values(0, 4);
    in_k = rows_of(k), in_v = rows_of(v);
  }
};

struct bad_append {
  const char* why;
  int32_t (*append)(live_cache& c);
  int32_t status;
};
const bad_append bad_appends[] = {
    {"no image", [](live_cache& c) { return fovea_cache_append(nullptr, &c.in_k, &c.in_v, 4); },
     status_of(FOVEA_NULL, FOVEA_ARG_IMAGE)},
    {"an image at an odd address",
     [](live_cache& c) { return fovea_cache_append(c.image.data() + 1, &c.in_k, &c.in_v, 4); },
     status_of(FOVEA_ALIGN, FOVEA_ARG_IMAGE)},
    {"no image at all",
     [](live_cache& c) { return fovea_cache_append(c.image.data() + 4, &c.in_k, &c.in_v, 4); },
     status_of(FOVEA_FOREIGN, FOVEA_ARG_IMAGE)},
    {"no keys", [](live_cache& c) { return fovea_cache_append(c.image.data(), nullptr, &c.in_v, 4); },
     status_of(FOVEA_NULL, FOVEA_ARG_K)},
    {"no values", [](live_cache& c) { return fovea_cache_append(c.image.data(), &c.in_k, nullptr, 4); },
     status_of(FOVEA_NULL, FOVEA_ARG_V)},
    {"no rows of values",
     [](live_cache& c) {
       return c.in_v.data = nullptr, fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_NULL, FOVEA_ARG_V)},
    {"a negative stride",
     [](live_cache& c) {
       return c.in_k.token_stride = -6, fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_STRIDE, FOVEA_ARG_K)},
    {"bytes for floats",
     [](live_cache& c) {
       return c.in_k.dtype = c.in_v.dtype = FOVEA_I8, fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K)},
    {"panels",
     [](live_cache& c) {
       return c.in_k.layout = FOVEA_PANELS, fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K)},
    {"less than nothing",
     [](live_cache& c) { return fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, -1); },
     status_of(FOVEA_SIZE, FOVEA_ARG_KEYS)},
    {"one more than fits",
     [](live_cache& c) { return fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 9); },
     status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS)},
    {"far more than fits",
     [](live_cache& c) { return fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, INT32_MAX); },
     status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS)},
    {"keys of the cache itself",
     [](live_cache& c) {
       return c.in_k.data = c.image.data() + 192, fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_OVERLAP, FOVEA_ARG_K)},
    {"values of the cache itself",
     [](live_cache& c) {
       return c.in_v.data = c.image.data() + c.image.size() - 4,
              fovea_cache_append(c.image.data(), &c.in_k, &c.in_v, 4);
     },
     status_of(FOVEA_OVERLAP, FOVEA_ARG_V)},
    {"truncated beyond its end", [](live_cache& c) { return fovea_cache_truncate(c.image.data(), 13); },
     status_of(FOVEA_RANGE, FOVEA_ARG_KEYS)},
    {"truncated to less than nothing", [](live_cache& c) { return fovea_cache_truncate(c.image.data(), -1); },
     status_of(FOVEA_RANGE, FOVEA_ARG_KEYS)},
};

} // namespace

TEST_CASE("cache: shapes that are refused") {
  for (const bad_shape& bad : bad_shapes) {
    INFO(doctest::String(bad.why));
    fovea_cache_shape s = small.shape();
    bad.spoil(s);
    block image(8192);
    const std::vector<unsigned char> before = image.bytes();
    CHECK(fovea_cache_init(image.data(), image.size(), &s) == bad.status);
    CHECK(image.bytes() == before);
  }
}

TEST_CASE("cache: memory that init refuses") {
  const fovea_cache_shape s = small.shape();
  block image = room_for(s);
  const std::vector<unsigned char> before = image.bytes();
  CHECK(fovea_cache_init(nullptr, image.size(), &s) == status_of(FOVEA_NULL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_init(image.data(), image.size(), nullptr) == status_of(FOVEA_NULL, FOVEA_ARG_CALL));
  CHECK(fovea_cache_init(image.data() + 2, image.size(), &s) == status_of(FOVEA_ALIGN, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_init(image.data(), image.size() - 1, &s) == status_of(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE));
  CHECK(image.bytes() == before);
}

TEST_CASE("cache: appends and truncates that are refused") {
  for (const bad_append& bad : bad_appends) {
    INFO(doctest::String(bad.why));
    live_cache c;
    const std::vector<unsigned char> before = c.image.bytes();
    CHECK(bad.append(c) == bad.status);
    CHECK(c.image.bytes() == before);
    CHECK(c.image.guards_hold());
  }
}

TEST_CASE("cache: views that are refused leave the call as it is") {
  struct bad_view {
    const char* why;
    void (*spoil)(live_cache& c, fovea_attention& a);
    int32_t status;
  };
  const bad_view bad[] = {
      {"other heads", [](live_cache&, fovea_attention& a) { a.kv_heads = 1; },
       status_of(FOVEA_SIZE, FOVEA_ARG_HEADS)},
      {"another dim", [](live_cache&, fovea_attention& a) { a.dim = 4; },
       status_of(FOVEA_SIZE, FOVEA_ARG_DIM)},
      {"another v_dim", [](live_cache&, fovea_attention& a) { a.v_dim = 6; },
       status_of(FOVEA_SIZE, FOVEA_ARG_V_DIM)},
      {"another magic", [](live_cache& c, fovea_attention&) { c.image.data()[0] ^= 1; },
       status_of(FOVEA_FOREIGN, FOVEA_ARG_IMAGE)},
      {"another version", [](live_cache& c, fovea_attention&) { c.image.data()[4] ^= 2; },
       status_of(FOVEA_FOREIGN, FOVEA_ARG_IMAGE)},
      {"another shape", [](live_cache& c, fovea_attention&) { c.image.data()[32] ^= 2; },
       status_of(FOVEA_DAMAGED, FOVEA_ARG_IMAGE)},
      {"no state", [](live_cache& c, fovea_attention&) { std::memset(c.image.data() + 128, 0, 64); },
       status_of(FOVEA_DAMAGED, FOVEA_ARG_IMAGE)},
  };
  for (const bad_view& b : bad) {
    INFO(doctest::String(b.why));
    live_cache c;
    fovea_attention a = {};
    b.spoil(c, a);
    const fovea_attention before = a;
    CHECK(fovea_cache_view(c.image.data(), nullptr, &a) == b.status);
    CHECK(std::memcmp(&a, &before, sizeof a) == 0);
  }
  live_cache c;
  fovea_fixed_attention integers = {};
  CHECK(fovea_cache_view_fixed(c.image.data(), nullptr, &integers) ==
        status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_K));
  CHECK(fovea_cache_view(c.image.data(), nullptr, nullptr) == status_of(FOVEA_NULL, FOVEA_ARG_CALL));
  const std::vector<unsigned char> bytes = c.image.bytes();
  for (const size_t place : {size_t{0}, c.image.size() - 64}) { // segments in the image
    fovea_attention a = {};
    auto* const segments = reinterpret_cast<fovea_segments*>(c.image.data() + place);
    CHECK(fovea_cache_view(c.image.data(), segments, &a) == status_of(FOVEA_OVERLAP, FOVEA_ARG_SEGMENTS));
    CHECK(a.segments == nullptr);
    CHECK(c.image.bytes() == bytes);
  }
  CHECK(fovea_cache_length(nullptr) == -1);
}

TEST_CASE("cache: restores that are refused") {
  live_cache c;
  block target = room_for(small.shape());
  const std::vector<unsigned char> before = target.bytes();
  const size_t size = c.image.size();
  CHECK(fovea_cache_restore(target.data(), size - 4, c.image.data(), size) ==
        status_of(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_restore(target.data(), size, c.image.data(), size - 4) ==
        status_of(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_restore(target.data(), size, c.image.data(), 191) ==
        status_of(FOVEA_TOO_SMALL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_restore(nullptr, size, c.image.data(), size) == status_of(FOVEA_NULL, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_restore(target.data() + 1, size, c.image.data(), size) ==
        status_of(FOVEA_ALIGN, FOVEA_ARG_IMAGE));
  CHECK(fovea_cache_restore(c.image.data(), size, c.image.data(), size) ==
        status_of(FOVEA_OVERLAP, FOVEA_ARG_IMAGE));
  CHECK(target.bytes() == before);
}
