// Packing int8 keys and values: every element in its place, zeros behind the last dim of a key, nothing else
// read or written.
#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fence.hpp"
#include "fovea/fixed.h"

namespace {

struct packing {
  const char* why;
  int32_t at, count, dim;
  ptrdiff_t stride; // 0 = dim
};

const packing packings[] = {
    {"one key", 0, 1, 5, 0},
    {"one key of 16", 0, 1, 16, 0},
    {"four keys", 0, 4, 16, 0},
    {"a whole block", 0, 64, 32, 0},
    {"a block and a tail", 0, 67, 20, 0},
    {"from the middle of a group of four", 5, 7, 16, 0},
    {"up to the middle of a group of four", 4, 7, 48, 0},
    {"over a border of panels", 13, 20, 17, 0},
    {"over a border of blocks", 61, 9, 33, 0},
    {"in a later block", 128, 16, 4, 0},
    {"three keys in a group", 8, 3, 32, 0},
    {"rows with gaps", 3, 40, 31, 40},
    {"rows of 16 with gaps", 4, 40, 16, 23},
    {"rows that overlap", 0, 9, 16, 5},
    {"one dim", 15, 2, 1, 0},
    {"the largest dim", 1, 17, 1024, 0},
    {"nothing", 4, 0, 8, 0},
};

constexpr int8_t untouched = 0x55;

size_t up(int32_t n, int32_t to) { return static_cast<size_t>((n + to - 1) / to * to); }

// docs/fixed_point.md: the two orders of panels. Helium has order 2.
size_t key_place(int32_t key, int32_t c, int32_t dim) {
  const size_t depth = up(dim, 16), j = static_cast<size_t>(key), i = static_cast<size_t>(c);
  if (fovea_fixed_panel_order() == 1) return ((j / 16 * (depth / 4) + i / 4) * 16 + j % 16) * 4 + i % 4;
  return ((j / 4 * (depth / 16) + i / 16) * 4 + j % 4) * 16 + i % 16;
}
size_t value_place(int32_t key, int32_t c, int32_t dim) {
  const size_t width = up(dim, 16), j = static_cast<size_t>(key), i = static_cast<size_t>(c);
  if (fovea_fixed_panel_order() == 1)
    return (((j / 64 * (width / 16) + i / 16) * 16 + j % 64 / 4) * 16 + i % 16) * 4 + j % 4;
  return (j / 64 * width + i) * 64 + j % 64;
}

ptrdiff_t stride_of(const packing& p) { return p.stride ? p.stride : p.dim; }

std::vector<int8_t> rows_of(const packing& p) {
  std::vector<int8_t> rows(p.count ? static_cast<size_t>((p.count - 1) * stride_of(p) + p.dim) : 0);
  uint32_t state = 7;
  for (int8_t& x : rows) state = state * 1664525u + 1013904223u, x = static_cast<int8_t>(state >> 24);
  return rows;
}

int8_t element(const packing& p, const std::vector<int8_t>& rows, int32_t key, int32_t c) {
  return rows[static_cast<size_t>((key - p.at) * stride_of(p) + c)];
}

} // namespace

TEST_CASE("int8: packed keys and values stand in their places, and nothing else is written") {
  for (const packing& p : packings) {
    INFO(std::string(p.why));
    const std::vector<int8_t> rows = rows_of(p);
    const size_t room = FOVEA_FIXED_PANELS(p.at + p.count, p.dim);
    std::vector<int8_t> keys(room + 64, untouched), values(room + 64, untouched), right_keys = keys,
                                                                                  right_values = values;
    for (int32_t key = p.at; key < p.at + p.count; ++key) {
      for (int32_t c = 0; c < static_cast<int32_t>(up(p.dim, 16)); ++c)
        right_keys[key_place(key, c, p.dim)] = c < p.dim ? element(p, rows, key, c) : int8_t{0};
      for (int32_t c = 0; c < p.dim; ++c) right_values[value_place(key, c, p.dim)] = element(p, rows, key, c);
    }
    CHECK(fovea_fixed_pack_keys(keys.data(), p.at, rows.data(), p.stride, p.count, p.dim) == FOVEA_OK);
    CHECK(fovea_fixed_pack_values(values.data(), p.at, rows.data(), p.stride, p.count, p.dim) == FOVEA_OK);
    CHECK(keys == right_keys);
    CHECK(values == right_values);
  }
}

