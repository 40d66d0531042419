// Output of a block: weights times rows of V, keys ascending, only over keys that a row sees; then the epilogue.
#pragma once
#include "kernel/visit.hpp"

namespace fovea {

struct columns { // of one accumulator tile: where they stand in o, in V and out, and how many of a vector exist
  static constexpr bool whole = false;
  int in_o, at, count;

  template <class Vector>
  FOVEA_INLINE Vector load(const float* p) const {
    return load_first(p, count, Vector{});
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    store_first(p, x, count);
  }
};
struct whole_columns : columns {
  static constexpr bool whole = true;
  static FOVEA_INLINE void fetch(const float*) {}
  template <class Vector>
  FOVEA_INLINE Vector load(const float* p) const {
    return Vector::load(p);
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    x.store(p);
  }
};

// The same where memory is the limit, as for a few rows in several passes over V: each pass fetches its part of the next block, or of the
// rows that it comes to soon.
constexpr int first_cache = 3, second_cache = 2;
template <int Rows, int Cache>
struct fetching_columns : whole_columns {
  ptrdiff_t stride;
  FOVEA_INLINE void fetch(const float* p) const { __builtin_prefetch(p + Rows * stride, 0, Cache); }
};
template <class Isa, class Shape>
FOVEA_INLINE auto columns_for(const visit& z, int in_o, int at) {
  if constexpr (of_few<Isa, Shape>)
    return fetching_columns<16, first_cache>{{{in_o, at, Shape::lanes}}, z.v_stride};
  else if constexpr (!Isa::by_lane && Shape::rows > 1 && Shape::rows <= 4 && Shape::vectors < 4)
    return fetching_columns<block_keys, second_cache>{{{in_o, at, Shape::lanes}}, z.v_stride};
  else
    return whole_columns{{in_o, at, Shape::lanes}};
}

struct key_limit { // one for each row of a group, or one for all
  const int32_t* each;
  int32_t all;
  FOVEA_INLINE int operator[](int m) const { return each ? each[m] : all; }
};

// The exact way: each row for itself over its own keys from .. to-1, hidden ones left out if asked. Takes the accumulator through memory.
template <class Isa, class Shape, class Columns>
__attribute__((noinline)) void add_row_by_row(const visit& z, int row, Columns c, key_limit from, key_limit to, bool only_shown,
                                              accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  for (int m = 0; m < Shape::rows; ++m)
    for (int n = 0; n < Shape::vectors; ++n) {
      vector x = acc.at[m][n];
      const float* s = z.s + (row + m) * score_stride;
      for (int key = from[m], end = to[m]; key < end; ++key)
        if (!only_shown || s[key] != 0) x = fma_by(s[key], c.template load<vector>(z.v_row(key) + c.at + n * Shape::lanes), x);
      acc.at[m][n] = x;
    }
}

template <class Isa, class Shape>
using weights_view = rows_view<Isa, Shape::rows, std::integral_constant<ptrdiff_t, score_stride>>;

// Keys that all rows see.
template <class Isa, class Shape, class Columns>
FOVEA_INLINE void add_shared(const visit& z, int row, int begin, int end, Columns c, accumulator<Isa, Shape>& acc) {
  const float* s = z.s + row * score_stride + begin;
  if (begin < end) tile(weights_view<Isa, Shape>(s, {}), panels_view{z.v_row(begin) + c.at, Shape::lanes, z.v_stride}, end - begin, c, acc);
}

// One run of keys: first what not all rows of the group see yet, then what all see, then what not all see any more. Where each row begins
// or ends one key after the row before it, as in windows and causal attention, there is no branch between the rows. Behind a prefix the
// second run may begin with a jump, but only once: a first step of one and the right total leave no room for it.
template <class Isa, class Shape, class Columns>
FOVEA_INLINE void add_run(const visit& z, int run, int row, Columns c, accumulator<Isa, Shape>& acc) {
  constexpr int last = Shape::rows - 1, second = 1;
  using vector = floats<Isa, Shape::lanes>;
  const int32_t *from = z.shared->from[run] + row, *to = z.shared->to[run] + row;
  const float* s = z.s + row * score_stride;
  const int begin = from[last], end = to[0];
  const auto add = [&](int m, int key) FOVEA_LAMBDA_INLINE {
    const float* v = z.v_row(key) + c.at;
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      acc.at[m][n] = fma_by(s[m * score_stride + key], c.template load<vector>(v + n * Shape::lanes), acc.at[m][n]);
  };
  const auto add_ragged = [&](key_limit low, key_limit high) FOVEA_LAMBDA_INLINE {
    auto copy = acc; // so that acc itself may stay in registers
    add_row_by_row(*z.shared, row, c, low, high, false, copy);
    acc = copy;
  };
  if (begin >= end) return add_ragged({from, 0}, {to, 0});
  const int fewer = begin - from[0], more = to[last] - end;
  if (fewer == last && from[second] == from[0] + 1) {
#pragma GCC unroll 16
    for (int t = 0; t < last; ++t)
#pragma GCC unroll 16
      for (int m = 0; m <= t; ++m) add(m, begin - last + t);
  } else if (fewer > 0) {
    add_ragged({from, 0}, {nullptr, begin});
  }
  add_shared(z, row, begin, end, c, acc);
  if (more == last && to[second] == to[0] + 1) {
#pragma GCC unroll 16
    for (int t = 0; t < last; ++t)
#pragma GCC unroll 16
      for (int m = t + 1; m <= last; ++m) add(m, end + t);
  } else if (more > 0) {
    add_ragged({nullptr, end}, {to, 0});
  }
}

// What is the same for all columns of a group of rows.
struct value_group {
  int row;
  bool even;   // all rows see the same keys from .. to-1, in one run
  bool leaves; // results go out: no row of the group sees keys behind this block
  int from, to;
  const float *s, *v; // weights and values of key `from`
};

template <class Shape>
FOVEA_INLINE value_group group_of(const visit& z, int row) {
  const int last = row + Shape::rows - 1, from = z.from[1][row], to = z.to[1][row];
  const bool even = z.first_run == 1 && z.from[1][last] == from && z.to[1][last] == to && from < to;
  return {row, even, z.direct && last < z.done, from, to, z.s + row * score_stride + from, z.v_row(from)};
}

// o of the block enters o of the span by one fma; from the last block that a group sees, the result leaves.
template <class Isa, class Shape, class Columns>
FOVEA_INLINE void settle(const visit& z, const value_group& g, Columns c, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const int row = g.row;
  float* o = z.o + static_cast<ptrdiff_t>(row) * z.width + c.in_o;
  if (!z.start)
    acc.each([&](int m, int n, vector& x)
                 FOVEA_LAMBDA_INLINE { x = fma_by(z.rescale[row + m], vector::load(o + m * z.width + n * Shape::lanes), x); });
  if (!g.leaves) return acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x.store(o + m * z.width + n * Shape::lanes); });
  const auto zero = vector::all(0);
  const auto leave = [&](int m, int n, vector& x)
                         FOVEA_LAMBDA_INLINE { c.store(z.out[row + m] + c.at + n * Shape::lanes, fma_by(z.inverse[row + m], x, zero)); };
  if (row + Shape::rows <= z.rows) return acc.each(leave);
  acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
    if (row + m < z.rows) leave(m, n, x);
  });
}

