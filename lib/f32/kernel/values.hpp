// Output of a block: weights times rows of V, keys ascending, only over keys that a row sees; then o of the
// span, or the output itself.
#pragma once
#include "f32/kernel/lines_of_rows.hpp"
#include "f32/kernel/value_columns.hpp"
#include "f32/kernel/value_group.hpp"

namespace fovea::f32 {

template <class Isa, class Shape>
using weights_view = rows_view<Isa, Shape::rows, std::integral_constant<ptrdiff_t, score_stride>>;

// Where V of the block does not stay in the first cache, each row prefetches one that comes soon.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_shared(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  const auto add = [&](auto columns) FOVEA_LAMBDA_INLINE {
    tile(weights_view<Isa, Shape>(g.s, {}), panels_view{g.v + c.at, c.template places<Shape>(), z.v.stride},
         g.keys, columns, acc);
  };
  if constexpr (Columns::whole && Isa::fetches_values && Shape::rows == largest_rows(typename Isa::shapes{}))
    if (g.fetches) return add(fetching_columns<Element, 12, first_cache>{c, z.v.stride});
  add(c);
}

// The same number, hidden from the compiler. Else it computes the addresses of stairs for every tile, also
// for those without a stair.
FOVEA_INLINE ptrdiff_t used_from_here(ptrdiff_t x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}

// One key for rows low .. high of a group, counted from the first key that all rows see.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_key(const value_group<Element>& g, ptrdiff_t stride, int key, int low, int high,
                          Columns c, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const auto* v = g.v + key * stride + c.at;
  const auto places = c.template places<Shape>();
#pragma GCC unroll 16
  for (int m = low; m <= high; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      acc.at[m][n] = fma_by(g.s[m * score_stride + key], c.template load<vector>(v + place_of(n, places)),
                            acc.at[m][n]);
}

template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_keys(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                           accumulator<Isa, Shape>& acc) {
  constexpr int last = Shape::rows - 1;
  constexpr bool stairs = last > 0 && !takes_no_stairs<Isa, Shape>;
  if constexpr (stairs)
    if (g.stair_in) {
      const ptrdiff_t stride = used_from_here(z.v.stride);
#pragma GCC unroll 16
      for (int t = 0; t < last; ++t) add_key(g, stride, t - last, 0, t, c, acc);
    }
  add_shared(z, g, c, acc);
  if constexpr (stairs)
    if (g.stair_out) {
      const ptrdiff_t stride = used_from_here(z.v.stride);
#pragma GCC unroll 16
      for (int t = 0; t < last; ++t) add_key(g, stride, g.keys + t, t + 1, last, c, acc);
    }
}

// o of the block joins o of the span; from the last block that a group sees, the output is
// written. Rows that only fill the last group write theirs to scratch.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void store_tile(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const int row = g.row;
  float* o = z.o + static_cast<ptrdiff_t>(row) * z.width + c.in_o;
  if (!z.opens_span)
    acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
      x = join_block(x, o + m * z.width + n * Shape::lanes, z.of_before[row + m], z.of_block[row + m]);
    });
  if (!g.finishes)
    return acc.each([&](int m, int n, vector& x)
                        FOVEA_LAMBDA_INLINE { x.store(o + m * z.width + n * Shape::lanes); });
  const auto zero = vector::all(0);
  const auto places = c.template places<Shape>();
  acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
    c.store(z.out[row + m] + c.at + place_of(n, places), fma_by(z.factor[row + m], x, zero));
  });
}

// A weight of 0 times NaN or infinity is NaN, so a key that a row or a mask hides may have changed a result.
// Is any result NaN or infinite? Some of them may be so rightly.
template <class Isa, class Shape>
FOVEA_INLINE bool leaked(accumulator<Isa, Shape>& acc) {
  auto probe = floats<Isa, Shape::lanes>::all(0);
  acc.each([&](int, int, auto& x) FOVEA_LAMBDA_INLINE { probe = fma_by(0, x, probe); });
  bool found = false;
#pragma GCC unroll 16
  for (auto& r : probe.r) found |= Isa::any_nan(r);
  return found;
}

