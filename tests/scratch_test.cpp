// How much scratch a call asks for: never more than the constant, whatever the lengths, and exactly what it
// says.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "problem.hpp"

namespace {

fovea_attention sized(int32_t q_heads, int32_t kv_heads, int32_t dim, int32_t v_dim, int32_t queries,
                      int32_t keys) {
  static float anywhere[4] = {};
  fovea_attention a = {};
  a.q.data = a.k.data = a.v.data = anywhere;
  // Far above the inputs, in memory that nobody touches: only sizes are asked for.
  a.out.data = reinterpret_cast<void*>(UINTPTR_MAX / 4 * 3 / 64 * 64);
  a.q_heads = q_heads, a.kv_heads = kv_heads, a.dim = dim, a.v_dim = v_dim, a.queries = queries,
  a.keys = keys;
  return a;
}

const int32_t dims[] = {1, 3, 15, 16, 17, 20, 64, 65, 100, 128, 129, 256, 1023, 1024};

} // namespace

TEST_CASE("the_constant_is_enough_for_every_call") {
  isas::for_each([&](int32_t isa) {
    for (int32_t dim : dims)
      for (int32_t v_dim : dims) {
        fovea_attention a = sized(4, 2, dim, v_dim, 3, 20);
        a.isa = isa;
        INFO("dim ", dim, " v_dim ", v_dim);
        CHECK(fovea_scratch_least(&a) > 0);
        CHECK(fovea_scratch_least(&a) <= FOVEA_SCRATCH(dim, v_dim));
        CHECK(fovea_scratch_best(&a) >= fovea_scratch_least(&a));
      }
  });
}

TEST_CASE("the_least_scratch_does_not_depend_on_lengths_and_heads") {
  isas::for_each([&](int32_t isa) {
    fovea_attention one = sized(1, 1, 64, 32, 1, 1);
    one.isa = isa;
    const size_t least = fovea_scratch_least(&one);
    CHECK(least <= 7000); // about 6 KB at dim 64
    for (int32_t queries : {1, 17, 100000})
      for (int32_t keys : {1, 17, 257, 4097, 100000}) {
        fovea_attention a = sized(32, queries % 2 == 0 ? 2 : 32, 64, 32, queries, keys);
        a.isa = isa;
        INFO("queries ", queries, " keys ", keys);
        CHECK(fovea_check(&a) == FOVEA_OK);
        CHECK(fovea_scratch_least(&a) == least);
      }
  });
}

TEST_CASE("one_query_never_wants_room_for_all_keys") {
  isas::for_each([&](int32_t isa) {
    fovea_attention a = sized(8, 2, 64, 64, 1, 8192);
    a.isa = isa;
    CHECK(fovea_scratch_best(&a) < 8192 * 64 * sizeof(float) / 4);
    a.k.layout = FOVEA_PANELS;
    CHECK(fovea_scratch_best(&a) < 8192 * 64 * sizeof(float) / 4);
  });
}

TEST_CASE("keys_in_panels_want_no_room_for_panels") {
  isas::for_each([&](int32_t isa) {
    for (int32_t keys : {0, 1, 16, 17, 256}) {
      INFO("keys ", keys);
      fovea_attention a = sized(1, 1, 64, 64, 64, keys);
      a.isa = isa;
      const size_t rows = fovea_scratch_best(&a);
      const bool by_row = rows == fovea_scratch_least(&a); // such a kernel packs no panels
      const size_t panels = by_row ? 0 : static_cast<size_t>(keys + 15) / 16;
      a.k.layout = FOVEA_PANELS;
      CHECK(rows - fovea_scratch_best(&a) == panels * 16 * 64 * sizeof(float));
    }
  });
}

TEST_CASE("the_fast_constant_is_worth_its_name") {
  isas::for_each([&](int32_t isa) {
    fovea_attention a = sized(8, 8, 64, 64, 512, 512);
    a.isa = isa;
    CHECK(FOVEA_SCRATCH_FAST(64, 64, 48, 512) >= fovea_scratch_best(&a));
    a = sized(8, 8, 64, 64, 16, 16);
    a.isa = isa;
    CHECK(FOVEA_SCRATCH_FAST(64, 64, 8 * 16, 16) >= fovea_scratch_best(&a)); // heads side by side
    a = sized(256, 256, 64, 64, 4, 16);
    a.isa = isa;
    CHECK(FOVEA_SCRATCH_FAST(64, 64, 128, 16) >= fovea_scratch_best(&a)); // as many as a tile has rows for
    a = sized(8, 2, 64, 64, 1, 128);
    a.isa = isa;
    CHECK(FOVEA_SCRATCH_FAST(64, 64, 8, 32) >= fovea_scratch_best(&a));
  });
}

