// Which tiles the rows of a group take: lists of shapes, largest first, and how to choose from them.
#pragma once
#include <type_traits>

#include "f32/kernel/tile.hpp"

namespace fovea::f32 {

template <class... Shapes>
struct shape_list {};

template <class Shape, class... Smaller>
constexpr int largest_rows(shape_list<Shape, Smaller...>) {
  return Shape::rows;
}

template <class Shape, class... Smaller>
constexpr int smallest_rows(shape_list<Shape, Smaller...>) {
  if constexpr (sizeof...(Smaller) > 0)
    return smallest_rows(shape_list<Smaller...>{});
  else
    return Shape::rows;
}

// Shapes for tiles of three or four rows, of eight lanes. They prefetch.
template <class Isa, class Shape>
constexpr bool is_four_row_shape = Isa::four_row_shapes && Shape::rows == 4 && Shape::lanes == 8;

template <class Shape>
using fewer_vectors = shape<Shape::rows, (Shape::vectors + 1) / 2, Shape::lanes>;

// Calls phase(shape) for a shape and then for narrower ones, each with half as many vectors, for what is
// left.
template <class Shape, class Phase>
FOVEA_INLINE void by_columns(Phase phase) {
  phase(Shape{});
  if constexpr (Shape::vectors > 1) by_columns<fewer_vectors<Shape>>(phase);
}

// Calls phase(Shape) for the shape that takes `rest` rows: the last in the list that holds them.
template <class Shape, class... Smaller, class Phase>
FOVEA_INLINE void with_shape(shape_list<Shape, Smaller...>, int rest, Phase phase) {
  if constexpr (sizeof...(Smaller) > 0) {
    if (largest_rows(shape_list<Smaller...>{}) >= rest)
      return with_shape(shape_list<Smaller...>{}, rest, phase);
  }
  phase(Shape{});
}

// Rows of a tile that go into the largest groups. What is left is one smaller group, or two, where one would
// leave registers empty: 16 rows are 8 + 8 rather than 12 + 4.
template <class Shape, class Second, class... Smaller>
constexpr int rows_in_largest(shape_list<Shape, Second, Smaller...>, int rows) {
  const int whole = rows / Shape::rows * Shape::rows;
  constexpr int more = 2 * Second::rows - Shape::rows; // rows than a largest group
  return more > 0 && whole && rows - whole == more ? whole - Shape::rows : whole;
}
template <class Shape>
constexpr int rows_in_largest(shape_list<Shape>, int rows) {
  return rows / Shape::rows * Shape::rows;
}

// Where rows see different keys, a large group computes more scores that nobody sees: there an ISA may begin
// with its second shape.
template <class Shape, class... Smaller>
auto without_first(shape_list<Shape, Smaller...>) -> shape_list<Smaller...>;
template <class Isa>
using stair_shapes = std::conditional_t<Isa::smaller_stairs, decltype(without_first(typename Isa::shapes{})),
                                        typename Isa::shapes>;

template <class Isa, class Shape>
constexpr bool takes_no_stairs = Shape::rows >
                                 largest_rows(stair_shapes<Isa>{}); // all its rows see the same keys

// How many groups of a shape one phase may meet: all of a tile, or what is left.
template <class Isa, class Shape>
constexpr int most_groups = Shape::rows < largest_rows(stair_shapes<Isa>{})
                                ? 2
                                : (Isa::rows + Shape::rows - 1) / Shape::rows;

// The rows of one KV head within a tile.
struct rows_of_head {
  int from, count;
  bool same_keys; // all of them see the same keys
};

// Runs a phase over all rows in groups: phase(shape, first row, row after the last).
template <class Largest, class... Smaller, class Phase>
FOVEA_INLINE void by_groups_of(shape_list<Largest, Smaller...> shapes, int rows, Phase phase) {
  const int whole = rows_in_largest(shapes, rows), rest = rows - whole;
  if (whole) phase(Largest{}, 0, whole);
  if (rest)
    with_shape(shapes, rest < Largest::rows ? rest : rest / 2, [&](auto shape) {
      constexpr int n = decltype(shape)::rows;
      phase(shape, whole, whole + (rest + n - 1) / n * n);
    });
}
template <class Isa, class Phase>
FOVEA_INLINE void by_groups(int rows, bool same_keys, Phase phase) {
  if constexpr (Isa::smaller_stairs)
    if (!same_keys) return by_groups_of(stair_shapes<Isa>{}, rows, phase);
  by_groups_of(typename Isa::shapes{}, rows, phase);
}

} // namespace fovea::f32
