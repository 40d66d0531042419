// Packing keys into panels: every element in its place, nothing else touched, in one call or key by key, and
// attention reads them.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "problem.hpp"

namespace {

struct packing {
  const char* why;
  int32_t at, count, dim;
  ptrdiff_t gap; // between rows
};

const packing packings[] = {
    {"one key", 0, 1, 5, 0},
    {"one whole panel", 0, 16, 8, 0},
    {"a panel and a tail", 0, 19, 20, 0},
    {"from the middle of a panel", 5, 7, 3, 0},
    {"over a border of panels", 13, 20, 17, 0},
    {"an exact later panel", 32, 16, 4, 0},
    {"rows with gaps", 3, 40, 33, 7},
    {"one dim", 15, 2, 1, 0},
    {"the largest dim", 1, 17, 1024, 0},
    {"nothing", 4, 0, 8, 0},
};

bool place_is(const data::guarded<float>& panels, int32_t key, int32_t c, int32_t dim, float value) {
  const float x = panels[static_cast<size_t>((key / 16 * dim + c) * 16 + key % 16)];
  return std::memcmp(&x, &value, sizeof x) == 0;
}

} // namespace

TEST_CASE("packed_keys_stand_in_panels_and_nothing_else_is_written") {
  for (const packing& pack : packings) {
    INFO(doctest::String(pack.why));
    const int32_t keys = pack.at + pack.count, panels_of = (keys + 15) / 16;
    const ptrdiff_t stride = pack.dim + pack.gap;
    data::guarded<float> rows(static_cast<size_t>(pack.count * stride)),
        panels(static_cast<size_t>(panels_of * 16 * pack.dim));
    const data::tensor k{rows.data(), 0, stride, 1, pack.count, pack.dim};
    data::fill(k, 3, 1);
    CHECK(fovea_pack_keys(panels.data(), pack.at, rows.data(), pack.gap == 0 ? 0 : stride, pack.count,
                          pack.dim) == FOVEA_OK);
    int wrong = 0;
    for (int32_t key = 0; key < panels_of * 16; ++key)
      for (int32_t c = 0; c < pack.dim; ++c) {
        const bool given = key >= pack.at && key < keys;
        const float x = panels[static_cast<size_t>((key / 16 * pack.dim + c) * 16 + key % 16)];
        wrong += given ? !place_is(panels, key, c, pack.dim, k.at(0, key - pack.at, c))
                       : !data::is_untouched(x);
      }
    CHECK(wrong == 0);
    CHECK((panels.guards_hold() && rows.guards_hold()));
  }
}

TEST_CASE("rows_may_stand_beside_the_panels_that_are_written_and_not_in_them") {
  constexpr int32_t dim = 4, panel = 16 * dim;
  struct place {
    const char* why;
    int32_t at, count;
    ptrdiff_t rows; // from the first float of all panels
    bool good;
  };
  const place places[] = {
      {"right behind the last panel", 0, 16, panel, true},
      {"right behind a later panel", 32, 16, 3 * panel, true},
      {"in the last float of a later panel", 32, 16, 3 * panel - 1, false},
      {"right before a later panel", 32, 16, panel, true},
      {"one float into a later panel", 32, 16, panel + 1, false},
      {"in an earlier panel", 32, 2, 0, true},
      {"behind the key, but in its panel", 32, 1, 3 * panel - dim, false},
      {"behind keys of two panels", 47, 2, 4 * panel, true},
      {"in the second of two panels", 47, 2, 4 * panel - 1, false},
  };
  for (const place& x : places) {
    INFO(doctest::String(x.why));
    data::guarded<float> room(6 * panel);
    const int32_t status = fovea_pack_keys(room.data(), x.at, room.data() + x.rows, 0, x.count, dim);
    CHECK(status == (x.good ? int32_t{FOVEA_OK} : FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
    if (!x.good) CHECK(room.nothing_written());
  }
}

TEST_CASE("keys_may_be_packed_one_by_one") {
  const int32_t keys = 45, dim = 20;
  data::guarded<float> rows(keys * dim), at_once(48 * dim), one_by_one(48 * dim);
  data::fill({rows.data(), 0, dim, 1, keys, dim}, 4, 1);
  CHECK(fovea_pack_keys(at_once.data(), 0, rows.data(), 0, keys, dim) == FOVEA_OK);
  for (int32_t j = 0; j < keys; ++j)
    CHECK(fovea_pack_keys(one_by_one.data(), j, rows.data() + j * dim, 0, 1, dim) == FOVEA_OK);
  CHECK(std::memcmp(at_once.data(), one_by_one.data(), at_once.size() * sizeof(float)) == 0);
}

TEST_CASE("panels_give_the_bits_of_rows") {
  // The lanes behind the last key hold NaN: readable, never used.
  const shape table[] = {
      shape("decode").heads(4, 2).dims(20).lengths(1, 37),
      shape("decode over two blocks").heads(4, 1).dims(64).lengths(1, 300),
      shape("prefill").heads(2).dims(33, 8).lengths(21, 35).causal(),
      shape("a window that begins inside a panel").heads(2, 1).dims(5).lengths(4, 70).causal().window(11, 0),
      shape("kept keys").heads(2, 1).dims(5).lengths(4, 700).causal().window(11, 0).keep_first(3),
      shape("rows that begin with a later panel").dims(5).lengths(4, 70).causal().first_key(240),
      shape("one key").dims(3).lengths(2, 1),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    const packed_keys panels(p, 3); // heads need not touch
    isas::for_each([&](int32_t isa) {
      const fovea_attention rows = p.call(isa);
      const std::vector<float> expected = solve(p, rows);
      const fovea_attention a = panels.read_by(rows);
      CHECK(data::same_bits(solve(p, a), expected));
      CHECK(data::same_bits(solve(p, a, fovea_scratch_least(&a)), expected));
    });
  }
}

TEST_CASE("panels_that_begin_inside_a_panel_are_refused") {
  problem p(shape("panels count from absolute key 0").lengths(2, 20).first_key(5));
  data::guarded<float> panels(32 * 8);
  CHECK(fovea_pack_keys(panels.data(), 0, p.k.data, 0, 20, 8) == FOVEA_OK);
  fovea_attention a = p.call();
  a.k.data = panels.data(), a.k.layout = FOVEA_PANELS;
  CHECK(fovea_check(&a) == (FOVEA_ALIGN | FOVEA_ARG_FIRST_KEY << 8));
  a.first_key = 0, a.k.token_stride = 8; // panels have no rows to stride over
  CHECK(fovea_check(&a) == (FOVEA_STRIDE | FOVEA_ARG_K << 8));
}