TEST_CASE("exactly_the_least_scratch_is_accepted") {
  const shape table[] = {
      shape("decode").heads(4, 2).dims(20, 7).lengths(1, 40),
      shape("prefill").heads(2).dims(64).lengths(20, 40).causal(),
      shape("widest").dims(1024, 1024).lengths(2, 17),
      shape("narrowest").dims(1, 1).lengths(3, 300),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const size_t least = fovea_scratch_least(&a);
      CHECK(attend_in(a, least) == FOVEA_OK);
      CHECK(attend_in(a, least - 1) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
      CHECK(attend_in(a, FOVEA_SCRATCH(a.dim, s.v_dim())) == FOVEA_OK);
    });
  }
}

TEST_CASE("scratch_is_used_from_the_next_64_bytes_on") {
  // So floats and vectors are aligned wherever scratch begins.
  problem p(shape("keys that must be packed, which is what scratch begins with").dims(3).lengths(5, 40));
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    const size_t least = fovea_scratch_least(&a);
    for (size_t offset : {1, 2, 4, 63}) {
      INFO("offset ", offset);
      std::vector<unsigned char> room(least + 128, 0x5a);
      const size_t aligned = (64 - reinterpret_cast<uintptr_t>(room.data()) % 64) % 64;
      CHECK(fovea_attend(&a, room.data() + aligned + offset, least) == FOVEA_OK);
      size_t first = 0;
      while (room[first] == 0x5a) ++first;
      CHECK(first == aligned + 64);
    }
  });
}

TEST_CASE("partials_are_worth_their_size") {
  fovea_attention a = sized(4, 2, 64, 64, 1, 8192);
  a.part = {0, 4};
  const size_t two_spans = fovea_partials_size(&a);
  CHECK(two_spans >= 2 * 4 * 64 * sizeof(float)); // an output for each span of each row
  a.part.index = 3;
  CHECK(fovea_partials_size(&a) == two_spans); // one size for all parts
  a.keys = 16384;
  CHECK(fovea_partials_size(&a) > two_spans);
}

TEST_CASE("partials_are_as_many_as_the_pieces_that_the_keys_touch") {
  struct window_of_keys {
    const char* why;
    int32_t queries, first_key, keys, pieces;
  };
  // Two rows a query: up to eight queries are split into blocks of 256 keys, more into spans of 4,096.
  const window_of_keys table[] = {
      {"no key", 8, 0, 0, 0},
      {"one key", 8, 0, 1, 1},
      {"a whole block", 8, 0, 256, 1},
      {"a block and a key", 8, 0, 257, 2},
      {"the last key of a block", 8, 255, 1, 1},
      {"the last key of a block and the next", 8, 255, 2, 2},
      {"all but the first of the second block", 8, 257, 255, 1},
      {"a whole span in blocks", 8, 4096, 4096, 16},
      {"blocks far away", 8, 1 << 29, 512, 2},
      {"many rows, no key", 9, 0, 0, 0},
      {"many rows, one key", 9, 0, 1, 1},
      {"a whole span", 9, 0, 4096, 1},
      {"a span and a key", 9, 0, 4097, 2},
      {"the last key of a span", 9, 4095, 1, 1},
      {"the last key of a span and the next", 9, 4095, 2, 2},
      {"one key of the second span", 9, 4096, 1, 1},
      {"the whole second span", 9, 4096, 4096, 1},
      {"all but the first of the second span", 9, 4097, 4095, 1},
      {"the fourth span and a key of the fifth", 9, 3 * 4096, 4097, 2},
      {"spans far away", 9, 1 << 29, 8192, 2},
  };
  for (const window_of_keys& w : table) {
    INFO(doctest::String(w.why));
    const fovea_attention one = sized(4, 2, 64, 64, w.queries, 1);
    const size_t one_piece = fovea_partials_size(&one);
    CHECK(one_piece > 0);
    fovea_attention a = sized(4, 2, 64, 64, w.queries, w.keys);
    a.first_key = w.first_key;
    CHECK(fovea_partials_size(&a) == static_cast<size_t>(w.pieces) * one_piece);
  }
}
