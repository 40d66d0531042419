// Which keys a query sees: causal calls, windows, prefixes, kept keys and rows that begin later, against the
// formula.
#include "shape_checks.hpp"

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
