// fovea_attend against the textbook: a table of shapes, on every ISA, each result within the derived error
// bound.
#include <doctest/doctest.h>

#include <limits>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace {

void check_shape(const shape& s) {
  INFO(doctest::String(s.why));
  problem p(s);
  const reference::answer expected = reference::attend(p.call());
  isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
}

template <size_t Count>
void check_shapes(const shape (&table)[Count]) {
  for (const shape& s : table) check_shape(s);
}

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

TEST_CASE("causal_with_positions") {
  const shape table[] = {
      shape("square").heads(4, 2).lengths(20, 20).causal(),
      shape("a chunk after a cache: the queries are the last keys").heads(4, 2).lengths(7, 50).causal(),
      shape("top-left: position 0").lengths(7, 50).causal().position(0),
      shape("in the middle").lengths(7, 50).causal().position(20),
      shape("past the last key: causal hides nothing").lengths(7, 50).causal().position(90),
      shape("the highest position").lengths(3, 17).causal().position(INT32_MAX - 3),
      shape("position without causal or window changes nothing").lengths(3, 17).position(5),
      shape("the diagonal crosses a block").dims(3).lengths(20, 266).causal(),
      shape("the diagonal crosses a block, grouped").heads(6, 2).dims(3).lengths(9, 260).causal(),
      shape("the diagonal begins with a block").dims(3).lengths(20, 276).causal(),
      shape("a long chunk").heads(2).dims(4).lengths(100, 100).causal(),
  };
  check_shapes(table);
}

TEST_CASE("windows") {
  const shape table[] = {
      shape("only the query's own position").lengths(20, 20).window(0, 0),
      shape("three to the left").lengths(20, 20).window(3, 0),
      shape("both sides").heads(4, 2).lengths(20, 30).window(2, 5),
      shape("open to the left").lengths(20, 20).window(-1, 1),
      shape("open to the right").lengths(20, 20).window(1, -1),
      shape("open on both sides").lengths(20, 20).window(-1, -1),
      shape("wider than the keys").lengths(20, 20).window(1000, 1000),
      shape("as wide as a number goes").lengths(20, 20).window(INT32_MAX, INT32_MAX).position(INT32_MAX - 30),
      shape("open means any negative number").lengths(20, 20).window(INT32_MIN, 3),
      shape("causal cuts the right side").heads(4, 2).lengths(20, 40).causal().window(6, 4),
      shape("causal, open to the right").lengths(20, 40).causal().window(6, -1),
      shape("a window narrower than a panel inside a block").dims(3).lengths(5, 300).causal().window(9, 0),
      shape("a window that crosses a block").dims(3).lengths(12, 300).position(250).window(20, 3),
      shape("whole blocks before the window").dims(3).lengths(2, 900).causal().window(40, 0),
      shape("explicit position").lengths(6, 40).position(11).window(3, 2),
  };
  check_shapes(table);
}

TEST_CASE("prefix_and_kept_keys") {
  const shape table[] = {
      shape("everybody sees the prefix").lengths(12, 12).causal().prefix(5),
      shape("a prefix longer than the keys").lengths(12, 12).causal().prefix(INT32_MAX),
      shape("a prefix before the window").lengths(20, 40).window(2, 0).prefix(3),
      shape("a prefix that touches the window").lengths(20, 40).causal().window(4, 0).prefix(21),
      shape("rows before the first key still see the prefix").lengths(4, 20).causal().position(-10).prefix(2),
      shape("attention sinks: the first keys stay")
          .heads(4, 2)
          .lengths(20, 40)
          .causal()
          .window(4, 0)
          .keep_first(3),
      shape("kept keys obey causal").lengths(12, 12).causal().window(1, 0).keep_first(8),
      shape("kept keys without causal").lengths(12, 12).window(1, 0).keep_first(8),
      shape("more kept keys than there are").lengths(12, 12).causal().window(1, 0).keep_first(INT32_MAX),
      shape("kept keys without a window change nothing").lengths(12, 12).causal().keep_first(5),
      shape("kept keys and a prefix").lengths(20, 40).causal().window(2, 0).keep_first(9).prefix(4),
      shape("kept keys one block away").dims(3).lengths(6, 600).causal().window(10, 0).keep_first(4),
      shape("kept keys, and windows that move beyond the last key")
          .dims(3, 20)
          .lengths(40, 600)
          .position(595)
          .window(5, 0)
          .keep_first(3),
      shape("kept keys in two blocks").dims(3).lengths(6, 600).causal().window(10, 0).keep_first(260),
      shape("the window leaves the prefix within a tile")
          .heads(7, 1)
          .dims(20)
          .lengths(22, 16)
          .first_key(266)
          .window(8, 29)
          .prefix(270),
      shape("the same, ungrouped, later rows see two runs")
          .dims(20, 32)
          .lengths(21, 9)
          .first_key(3922)
          .window(1, 32)
          .prefix(3927),
      shape("a window that begins where the prefix ends, causal")
          .heads(3, 1)
          .dims(9, 30)
          .lengths(40, 60)
          .causal()
          .window(11, 0)
          .prefix(10),
      shape("a gap of one key").lengths(3, 40).position(20).window(9, 0).keep_first(10),
  };
  check_shapes(table);
}

TEST_CASE("rows_that_begin_later") {
  const shape table[] = {
      shape("the first row is key 5").lengths(4, 30).first_key(5),
      shape("a cache of the last rows, causal").heads(4, 2).lengths(4, 30).causal().first_key(1000),
      shape("causal inside the given rows").lengths(9, 30).causal().position(8).first_key(5),
      shape("the block border lies inside").dims(3).lengths(9, 30).causal().first_key(245),
      shape("the span border lies inside").dims(3).lengths(9, 30).causal().first_key(4090),
      shape("a window over later rows").lengths(5, 40).first_key(250).window(7, 0),
      shape("kept keys before the first row are not there")
          .lengths(5, 40)
          .causal()
          .first_key(20)
          .window(7, 0)
          .keep_first(10),
      shape("kept keys reach into the given rows")
          .lengths(5, 40)
          .causal()
          .first_key(20)
          .window(3, 0)
          .keep_first(25),
      shape("a prefix that ends inside the given rows")
          .lengths(5, 40)
          .causal()
          .position(22)
          .first_key(20)
          .prefix(30),
      shape("very late rows").lengths(3, 20).causal().first_key(2000000000),
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
