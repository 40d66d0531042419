// fovea_attend against the textbook: a table of shapes, on every ISA, each result within the derived error
// bound.
#include <doctest/doctest.h>

#include <limits>

#include "shape_checks.hpp"

namespace {

// Half the sizes where a double is emulated and every product costs.
#ifdef FOVEA_SMALL
constexpr bool small = true;
#else
constexpr bool small = false;
#endif

} // namespace

TEST_CASE("heads_and_their_groups") {
  const shape table[] = {
      shape("every query head has its own keys").heads(3, 3).lengths(5, 20),
      shape("kv_heads 0 means as many as q_heads").heads(3, 0).lengths(5, 20),
      shape("grouped: two query heads share keys").heads(4, 2).lengths(5, 20),
      shape("groups of three do not divide a tile").heads(6, 2).lengths(7, 33),
      shape("groups of five with one query").heads(15, 3).lengths(1, 40),
      shape("a group larger than any tile of rows").heads(52, 1).dims(4).lengths(3, 18),
      shape("multi-query: one kv head for all").heads(8, 1).lengths(3, 17),
      shape("cross-attention: more queries than keys").heads(2).lengths(20, 7).position(0),
      shape("cross-attention: more keys than queries").heads(2).lengths(7, 50),
  };
  check_shapes(table);
}

TEST_CASE("dims_of_queries_and_values") {
  const shape table[] = {
      shape("one dim").dims(1).lengths(3, 20),
      shape("three dims: less than any vector").dims(3).lengths(3, 20),
      shape("v_dim 0 means dim").dims(20, 0).lengths(3, 20),
      shape("a dim with a tail of four").dims(20).lengths(3, 20),
      shape("a dim one past a vector").dims(33).lengths(3, 20),
      shape("the usual head").dims(64).lengths(3, 20),
      shape("a head of 80").dims(80).lengths(3, 20),
      shape("a head of 100: a tail of four lanes").dims(100).lengths(3, 20),
      shape("a large head").dims(128).lengths(3, 20),
      shape("the largest head").dims(1024).lengths(2, 18),
      shape("values narrower than keys").dims(64, 8).lengths(3, 20),
      shape("values wider than keys").dims(8, 64).lengths(3, 20),
      shape("values of one dim").dims(16, 1).lengths(3, 20),
      shape("values of 17: one past a vector").dims(5, 17).lengths(3, 20),
      shape("the widest values under the narrowest keys").dims(1, 1024).lengths(2, 18),
  };
  check_shapes(table);
}

TEST_CASE("lengths_around_every_edge") {
  const int32_t around_a_panel[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33};
  for (int32_t keys : around_a_panel)
    check_shape(shape("keys around a panel of 16").heads(2, 1).dims(5).lengths(2, keys));
  const int32_t around_a_block[] = {255, 256, 257, 511, 512, 513};
  for (int32_t keys : around_a_block)
    check_shape(shape("keys around a block of 256").heads(2, 1).dims(3).lengths(1, keys));
  for (int32_t queries = 1; queries <= 18; ++queries)
    check_shape(shape("every count of rows up to beyond the largest tile").dims(6).lengths(queries, 19));
  const int32_t around_a_unit[] = {23, 24, 25, 47, 48, 49, 95, 97};
  for (int32_t queries : around_a_unit)
    check_shape(shape("rows around the units of work").dims(4).lengths(queries, small ? 9 : 40));
  if (small) return;
  check_shape(shape("keys around a span of 4,096").dims(4).lengths(2, 4095));
  check_shape(shape("keys around a span of 4,096").dims(4).lengths(2, 4096));
  check_shape(shape("keys around a span of 4,096").dims(4).lengths(2, 4097));
  check_shape(shape("three spans, causal").dims(4).lengths(40, 8200).causal());
}

TEST_CASE("nothing_to_see_gives_zeros") {
  const shape table[] = {
      shape("no keys").heads(4, 2).dims(20).lengths(3, 0),
      shape("no queries").heads(4, 2).dims(20).lengths(0, 10),
      shape("neither queries nor keys").lengths(0, 0),
      shape("causal, all positions before the first key").lengths(5, 20).causal().position(-9),
      shape("causal, the last two rows see keys").lengths(5, 20).causal().position(-3),
      shape("more queries than keys: the first rows see nothing").heads(2).lengths(20, 7).causal(),
      shape("the window of later rows lies behind the last key").lengths(9, 6).position(0).window(1, 0),
      shape("a window before the first key").lengths(2, 16).position(-20).window(3, 3),
      shape("keys begin after every position").lengths(4, 10).causal().position(0).first_key(100),
      shape("the lowest position").lengths(3, 17).causal().position(INT32_MIN),
  };
  check_shapes(table);
  problem p(shape("no keys").dims(5).lengths(2, 0));
  isas::for_each([&](int32_t isa) {
    const std::vector<float> zeros(p.results().size());
    CHECK(data::same_bits(solve(p, p.call(isa)), zeros)); // +0, not -0
  });
}

