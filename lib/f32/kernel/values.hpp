// Output of a block: weights times rows of V, keys ascending, only over keys that a row sees; then o of the
// span, or the output itself.
#pragma once
#include "f32/kernel/value_tile.hpp"
#include "f32/kernel/values_in_pieces.hpp"

namespace fovea::f32 {

// Rows for themselves over all keys that they see, the same ones, from one segment to the next. The chain of
// additions goes on. `from` loads the columns.
template <class Isa, class Shape, class Element, class Columns, class Load>
FOVEA_INLINE void value_tile_of_rows(const value_phase<Element>& z, const key_runs& runs,
                                     const value_group<Element>& g, Columns c, Load from) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  const float* s = z.s + g.row * score_stride;
  for (int run = runs.first; run < 2; ++run)
    for (int key = runs.from[run][g.row], to = runs.to[run][g.row], count; key < to; key += count) {
      count = z.v.map ? z.v.side_by_side(key, to) : to - key;
      tile(weights_view<Isa, Shape>(s + key, {}),
           panels_view{z.v.row(key) + c.at, c.template places<Shape>(), z.v.stride}, count, from, acc);
    }
  put_in_order(from, acc);
  if (z.masked && leaked(acc))
    return exact_values<Isa, Shape::lanes, Element>(z, runs, g, Shape::rows, Shape::vectors, c);
  store_tile(z, g, c, acc);
}
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void value_tile_of_row(const value_phase<Element>& z, const key_runs& runs,
                                    const value_group<Element>& g, Columns c) {
  static_assert(Shape::rows == 1);
  value_tile_of_rows<Isa, Shape>(z, runs, g, c, c);
}

// The same for rows of fewer than sixteen columns, from column `first` on. Cores without vectors take one
// column at a time, the others all of them.
template <class Isa, class Element>
__attribute__((noinline)) void short_values_of_rows(const value_phase<Element>& z, const key_runs& runs,
                                                    value_group<Element> g, int rows, int first) {
  for (const int end = g.row + rows; g.row < end; ++g.row)
    if constexpr (Isa::lanes == 1)
      for (int c = first; c < z.v_dim; ++c)
        value_tile_of_row<Isa, shape<1, 1, 1>>(z, runs, g, whole_columns<Element>{{c, c, 1}, 0});
    else
      value_tile_of_row<Isa, shape<1, 1>>(z, runs, g, columns<Element>{0, 0, z.v_dim});
}

// All columns of a group. Cores without vectors take the code that is there for hidden keys: it costs no time
// that shows, and no bytes.
template <class Isa, class Element>
__attribute__((noinline)) void value_segments(const value_phase<Element>& z, const block& b,
                                              value_group<Element> g, int rows) {
  if (z.v_dim < 16) return short_values_of_rows<Isa>(z, b.runs, g, rows, 0);
  if constexpr (Isa::lanes == 1) {
    for (int c = 0; c < z.width; c += 4)
      exact_values<Isa, 4>(z, b.runs, g, rows, 1, places_of<shape<1, 1, 4>, Element>(z.v_dim, c));
  } else {
    for (const int end = g.row + rows; g.row < end; ++g.row) {
      int c = 0;
      using four = shape<1, 4>;
      using one = shape<1, 1>;
      for (; c + 64 <= z.width; c += 64)
        value_tile_of_row<Isa, four>(z, b.runs, g, places_of<four, Element>(z.v_dim, c));
      for (; c < z.width; c += 16)
        value_tile_of_row<Isa, one>(z, b.runs, g, places_of<one, Element>(z.v_dim, c));
    }
  }
}

// `shared`: the same as z, for functions that are not inline.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void value_tile(const value_phase<Element>& z, const value_phase<Element>& shared,
                             const key_runs& runs, const value_group<Element>& g, Columns c) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  add_keys(z, g, c, acc);
  if (g.may_leak && leaked(acc)) {
    if constexpr (Columns::whole)
      exact_values<Isa, Shape::lanes, Element>(shared, runs, g, Shape::rows, Shape::vectors,
                                               c.without_fetching());
    else
      exact_values<Isa, 16, Element>(shared, runs, g, Shape::rows, 1, columns<Element>{0, 0, c.count});
    return;
  }
  store_tile(z, g, c, acc);
}

