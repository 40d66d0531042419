// Embeddings and sums of rows: exact additions, and indices that are outside of their table.
#include "ops_table.hpp"

using namespace ops;

TEST_CASE("an_embedding_adds_rows_of_its_tables_in_their_order") {
  const int32_t words[] = {4, 0, 2, 4, 1};
  for (int32_t columns : {1, 15, 16, 17, 48}) {
    std::vector<float> word(static_cast<size_t>(5 * (columns + 2))),
        position(static_cast<size_t>(9 * columns)), type(static_cast<size_t>(2 * columns));
    uint32_t seed = 0;
    for (std::vector<float>* table : {&word, &position, &type})
      for (size_t i = 0; i < table->size(); ++i) (*table)[i] = data::noise(seed++, static_cast<uint32_t>(i));
    data::guarded<float> out(static_cast<size_t>(5 * columns));
    fovea_embedding e = {};
    e.table[0] = {word.data(), columns + 2, words, 5, 0, 0, 0};
    e.table[1] = {position.data(), 0, nullptr, 9, 3, 1, 0};
    e.table[3] = {type.data(), 0, nullptr, 2, 1, 0, 0};
    e.out = out.data(), e.rows = 5, e.columns = columns;
    REQUIRE(fovea_embed(&e) == FOVEA_OK);
    for (int32_t r = 0; r < 5; ++r)
      for (int32_t c = 0; c < columns; ++c) {
        const float w = word[static_cast<size_t>(words[r] * (columns + 2) + c)],
                    p = position[static_cast<size_t>((3 + r) * columns + c)],
                    t = type[static_cast<size_t>(columns + c)];
        CHECK(out[static_cast<size_t>(r * columns + c)] == (w + p) + t);
      }
    CHECK(out.guards_hold());
    e.table[1].data = e.table[3].data = nullptr;
    REQUIRE(fovea_embed(&e) == FOVEA_OK);
    CHECK(out[static_cast<size_t>(columns)] == word[0]);
  }
}

TEST_CASE("an_embedding_refuses_indices_outside_of_a_table") {
  float table[12] = {}, out[8] = {-1};
  const int32_t too_large[] = {0, 3}, negative[] = {-1, 0};
  const fovea_embedding_table tables[] = {
      {table, 0, too_large, 3, 0, 0, 0},        {table, 0, negative, 3, 0, 0, 0},
      {table, 0, nullptr, 3, 2, 1, 0},          {table, 0, nullptr, 3, -1, 1, 0},
      {table, 0, nullptr, 3, 0, -1, 0},         {table, 0, nullptr, 0, 0, 0, 0},
      {table, 0, nullptr, 3, 0, 0x7fffffff, 0},
  };
  for (const fovea_embedding_table& t : tables) {
    fovea_embedding e = {};
    e.table[0] = {table, 0, nullptr, 3, 0, 1, 0};
    e.table[2] = t;
    e.out = out, e.rows = 2, e.columns = 4;
    CHECK(fovea_embed(&e) == (FOVEA_RANGE | FOVEA_ARG_INDEX << 8));
    CHECK(out[0] == -1);
  }
  fovea_embedding e = {};
  e.out = out, e.rows = 2, e.columns = 4;
  CHECK(fovea_embed(&e) == (FOVEA_NULL | FOVEA_ARG_TABLE << 8));
  e.table[0] = {out, 0, nullptr, 1, 0, 0, 0};
  CHECK(fovea_embed(&e) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  CHECK(fovea_embed(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}

TEST_CASE("sums_of_rows_may_stand_in_either") {
  for (int32_t columns : {1, 16, 35}) {
    const auto count = static_cast<size_t>(2 * (columns + 1));
    data::guarded<float> a(count), b(count), out(static_cast<size_t>(2 * columns));
    for (size_t i = 0; i < count; ++i) a[i] = data::noise(1, static_cast<uint32_t>(i)), b[i] = a[i] / 3;
    const std::vector<float> before(a.data(), a.data() + count);
    REQUIRE(fovea_add(a.data(), columns + 1, b.data(), columns + 1, 2, columns, out.data(), 0) == FOVEA_OK);
    REQUIRE(fovea_add(a.data(), columns + 1, b.data(), columns + 1, 2, columns, a.data(), columns + 1) ==
            FOVEA_OK);
    for (int32_t r = 0; r < 2; ++r)
      for (int32_t c = 0; c < columns; ++c) {
        const auto at = static_cast<size_t>(r * (columns + 1) + c);
        CHECK(a[at] == before[at] + b[at]);
        CHECK(out[static_cast<size_t>(r * columns + c)] == a[at]);
      }
    CHECK(a[static_cast<size_t>(columns)] == before[static_cast<size_t>(columns)]);
    CHECK(fovea_add(a.data(), 0, b.data(), 0, 2, columns, a.data() + 1, 0) ==
          (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
    CHECK(fovea_add(a.data(), 0, nullptr, 0, 2, columns, out.data(), 0) ==
          (FOVEA_NULL | FOVEA_ARG_RESIDUAL << 8));
  }
  CHECK(fovea_add(nullptr, 0, nullptr, 0, 0, 4, nullptr, 0) == FOVEA_OK);
}