// A weight of 0 times NaN or infinity is NaN: where a mask hides keys within a run, what it hides may have leaked into a result. Then the
// tile is computed once more, key by key, without the hidden ones. A result that is NaN by right stays NaN.
template <class Isa, class Shape>
FOVEA_INLINE bool leaked(accumulator<Isa, Shape>& acc) {
  auto probe = floats<Isa, Shape::lanes>::all(0);
  acc.each([&](int, int, auto& x) FOVEA_LAMBDA_INLINE { probe = fma_by(0, x, probe); });
  bool found = false;
#pragma GCC unroll 16
  for (auto& r : probe.r) found |= Isa::any_nan(r);
  return found;
}

// Keys that all rows see. Where V of the block is more than the first cache holds from one tile to the next, each row asks for one that
// comes soon; sixteen lanes stand that up to twice as much.
template <class Isa, class Shape, class Columns>
FOVEA_INLINE void add_even(const visit& z, const value_group& g, Columns c, accumulator<Isa, Shape>& acc) {
  const int keys = g.to - g.from;
  const auto add = [&](auto columns) FOVEA_LAMBDA_INLINE {
    tile(weights_view<Isa, Shape>(g.s, {}), panels_view{g.v + c.at, Shape::lanes, z.v_stride}, keys, columns, acc);
  };
  constexpr int held = 1024 * Isa::lanes; // floats
  if constexpr (Isa::fetches_values && (Shape::rows == largest_rows(typename Isa::shapes{}) || std::is_same_v<Shape, typename Isa::wide>))
    if (keys * z.v_dim > held) return add(fetching_columns<12, first_cache>{c, z.v_stride});
  add(c);
}

