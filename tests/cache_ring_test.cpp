// Rings and branches: attention has the bits of the same tokens in one piece.
#include <limits>

#include "cache_model.hpp"

using namespace cache_test;

namespace {

using data::status_of;

struct ring_case {
  cache_shape s;
  int32_t most; // tokens at once
};
constexpr int32_t ring(int32_t window, int32_t keep_first, int32_t most) {
  return FOVEA_CACHE_RING(window, keep_first, most, FOVEA_F32);
}
const ring_case rings[] = {
    {{"a window smaller than a panel", 1, 1, 8, 0, ring(5, 0, 1), 5, 0}, 1},
    {{"a window of one token", 2, 1, 4, 17, ring(1, 0, 3), 1, 0}, 3},
    {{"kept tokens in a panel of their own", 2, 2, 5, 70, ring(20, 4, 7), 20, 4}, 7},
    {{"kept tokens, and a window over blocks", 1, 1, 4, 16, ring(300, 17, 40), 300, 17}, 40},
    {{"v narrower than a vector", 3, 1, 6, 3, ring(40, 3, 9), 40, 3}, 9},
    {{"more queries than a tile", 4, 1, 16, 32, ring(24, 0, 30), 24, 0}, 30},
};

std::vector<ring_case> every_ring() {
  std::vector<ring_case> all;
  for (const ring_case& r : rings)
    for (int32_t dtype : float_dtypes) all.push_back({r.s.of(dtype), r.most});
  return all;
}

block begun(const fovea_cache_shape& shape) { // bytes that are NaN until they are written
  block image = room_for(shape);
  REQUIRE(fovea_cache_init(image.data(), image.size(), &shape) == FOVEA_OK);
  return image;
}

// A ring that has dropped most of its 150 tokens.
struct old_ring {
  cache_shape s = {"", 1, 1, 4, 0, ring(20, 3, 5), 20, 3};
  block image = begun(s.shape());
  tokens t = tokens(s, 1);

  old_ring() {
    while (t.length() < 150) {
      t.add(5);
      REQUIRE(append(image.data(), t, 5) == FOVEA_OK);
    }
  }
};

} // namespace

TEST_CASE("cache: a ring gives the bits of a cache that holds everything") {
  for (const ring_case& r : every_ring()) {
    INFO(doctest::String(r.s.why), " of dtype ", r.s.dtype);
    block image = begun(r.s.shape());
    tokens t(r.s, 3);
    data::lottery lot(5);
    const int32_t end = 2 * r.s.capacity + 40;
    while (t.length() < end) {
      const int32_t count = lot.one_in(3) ? 1 : lot.between(1, r.most);
      t.add(count);
      REQUIRE(append(image.data(), t, count, r.s.dtype) == FOVEA_OK);
      if (t.length() > 20 && lot.one_in(2)) continue;
      isas::for_each(
          [&](int32_t isa) { CHECK(same_as_model(r.s, t, {image.data()}, count, isa, lot.between(1, 2))); });
    }
    CHECK(fovea_cache_verify(image.data(), image.size()) == FOVEA_OK);
    CHECK(image.guards_hold());
  }
}