TEST_CASE("int8: sums of keys") {
  for (const packing& p : packings) {
    INFO(std::string(p.why));
    const std::vector<int8_t> rows = rows_of(p);
    std::vector<int32_t> sums(static_cast<size_t>(p.count) + 1, 77), right = sums;
    for (int32_t j = 0; j < p.count; ++j) {
      right[static_cast<size_t>(j)] = 0;
      for (int32_t c = 0; c < p.dim; ++c) right[static_cast<size_t>(j)] += element(p, rows, p.at + j, c);
    }
    CHECK(fovea_fixed_sum_keys(sums.data(), rows.data(), p.stride, p.count, p.dim) == FOVEA_OK);
    CHECK(sums == right);
  }
}

#if defined(__linux__)
TEST_CASE("int8: packing reads and writes nothing beside its rows and panels") {
  for (fence::side where : {fence::behind, fence::before})
    for (const packing& p : packings) {
      INFO(std::string(p.why));
      const std::vector<int8_t> rows = rows_of(p);
      const size_t room = FOVEA_FIXED_PANELS(p.at + p.count, p.dim);
      const fence from(rows.size(), where), keys(room, where), values(room, where),
          sums(static_cast<size_t>(p.count) * 4, where);
      if (!rows.empty()) std::memcpy(from.data<int8_t>(), rows.data(), rows.size());
      CHECK(fovea_fixed_pack_keys(keys.data<int8_t>(), p.at, from.data<int8_t>(), p.stride, p.count, p.dim) ==
            FOVEA_OK);
      CHECK(fovea_fixed_pack_values(values.data<int8_t>(), p.at, from.data<int8_t>(), p.stride, p.count,
                                    p.dim) == FOVEA_OK);
      CHECK(fovea_fixed_sum_keys(sums.data<int32_t>(), from.data<int8_t>(), p.stride, p.count, p.dim) ==
            FOVEA_OK);
    }
}
#endif

TEST_CASE("int8: packing refuses bad arguments by name") {
  struct bad_packing {
    const char* why;
    int32_t at, count, dim;
    ptrdiff_t stride;
    bool panels, rows; // given
    int32_t reason, argument;
  };
  constexpr int32_t most = 0x3fffffff; // of tokens
  const bad_packing bad[] = {
      {"no dim", 0, 2, 0, 0, true, true, FOVEA_SIZE, FOVEA_ARG_DIM},
      {"a negative dim", 0, 2, -16, 0, true, true, FOVEA_SIZE, FOVEA_ARG_DIM},
      {"too large a dim", 0, 2, 1025, 0, true, true, FOVEA_SIZE, FOVEA_ARG_DIM},
      {"a dim that cannot be rounded up", 0, 2, INT32_MAX, 0, true, true, FOVEA_SIZE, FOVEA_ARG_DIM},
      {"a negative count", 0, -1, 16, 0, true, true, FOVEA_SIZE, FOVEA_ARG_KEYS},
      {"too many keys", 0, most + 1, 16, 0, true, true, FOVEA_SIZE, FOVEA_ARG_KEYS},
      {"a negative place", -1, 2, 16, 0, true, true, FOVEA_RANGE, FOVEA_ARG_FIRST_KEY},
      {"a place too far", most - 1, 2, 16, 0, true, true, FOVEA_RANGE, FOVEA_ARG_FIRST_KEY},
      {"rows backwards", 0, 2, 16, -16, true, true, FOVEA_STRIDE, FOVEA_ARG_K},
      {"no rows", 0, 2, 16, 0, true, false, FOVEA_NULL, FOVEA_ARG_K},
      {"no panels", 0, 2, 16, 0, false, true, FOVEA_NULL, FOVEA_ARG_OUT},
      {"nothing at all", 0, 0, 16, 0, false, false, FOVEA_OK, 0},
      {"nothing at the last place", most, 0, 16, 0, true, true, FOVEA_OK, 0},
  };
  for (const bad_packing& b : bad) {
    INFO(std::string(b.why));
    int8_t rows[32] = {}, panels[1024];
    int32_t sums[2] = {77, 77};
    std::memset(panels, untouched, sizeof panels);
    const int32_t status = b.reason | b.argument << 8;
    int8_t* to = b.panels ? panels : nullptr;
    const int8_t* from = b.rows ? rows : nullptr;
    CHECK(fovea_fixed_pack_keys(to, b.at, from, b.stride, b.count, b.dim) == status);
    CHECK(fovea_fixed_pack_values(to, b.at, from, b.stride, b.count, b.dim) == status);
    if (b.argument != FOVEA_ARG_FIRST_KEY)
      CHECK(fovea_fixed_sum_keys(b.panels ? sums : nullptr, from, b.stride, b.count, b.dim) == status);
    for (int8_t x : panels) REQUIRE(x == untouched);
    CHECK((sums[0] == 77 && sums[1] == 77));
  }
}