// A tile once more, each row and vector for itself over its own keys, without those that a mask hides.
template <class Isa, int Lanes, class Element, class Columns>
__attribute__((noinline)) void exact_values(const value_phase<Element>& z, const key_runs& runs,
                                            value_group<Element> g, int rows, int vectors, Columns first) {
  using one_vector = shape<1, 1, Lanes>;
  for (int end = g.row + rows; g.row < end; ++g.row) {
    const float* s = z.s + g.row * score_stride;
    for (int n = 0; n < vectors; ++n) {
      const Columns c = first.vector(n, vectors, Lanes);
      accumulator<Isa, one_vector> acc;
      acc.clear();
      for (int run = runs.first; run < 2; ++run)
        for (int key = runs.from[run][g.row], to = runs.to[run][g.row]; key < to; ++key)
          if (s[key] != 0)
            acc.at[0][0] = fma_by(s[key], c.template load<floats<Isa, Lanes>>(z.v.row(key) + c.at),
                                  acc.at[0][0]);
      store_tile(z, g, c, acc);
    }
  }
}

// A row for itself over all keys that it sees, from one segment to the next. The chain of additions goes on.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void value_tile_of_row(const value_phase<Element>& z, const key_runs& runs,
                                    const value_group<Element>& g, Columns c) {
  static_assert(Shape::rows == 1);
  accumulator<Isa, Shape> acc;
  acc.clear();
  const float* s = z.s + g.row * score_stride;
  for (int run = runs.first; run < 2; ++run)
    for (int key = runs.from[run][g.row], to = runs.to[run][g.row], count; key < to; key += count) {
      count = z.v.map ? z.v.side_by_side(key, to) : to - key;
      tile(weights_view<Isa, Shape>(s + key, {}),
           panels_view{z.v.row(key) + c.at, c.template places<Shape>(), z.v.stride}, count, c, acc);
    }
  if (z.masked && leaked(acc))
    return exact_values<Isa, Shape::lanes, Element>(z, runs, g, 1, Shape::vectors, c);
  store_tile(z, g, c, acc);
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

// Rows of V that are far apart, for a few queries whose sums are more than there are registers: a few keys
// go through all columns before the next ones, so that each row is read once, in the order of memory. Their
// sums wait in memory meanwhile. The chains are those of the tile.
constexpr int keys_of_piece = 8, columns_of_pieces = 128;
template <class Isa, class Shape, class Element>
constexpr bool takes_pieces = Isa::lanes == 8 && Shape::rows > 1 && Shape::rows <= 4 && Shape::lanes == 16 &&
                              std::is_same_v<typename Element::stored, float>;
template <class Element>
struct lines_in_order : whole_columns<Element> {
  lines_of_rows* lines;
  FOVEA_INLINE void fetch(const typename Element::stored*) const { lines->template fetch<1>(); }
};

// Half a piece is prefetched: two pieces would meet in one set of the first cache.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void values_in_pieces(const value_phase<Element>& shared, const key_runs& runs,
                                                const value_group<Element>& group) {
  const value_phase<Element> z = shared;
  const value_group<Element> g = group;
  alignas(64) float sums[Shape::rows * columns_of_pieces];
  for (int first = 0; first < z.width; first += columns_of_pieces) {
    const int end = z.width - first < columns_of_pieces ? z.width : first + columns_of_pieces;
    lines_of_rows lines(g.v + first + keys_of_piece / 2 * z.v.stride, z.v.stride, end - first);
    for (int key = 0, count; key < g.keys; key += count) {
      count = g.keys - key < keys_of_piece ? g.keys - key : keys_of_piece;
      int c = first;
      by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
        using whole = decltype(tile_shape);
        using vector = floats<Isa, whole::lanes>;
        constexpr int width = whole::vectors * whole::lanes;
        for (; c + width <= end; c += width) {
          const whole_columns<Element> columns = places_of<whole, Element>(z.v_dim, c);
          float* const of_tile = sums + (c - first) * Shape::rows;
          const auto sum = [&](int m, int n) FOVEA_LAMBDA_INLINE {
            return of_tile + (m * whole::vectors + n) * whole::lanes;
          };
          accumulator<Isa, whole> acc;
          if (key == 0)
            acc.clear();
          else
            acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x = vector::load(sum(m, n)); });
          tile(weights_view<Isa, whole>(g.s + key, {}),
               panels_view{g.v + key * z.v.stride + columns.at, columns.template places<whole>(), z.v.stride},
               count, lines_in_order<Element>{columns, &lines}, acc);
          if (key + count < g.keys)
            acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x.store(sum(m, n)); });
          else if (g.may_leak && leaked(acc))
            exact_values<Isa, whole::lanes, Element>(shared, runs, g, Shape::rows, whole::vectors, columns);
          else
            store_tile(z, g, columns, acc);
        }
      });
    }
  }
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
