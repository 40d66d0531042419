// Shapes for which kernels of their own are chosen: few rows, tokens side by side, tiles that are just full,
// masks, and groups of heads. They give the written bits.
#include <doctest/doctest.h>

#include <algorithm>

#include "isas.hpp"
#include "numerics.hpp"
#include "ways.hpp"

namespace {

using namespace ways;

// Tokens of several heads stand side by side, so that rows of a head are far apart.
void check_in_place(shape s) {
  problem p(s.in(storage::tokens_first));
  const std::vector<float> expected = numerics::attend(p.call());
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    const std::vector<float> got = solve(p, a);
    if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
    check_scratch(p, a, {fovea_scratch_least(&a)}, got);
  });
}

void check_written_bits(const shape& s) {
  problem p(s);
  const fovea_attention all = p.call();
  INFO(doctest::String(s.why), ", queries ", all.queries, ", keys ", all.keys, ", v_dim ",
       reference::v_dim(all));
  const std::vector<float> expected = numerics::attend(all);
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    std::vector<float> got = solve(p, a);
    check_scratch(p, a, {fovea_scratch_least(&a)}, got);
    check_panels(p, a, {fovea_scratch_best(&a)}, got);
    got.resize(expected.size());
    if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
  });
}

} // namespace

TEST_CASE("few_queries_take_rows_of_keys_and_give_the_bits_of_panels") {
  for (int32_t dim : {3, 4, 5, 6, 7, 8, 12, 13, 16, 20, 36, 48, 63, 64})
    for (int32_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9})
      for (int32_t keys : {3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 66, 100}) {
        const int32_t v_dim = keys % 2 == 0 ? dim
                                            : 5; // tiles of columns of all widths, and fewer than any takes
        const int32_t first_key = keys % 2 == 0 ? 0 : 245; // or in two blocks, from the middle of a panel on
        INFO("dim ", dim, ", group ", group, ", keys ", keys);
        problem p(
            shape("few queries").heads(group, 1).dims(dim, v_dim).lengths(1, keys).first_key(first_key));
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const std::vector<float> got = solve(p, a);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
          if (first_key == 0) check_panels(p, a, {fovea_scratch_best(&a)}, got);
        });
      }
}

// Tokens of several heads: rows of K are 2 KB apart, or a little less.
TEST_CASE("one_query_of_each_head_takes_rows_that_are_far_apart") {
  for (int32_t dim : {4, 7, 12, 16, 21, 33, 64, 130})
    for (int32_t keys : {3, 4, 8, 9, 15, 16, 17, 40, 100})
      for (int32_t heads : {511 / dim, 511 / dim + 1}) {
        const int32_t first_key = keys % 2 == 0 ? 0 : 245;
        INFO("dim ", dim, ", keys ", keys, ", heads ", heads);
        check_in_place(
            shape("decode in place").heads(heads).dims(dim, 5).lengths(1, keys).first_key(first_key));
      }
}

// The same for two to four queries of each head: rows of K are 4 KB apart, rows of V 2 KB, or a little less.
TEST_CASE("few_queries_of_each_head_take_rows_that_are_far_apart") {
  const struct {
    int32_t heads, dim, v_dim;
  } table[] = {{16, 63, 31}, {16, 64, 32},  {16, 65, 33},  {8, 127, 63}, {8, 128, 64},
               {8, 130, 65}, {4, 257, 129}, {2, 513, 300}, {256, 4, 5},  {33, 31, 17}};
  for (const auto& t : table)
    for (int32_t keys : {3, 4, 8, 9, 15, 17, 40, 270})
      for (int32_t group : {2, 3, 4}) {
        const int32_t first_key = keys % 2 == 0 ? 0 : 245;
        INFO("dim ", t.dim, ", v_dim ", t.v_dim, ", keys ", keys, ", group ", group);
        check_in_place(shape("decode of a group in place")
                           .heads(group * t.heads, t.heads)
                           .dims(t.dim, t.v_dim)
                           .lengths(1, keys)
                           .first_key(first_key));
      }
}

// They share a tile with AVX-512, alone or behind larger groups.
TEST_CASE("five_and_six_rows_give_the_written_bits") {
  for (int32_t queries : {5, 6, 17, 18})
    for (int32_t keys : {20, 64, 65, 127, 300})
      for (bool causal : {false, true}) {
        shape s = shape(causal ? "five or six rows are left, causal" : "five or six rows are left")
                      .heads(2)
                      .dims(5, 70)
                      .lengths(queries, keys);
        if (causal) s.causal();
        check_written_bits(s);
      }
}