TEST_CASE("cache: a ring refuses what it cannot give any more") {
  old_ring old;
  const cache_shape& s = old.s;
  const tokens& t = old.t;
  block& image = old.image;
  const std::vector<unsigned char> before = image.bytes();
  tokens more = t;
  more.add(s.capacity);
  CHECK(append(image.data(), more, s.capacity) == status_of(FOVEA_TOO_SMALL, FOVEA_ARG_KEYS));
  CHECK(fovea_cache_truncate(image.data(), 100) == status_of(FOVEA_RANGE, FOVEA_ARG_RING));
  CHECK(image.bytes() == before);
  fovea_attention empty = {};
  CHECK(fovea_cache_view(image.data(), nullptr, &empty) == status_of(FOVEA_NULL, FOVEA_ARG_SEGMENTS));

  const std::vector<float> q = t.queries(149, 150);
  std::vector<float> out(4, 7.0f);
  fovea_segments map = {};
  fovea_attention a = call_for(s, q, out, 1);
  REQUIRE(view({image.data()}, map, a) == FOVEA_OK);
  const auto status = [&](void (*spoil)(fovea_attention&)) {
    fovea_attention b = a;
    spoil(b);
    return fovea_check(&b);
  };
  CHECK(status([](fovea_attention&) {}) == FOVEA_OK);
  constexpr int32_t gone = status_of(FOVEA_RANGE, FOVEA_ARG_RING);
  CHECK(status([](fovea_attention& b) { b.window_left = 60; }) == gone);
  CHECK(status([](fovea_attention& b) { b.flags = FOVEA_CAUSAL; }) == gone);
  CHECK(status([](fovea_attention& b) { b.keep_first = 17; }) == gone);
  CHECK(status([](fovea_attention& b) { b.prefix = 30; }) == gone);
  CHECK(status([](fovea_attention& b) { b.flags |= FOVEA_POSITION, b.position = 60; }) == gone);
  CHECK(status([](fovea_attention& b) { b.keep_first = 16; }) == FOVEA_OK);
  CHECK(data::same_bits(out, std::vector<float>(4, 7.0f)));
}

TEST_CASE("cache: segments that are refused") {
  old_ring old;
  const cache_shape& s = old.s;
  const tokens& t = old.t;
  block& image = old.image;
  const std::vector<float> q = t.queries(149, 150);
  std::vector<float> out(4, 7.0f);
  struct bad_segments {
    const char* why;
    void (*spoil)(fovea_segments& map, fovea_attention& a);
    int32_t reason;
  };
  const bad_segments bad[] = {
      {"none", [](fovea_segments& m, fovea_attention&) { m.count = 0; }, FOVEA_SIZE},
      {"too many", [](fovea_segments& m, fovea_attention&) { m.count = FOVEA_SEGMENTS_MAX + 1; }, FOVEA_SIZE},
      {"within a panel", [](fovea_segments& m, fovea_attention&) { m.at[1].first_key += 1; }, FOVEA_ALIGN},
      {"backwards", [](fovea_segments& m, fovea_attention&) { m.at[1].first_key = 0; }, FOVEA_RANGE},
      {"behind the last key", [](fovea_segments& m, fovea_attention&) { m.at[m.count - 1].keys += 1; },
       FOVEA_RANGE},
      {"less than nothing", [](fovea_segments& m, fovea_attention&) { m.at[0].keys = -1; }, FOVEA_RANGE},
      {"no keys", [](fovea_segments& m, fovea_attention&) { m.at[0].k = nullptr; }, FOVEA_NULL},
      {"no values", [](fovea_segments& m, fovea_attention&) { m.at[0].v = nullptr; }, FOVEA_NULL},
      {"at an odd address",
       [](fovea_segments& m, fovea_attention&) { m.at[0].v = static_cast<const char*>(m.at[0].v) + 1; },
       FOVEA_ALIGN},
      {"a stride backwards", [](fovea_segments& m, fovea_attention&) { m.at[0].k_head_stride = -64; },
       FOVEA_STRIDE},
      {"of rows", [](fovea_segments&, fovea_attention& a) { a.k.layout = FOVEA_ROWS; }, FOVEA_UNSUPPORTED},
  };
  for (const bad_segments& b : bad) {
    INFO(doctest::String(b.why));
    fovea_segments map = {};
    fovea_attention a = call_for(s, q, out, 1);
    REQUIRE(view({image.data()}, map, a) == FOVEA_OK);
    b.spoil(map, a);
    CHECK(run(a) == status_of(b.reason, FOVEA_ARG_SEGMENTS));
  }
  fovea_segments map = {};
  fovea_attention a = call_for(s, q, out, 1);
  REQUIRE(view({image.data()}, map, a) == FOVEA_OK);
  a.out.data = const_cast<void*>(map.at[0].v);
  CHECK(run(a) == status_of(FOVEA_OVERLAP, FOVEA_ARG_OUT));
  a.out.data = out.data();
  CHECK(fovea_attend(&a, image.data() + 192, 4096) == status_of(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH));
  CHECK(data::same_bits(out, std::vector<float>(4, 7.0f)));
}