// Has a group something to do in this block? It has if it sees keys, if o has not been written yet, or if its
// output is written now.
FOVEA_INLINE bool group_works(const block& b, int row, int rows) {
  if (row + rows <= b.finished_before) return false;
  const key_runs& runs = b.runs;
  const int last = row + rows - 1;
  const bool sees = runs.to[1][last] > runs.from[1][row] ||
                    (runs.first == 0 && runs.to[0][last] > runs.from[0][row]);
  return sees || b.opens_span || (b.writes_output && row + rows <= b.finished_after);
}

// All columns of groups whose v_dim is below sixteen.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void short_value_groups(const value_phase<Element>& shared, const key_runs& runs,
                                                  const value_group<Element>* group, int groups) {
  const value_phase<Element> z = shared;
  with_short_columns<Isa, Element>(z.v_dim, [&](auto lanes, auto c) FOVEA_LAMBDA_INLINE {
    for (int g = 0; g < groups; ++g)
      value_tile<Isa, shape<Shape::rows, 1, lanes>>(z, shared, runs, group[g], c);
  });
}

// One row has registers for more columns than a tile of scores takes: those of 128 are read in one pass.
template <class Isa, class Shape>
using value_shape = std::conditional_t<Shape::rows == 1 && Isa::lanes == 16, shape<1, 8>, Shape>;

// All columns of a run of rows.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void value_groups(const value_phase<Element>& shared, const block& b, int first_row,
                                            int end_row) {
  value_group<Element> group[most_groups<Isa, Shape>];
  int groups = 0;
  for (int r = first_row; r < end_row; r += Shape::rows)
    if (group_works(b, r, Shape::rows)) {
      find_group<Isa, Shape>(shared, b, r, group[groups]);
      if (group[groups].split)
        value_segments<Isa>(shared, b, group[groups], Shape::rows);
      else
        ++groups;
    }
  if constexpr (Isa::lanes > 1)
    if (shared.v_dim < 16) return short_value_groups<Isa, Shape>(shared, b.runs, group, groups);
  if constexpr (takes_pieces<Isa, Shape, Element>) {
    constexpr ptrdiff_t far = 2048 / Element::bytes;
    const bool is_one = groups == 1 && group[0].keys > 0 && !group[0].stair_in && !group[0].stair_out;
    if (is_one && shared.v.stride >= far && shared.width > Shape::vectors * Shape::lanes)
      return values_in_pieces<Isa, Shape>(shared, b.runs, group[0]);
  }
  const value_phase<Element> z = shared; // no store of a vector can change a copy: fields stay in registers
  const key_runs& runs = b.runs;
  const int columns_of_last = Isa::lanes == 1 && z.v_dim < 16 ? z.v_dim : z.width;
  int c = 0;
  by_columns<value_shape<Isa, Shape>>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
    using whole = decltype(tile_shape);
    constexpr int width = whole::vectors * whole::lanes;
    const int end = whole::lanes < 16 && whole::vectors > 1 ? z.v_dim & -16 : columns_of_last;
    for (; c + width <= end; c += width)
      for (int g = 0; g < groups; ++g)
        value_tile<Isa, whole>(z, shared, runs, group[g],
                               columns_for<Isa, whole, Element>(z.v.stride, z.v_dim, c));
  });
  if constexpr (Isa::lanes == 1)
    if (c < z.v_dim)
      for (int g = 0; g < groups; ++g) short_values_of_rows<Isa>(shared, runs, group[g], Shape::rows, c);
}

// All rows of a head.
template <class Isa, class Element>
FOVEA_INLINE void add_values(const value_phase<Element>& z, const block& b, const rows_of_head& rows,
                             bool four_row_tiles) {
  const int row = rows.from;
  if constexpr (Isa::four_row_shapes)
    if (four_row_tiles) return value_groups<Isa, typename Isa::four_row_values>(z, b, row, row + 4);
  by_groups<Isa>(rows.count, rows.same_keys, [&](auto s, int first, int end) {
    value_groups<Isa, decltype(s)>(z, b, row + first, row + end);
  });
}

} // namespace fovea::f32