// 24 rows take tiles of 6 x 64: just enough rows and keys for one, one more and one less, and with smaller
// tiles. Where some of the rows end with a block, the next one has other groups.
TEST_CASE("two_dozen_rows_that_see_the_same_keys_give_the_written_bits") {
  const shape same_keys = shape("all rows see all keys").dims(5, 64).lengths(24, 64);
  const shape works[] = {
      same_keys,
      shape(same_keys).lengths(23, 64),
      shape(same_keys).lengths(25, 63),
      shape(same_keys).lengths(24, 65).dims(5, 63),
      shape(same_keys).lengths(28, 80).dims(5, 80),
      shape(same_keys).lengths(47, 127).dims(5, 65),
      shape(same_keys).lengths(48, 130).dims(16, 128).mask(mask_kind::shown),
      shape(same_keys).lengths(72, 64).heads(4, 2),
      shape("all rows see the first block").dims(5, 64).lengths(25, 330).causal(),
      shape("three blocks").dims(5, 80).lengths(24, 520),
      shape("six rows end with the first block").dims(5, 64).heads(6, 1).lengths(5, 260).causal(),
      shape("seven of each head do").dims(5, 80).heads(14, 2).lengths(4, 259).causal(),
      shape("eight rows end with the second block").dims(5, 64).heads(8, 1).lengths(6, 517).causal(),
      shape("sixteen do").dims(5, 64).heads(16, 1).lengths(3, 514).causal(),
      shape("the last four rows find panels").dims(16, 20).lengths(52, 100).weights(0),
      shape("the last keys of the first block are hidden")
          .dims(5, 64)
          .lengths(24, 270)
          .causal()
          .first_key(16)};
  for (const shape& s : works) check_written_bits(s);
}

// Vectors of a mask that are read as they stand, and what is left of it at the end of a row.
TEST_CASE("masks_alone_give_the_written_bits") {
  const shape works[] = {
      shape("an additive mask").dims(16, 11).lengths(48, 130).mask(mask_kind::bias),
      shape("a bool mask, one row for all queries")
          .dims(16, 20)
          .lengths(13, 77)
          .mask(mask_kind::shown, true, false),
      shape("a bool mask, each row sees one key more")
          .dims(5, 7)
          .lengths(45, 300)
          .causal()
          .mask(mask_kind::shown),
      shape("an additive mask, each row sees one key more")
          .dims(5, 9)
          .lengths(45, 300)
          .causal()
          .mask(mask_kind::bias),
      shape("a bool mask of groups").heads(6, 2).dims(5, 4).lengths(9, 70).mask(mask_kind::shown),
      shape("a bool mask and a window")
          .dims(5, 3)
          .lengths(30, 290)
          .causal()
          .window(40, 0)
          .mask(mask_kind::shown)};
  for (const shape& s : works) check_written_bits(s);
}

TEST_CASE("batched_heads_give_the_bits_of_heads_one_by_one") {
  const struct {
    int32_t kv_heads, group;
  } table[] = {{2, 1}, {2, 3}, {2, 5}, {3, 2}, {3, 4}, {3, 7}, {4, 8}, {9, 1}, {9, 3}, {33, 1}};
  for (const auto& heads : table)
    for (int32_t queries : {1, 2, heads.group < 3 ? 9 : 3}) {
      const int32_t kv_heads = heads.kv_heads, group = heads.group;
      const int32_t keys = 15 + 3 * kv_heads + 32 * group, v_dim = group == 2 ? 17 : 5 * group;
      INFO("kv heads ", kv_heads, ", group ", group, ", queries ", queries, ", keys ", keys);
      const bool by_4x4 = group * queries >= 3 && group * queries <= 8; // where dim is a multiple of 16
      const int32_t dim = by_4x4 ? 32 : 12;
      const shape plain =
          shape("few rows a head").heads(kv_heads * group, kv_heads).dims(dim, v_dim).lengths(queries, keys);
      for (const shape& s :
           {plain, shape(plain).softcap(3).alibi().sinks().mask(mask_kind::bias).lse().weights(0),
            shape(plain).causal().window(keys / 2 + 3, 0).keep_first(keys / 3)}) {
        problem p(s);
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const size_t best = fovea_scratch_best(&a), least = fovea_scratch_least(&a);
          std::vector<float> got = solve(p, a);
          check_scratch(p, a, {std::max(best - 1, least), least}, got);
          check_parts(p, a, {2, 3}, got);
          check_panels(p, a, {best}, got);
          got.resize(expected.size());
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
        });
      }
    }
}