TEST_CASE("strides_read_in_place") {
  const storage places[] = {storage::heads_first, storage::tokens_first, storage::padded_rows};
  for (storage place : places) {
    check_shape(shape("prefill").heads(4, 2).dims(20, 12).lengths(18, 40).causal().in(place));
    check_shape(shape("decode").heads(4, 2).dims(33, 7).lengths(1, 70).in(place));
    check_shape(shape("one head of one key").dims(3).lengths(1, 1).in(place));
  }
  check_shape(shape("packed QKV of one projection")
                  .heads(4, 4)
                  .dims(16)
                  .lengths(21, 21)
                  .causal()
                  .in(storage::packed_qkv));
  check_shape(shape("packed QKV, grouped, with narrow values")
                  .heads(4, 2)
                  .dims(20, 8)
                  .lengths(21, 21)
                  .causal()
                  .in(storage::packed_qkv));
}

TEST_CASE("rows_of_inputs_may_overlap") {
  problem p(shape("a sliding view: each key begins one element later").heads(2, 1).dims(8, 5).lengths(3, 20));
  fovea_attention a = p.call();
  a.q.token_stride = 3, a.k.token_stride = 1, a.v.token_stride = 2;
  a.q.head_stride = 1, a.k.head_stride = a.v.head_stride = 1;
  const reference::answer expected = reference::attend(a);
  isas::for_each([&](int32_t isa) {
    a.isa = isa;
    reference::check_results(expected, solve(p, a));
  });
}

TEST_CASE("scales_and_sizes_of_scores") {
  const shape table[] = {
      shape("a negative scale turns the order").lengths(3, 40).scale(-0.7f),
      shape("a scale of 0: the mean of the seen values").lengths(3, 40).scale(0.0f),
      shape("a scale of -0").lengths(3, 40).scale(-0.0f),
      shape("a large scale: one key wins").lengths(3, 40).scale(300.0f),
      shape("a tiny scale").lengths(3, 40).scale(1e-30f),
      shape("scores of 100").dims(16).lengths(5, 300).scores(100),
      shape("scores of 1e4").dims(16).lengths(5, 300).scores(1e4f),
      shape("scores of 1e9: beyond the whole numbers of a float").dims(16).lengths(5, 300).scores(1e9f),
      shape("scores of 1e9, causal").heads(2).dims(4).lengths(20, 300).causal().scores(1e9f),
      shape("scores of 1e30").dims(3).lengths(3, 40).scores(1e30f),
  };
  check_shapes(table);
}

TEST_CASE("no_negative_zero_leaves") {
  problem p(shape("values of -0").heads(2, 1).dims(5, 19).lengths(3, 20));
  for (int32_t j = 0; j < p.v.tokens; ++j) data::fill_row(p.v, 0, j, -0.0f);
  isas::for_each([&](int32_t isa) {
    const std::vector<float> zeros(p.results().size());
    CHECK(data::same_bits(solve(p, p.call(isa)), zeros));
  });
}

TEST_CASE("a_product_that_vanishes_below_zero_becomes_a_plain_zero") {
  problem p(shape("the second key has a third of the weight, and the least negative value there is")
                .dims(1, 20)
                .lengths(1, 2)
                .scale(1));
  p.q.at(0, 0, 0) = 1, p.k.at(0, 0, 0) = 0, p.k.at(0, 1, 0) = -1;
  data::fill_row(p.v, 0, 0, 0);
  data::fill_row(p.v, 0, 1, -std::numeric_limits<float>::denorm_min());
  isas::for_each([&](int32_t isa) {
    const std::vector<float> zeros(p.results().size());
    CHECK(data::same_bits(solve(p, p.call(isa)), zeros));
  });
}

TEST_CASE("an_ignored_option_is_ignored") {
  problem p(shape("position, window and scale count only with their flag").lengths(4, 20));
  fovea_attention a = p.call();
  const std::vector<float> plain = solve(p, a);
  a.position = 3, a.window_left = 1, a.window_right = 1, a.scale = 9;
  CHECK(data::same_bits(solve(p, a), plain));
}