namespace {

void split_everywhere(const cache_shape& s) {
  const int32_t step = isas::any_promises_bits() && sizeof(void*) == 8 ? 1 : 37;
  block prefix = begun(s.shape());
  tokens t(s, 1);
  t.add(300);
  REQUIRE(append(prefix.data(), t, 300, s.dtype) == FOVEA_OK);
  const std::vector<unsigned char> rom = prefix.bytes();
  const std::vector<float> expected = attend_to_model(s, t, 7, FOVEA_ISA_BEST);
  for (int32_t split = 0; split <= 300; split += step) {
    INFO("split ", split);
    fovea_cache_shape shape = {};
    shape.capacity = 300 - split + 16;
    fovea_cache_shape whole = s.shape();
    whole.capacity = shape.capacity;
    block tail = room_for(whole);
    REQUIRE(fovea_cache_branch(tail.data(), tail.size(), &shape, prefix.data(), split) == FOVEA_OK);
    CHECK(fovea_cache_length(tail.data()) == split);
    REQUIRE(append(tail.data(), t, 300 - split, s.dtype) == FOVEA_OK);
    CHECK(data::same_bits(attend_to_cache(s, t, {prefix.data(), tail.data()}, 7, FOVEA_ISA_BEST), expected));
    CHECK(fovea_cache_verify(tail.data(), tail.size()) == FOVEA_OK);
    CHECK(tail.guards_hold());
  }
  CHECK(prefix.bytes() == rom);
}

} // namespace

TEST_CASE("cache: behind a prefix in constant memory, at every split point") {
  for (int32_t dtype : float_dtypes) {
    INFO("dtype ", dtype);
    split_everywhere(cache_shape{"", 2, 2, 5, 19, 300, 0, 0}.of(dtype));
  }
}

TEST_CASE("cache: branches of branches, each its own story") {
  const cache_shape s = {"", 2, 1, 6, 20, 60, 0, 0};
  block root = begun(s.shape());
  tokens t(s, 1);
  t.add(37);
  REQUIRE(append(root.data(), t, 37) == FOVEA_OK);
  fovea_cache_shape shape = {};
  shape.capacity = 48;
  fovea_cache_shape whole = s.shape();
  whole.capacity = 48;
  block first = room_for(whole), second = room_for(whole), third = room_for(whole);
  REQUIRE(fovea_cache_branch(first.data(), first.size(), &shape, root.data(), 35) == FOVEA_OK);
  REQUIRE(fovea_cache_branch(second.data(), second.size(), &shape, root.data(), 37) == FOVEA_OK);
  tokens a = t, b = t;
  a.truncate(35);
  a.add(20);
  REQUIRE(append(first.data(), a, 20) == FOVEA_OK);
  b.add(100); // other tokens than those of a
  b.truncate(37);
  tokens c = a;
  c.truncate(41);
  REQUIRE(fovea_cache_branch(third.data(), third.size(), &shape, first.data(), 41) == FOVEA_OK);
  isas::for_each([&](int32_t isa) {
    CHECK(same_as_model(s, a, {root.data(), first.data()}, 9, isa));
    CHECK(same_as_model(s, b, {root.data(), second.data()}, 9, isa));
    CHECK(same_as_model(s, c, {root.data(), first.data(), third.data()}, 9, isa));
  });
  t.add(3);
  REQUIRE(append(root.data(), t, 3) == FOVEA_OK); // the parent goes on, the branches stay
  CHECK(same_as_model(s, a, {root.data(), first.data()}, 9));
  REQUIRE(fovea_cache_reset(first.data()) == FOVEA_OK);
  a.truncate(35);
  CHECK(same_as_model(s, a, {root.data(), first.data()}, 9));
}

