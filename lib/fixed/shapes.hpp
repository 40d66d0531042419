// Groups of rows that one product takes at once.
#pragma once
#include "fixed/tile.hpp"

namespace fovea::fixed {

// How many rows and columns one product takes: for scores, and for values; and how many bytes ahead it
// prefetches panels.
template <int Rows, int KeyColumns, int ValueRows, int ValueColumns, int Ahead = 0>
struct fixed_shape {
  static constexpr int rows = Rows, key_columns = KeyColumns, value_rows = ValueRows,
                       value_columns = ValueColumns, ahead = Ahead;
};
template <class... Shapes>
struct fixed_shapes {};

template <class F, class Shape>
FOVEA_INLINE void walk_groups(int rows, int& r, Shape shape, F f) {
  for (; r + Shape::rows <= rows; r += Shape::rows) f(shape, r);
}

// Calls f(shape, row) for groups of rows: the largest shape that still fits, again and again.
template <class F, class... Shapes>
FOVEA_INLINE void by_groups_of(int rows, F f, fixed_shapes<Shapes...>) {
  int r = 0;
  ((walk_groups(rows, r, Shapes{}, f)), ...);
}

} // namespace fovea::fixed