template <class Isa, class Shape, class Columns>
FOVEA_INLINE void value_tile(const visit& z, const value_group& g, Columns c) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  if (Isa::lanes > 1 && g.even) // a second copy of the loop; on a microcontroller code counts for more
    add_even<Isa, Shape>(z, g, c, acc);
  else
    for (int run = z.first_run; run < 2; ++run)
      if constexpr (Shape::rows == 1 || takes_no_stairs<Isa, Shape>)
        add_shared(z, g.row, z.shared->from[run][g.row], z.shared->to[run][g.row], c, acc);
      else
        add_run(z, run, g.row, c, acc);
  if (z.masked && leaked(acc)) {
    accumulator<Isa, Shape> shown;
    shown.clear();
    for (int run = z.first_run; run < 2; ++run)
      add_row_by_row(*z.shared, g.row, c, {z.shared->from[run] + g.row, 0}, {z.shared->to[run] + g.row, 0}, true, shown);
    acc = shown;
  }
  settle(z, g, c, acc);
}

// A group works on this block if it sees keys of it, if o does not exist yet, or if its results leave now.
FOVEA_INLINE bool group_works(const visit& z, int row, int rows) {
  if (row + rows <= z.was_done) return false;
  const int last = row + rows - 1;
  const bool sees = z.to[1][last] > z.from[1][row] || (z.first_run == 0 && z.to[0][last] > z.from[0][row]);
  return sees || z.start || (z.direct && row + rows <= z.done);
}

// Keys that all rows see, as many columns as whole wide tiles take; returns the first column that is left.
template <class Isa>
__attribute__((noinline)) int wide_values(const visit& shared, int first_row, int end_row) {
  using wide = typename Isa::wide;
  constexpr int width = wide::vectors * wide::lanes;
  const visit z = shared;
  int c = 0;
  for (; c + width <= z.v_dim; c += width)
    for (int r = first_row; r < end_row; r += wide::rows) {
      accumulator<Isa, wide> acc;
      acc.clear();
      const value_group g = group_of<wide>(shared, r);
      const whole_columns columns{{c, c, wide::lanes}};
      add_even<Isa, wide>(z, g, columns, acc);
      settle(z, g, columns, acc);
    }
  return c;
}

// All columns of a run of rows, from `c` on.
template <class Isa, class Shape>
__attribute__((noinline)) void value_groups(const visit& shared, int first_row, int end_row, int c = 0) {
  value_group group[most_groups<Isa, Shape>];
  int groups = 0;
  for (int r = first_row; r < end_row; r += Shape::rows)
    if (group_works(shared, r, Shape::rows)) group[groups++] = group_of<Shape>(shared, r);
  const visit z = shared; // a copy that no store of a vector can change: its fields stay in registers
  by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
    using whole = decltype(tile_shape);
    constexpr int width = whole::vectors * whole::lanes;
    for (int end = whole::vectors > 1 ? z.v_dim & -16 : z.width; c + width <= end; c += width)
      for (int g = 0; g < groups; ++g)
        value_tile<Isa, whole>(z, group[g], columns_for<Isa, whole>(z, c, column_at(c & -16, z.v_dim) + c % 16));
  });
}

// v_dim below sixteen, rows from `first` on: one by one, with loads that stop at the last element.
template <class Isa>
__attribute__((noinline)) void value_rows_short(const visit& z, int first) {
  for (int r = first; r < z.rows; ++r)
    if (group_works(z, r, 1)) value_tile<Isa, shape<1, 1>>(z, group_of<shape<1, 1>>(z, r), columns{0, 0, z.v_dim});
}

// Results leave by groups. Where some rows need no block behind this one, the next one has other groups: one that left here could be
// taken up again there, with an o that it never stored.
FOVEA_INLINE bool takes_wide(const visit& z) { return !z.masked && (z.done == 0 || z.done >= z.rows); }

// All rows of a head.
template <class Isa>
FOVEA_INLINE void value_rows(const visit& z, const rows_of_head& rows) {
  const int row = rows.from;
  if (z.v_dim < 16) return value_rows_short<Isa>(z, row);
  if constexpr (Isa::shapes_for_few)
    if (rows.few) return value_groups<Isa, typename Isa::values_of_few>(z, row, row + 4);
  const auto add = [&](int first, int end, int column) FOVEA_LAMBDA_INLINE {
    by_groups<Isa>(end - first, rows.alike,
                   [&](auto s, int from, int to) { value_groups<Isa, decltype(s)>(z, first + from, first + to, column); });
  };
  int first = row;
  if constexpr (has_wide<Isa>)
    if (const int wide = takes_wide(z) ? rows_in_wide<Isa>(z, rows) : 0) {
      first += wide;
      const int column = wide_values<Isa>(z, row, first);
      if (column < z.width) add(row, first, column);
    }
  add(first, row + rows.count, 0);
}

} // namespace fovea