TEST_CASE("cache: branches that are refused") {
  const cache_shape s = {"", 1, 1, 6, 0, 60, 0, 0}, other = {"", 1, 1, 6, 0, 64, 20, 0};
  block root = begun(s.shape()), ringed = begun(other.shape()), tail = room_for(s.shape());
  tokens t(s, 1);
  t.add(20);
  REQUIRE(append(root.data(), t, 20) == FOVEA_OK);
  REQUIRE(append(ringed.data(), t, 20) == FOVEA_OK);
  const std::vector<unsigned char> before = tail.bytes();
  fovea_cache_shape shape = {};
  shape.capacity = 60;
  const auto branch = [&](const void* parent, int32_t tokens_of_parent) {
    return fovea_cache_branch(tail.data(), tail.size(), &shape, parent, tokens_of_parent);
  };
  CHECK(branch(nullptr, 3) == status_of(FOVEA_NULL, FOVEA_ARG_PARENT));
  CHECK(branch(root.data(), 21) == status_of(FOVEA_RANGE, FOVEA_ARG_KEYS));
  CHECK(branch(root.data(), -1) == status_of(FOVEA_RANGE, FOVEA_ARG_KEYS));
  CHECK(branch(ringed.data(), 3) == status_of(FOVEA_UNSUPPORTED, FOVEA_ARG_PARENT));
  shape.dim = 5;
  CHECK(branch(root.data(), 3) == status_of(FOVEA_SIZE, FOVEA_ARG_DIM));
  shape.dim = 0;
  CHECK(fovea_cache_branch(root.data(), root.size(), &shape, root.data(), 3) ==
        status_of(FOVEA_OVERLAP, FOVEA_ARG_PARENT));
  CHECK(tail.bytes() == before);
  REQUIRE(branch(root.data(), 20) == FOVEA_OK);
  fovea_attention a = {};
  fovea_segments map = {};
  CHECK(fovea_cache_view(tail.data(), nullptr, &a) == status_of(FOVEA_NULL, FOVEA_ARG_SEGMENTS));
  CHECK(fovea_cache_view(tail.data(), &map, &a) == status_of(FOVEA_FOREIGN, FOVEA_ARG_PARENT));
  REQUIRE(fovea_cache_view(root.data(), &map, &a) == FOVEA_OK);
  for (const int32_t count :
       {int32_t{-1}, int32_t{0}, int32_t{FOVEA_SEGMENTS_MAX + 1}, std::numeric_limits<int32_t>::max()}) {
    fovea_segments wrong = map; // of the parent
    wrong.count = count;
    CHECK(fovea_cache_view(tail.data(), &wrong, &a) == status_of(FOVEA_FOREIGN, FOVEA_ARG_PARENT));
  }
  tokens u(s, 77); // another prefix of the same length
  u.add(20);
  REQUIRE(fovea_cache_reset(root.data()) == FOVEA_OK);
  REQUIRE(append(root.data(), u, 20) == FOVEA_OK);
  CHECK(view({root.data(), tail.data()}, map, a) == status_of(FOVEA_FOREIGN, FOVEA_ARG_PARENT));
}

TEST_CASE("cache: a ring behind a prefix") {
  const cache_shape s = {"", 2, 1, 5, 16, 64, 0, 0};
  block prefix = begun(s.shape());
  tokens t(s, 1);
  t.add(21);
  REQUIRE(append(prefix.data(), t, 21) == FOVEA_OK);
  cache_shape windowed = s;
  windowed.window = 30, windowed.keep_first = 21;
  fovea_cache_shape shape = {};
  shape.capacity = 16 + ring(30, 0, 4), shape.window = 30, shape.keep_first = 21;
  fovea_cache_shape whole = s.shape();
  whole.capacity = shape.capacity;
  block tail = room_for(whole);
  REQUIRE(fovea_cache_branch(tail.data(), tail.size(), &shape, prefix.data(), 21) == FOVEA_OK);
  for (int32_t n = 0; n < 60; ++n) {
    const int32_t count = 1 + n % 4;
    t.add(count);
    REQUIRE(append(tail.data(), t, count) == FOVEA_OK);
    isas::for_each(
        [&](int32_t isa) { CHECK(same_as_model(windowed, t, {prefix.data(), tail.data()}, count, isa)); });
  }
}
