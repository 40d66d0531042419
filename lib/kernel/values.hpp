// Output of a block: weights times rows of V, keys ascending, only over keys that a row sees; then o of the span, or the output itself.
#pragma once
#include "kernel/block.hpp"
#include "kernel/kv_view.hpp"
#include "kernel/shapes.hpp"

namespace fovea {

// Where vector c of o stands in a row of V and of the output: a last vector that would end behind v_dim begins earlier and overlaps
// the one before it. Lanes never mix, so both compute the same.
FOVEA_INLINE int column_at(int c, int v_dim) { return v_dim < 16 || c + 16 <= v_dim ? c : v_dim - 16; }

// Columns of one accumulator tile: where they stand in o, in V and out, and how many of a vector exist.
template <class Element>
struct columns {
  static constexpr bool whole = false;
  int in_o, at, count;

  template <class Vector>
  FOVEA_INLINE Vector load(const typename Element::stored* p) const {
    return Element::load_first(p, count, Vector{});
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    store_first(p, x, count);
  }
};
template <class Element>
struct whole_columns : columns<Element> {
  static constexpr bool whole = true;
  static FOVEA_INLINE void fetch(const typename Element::stored*) {}
  template <class Vector>
  FOVEA_INLINE Vector load(const typename Element::stored* p) const {
    return Element::load(p, Vector{});
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    x.store(p);
  }
};

// The same where memory is the limit, as for a few rows in several passes over V: each pass prefetches its part of the next block, or of
// the rows that it comes to soon.
constexpr int first_cache = 3, second_cache = 2;
template <class Element, int Rows, int Cache>
struct fetching_columns : whole_columns<Element> {
  ptrdiff_t stride;
  FOVEA_INLINE void fetch(const typename Element::stored* p) const { __builtin_prefetch(p + Rows * stride, 0, Cache); }
};
template <class Isa, class Shape, class Element>
FOVEA_INLINE auto columns_for(ptrdiff_t v_stride, int in_o, int at) {
  if constexpr (is_four_row_shape<Isa, Shape>)
    return fetching_columns<Element, 16, first_cache>{{{in_o, at, Shape::lanes}}, v_stride};
  else if constexpr (!Isa::by_lane && Shape::rows > 1 && Shape::rows <= 4 && Shape::vectors < 4)
    return fetching_columns<Element, block_keys, second_cache>{{{in_o, at, Shape::lanes}}, v_stride};
  else
    return whole_columns<Element>{{in_o, at, Shape::lanes}};
}

struct key_limit { // one for each row of a group, or one for all
  const int32_t* each;
  int32_t all;
  FOVEA_INLINE int operator[](int m) const { return each ? each[m] : all; }
};

// What the tiles of one KV head share in a block.
template <class Element>
struct value_phase {
  const float* s; // weights
  value_rows<Element> v;
  float* o;
  const float *rescale, *factor;
  float* const* out;
  int v_dim, width;
  int end_row; // the last group may compute a few rows more, which are not written
  bool opens_span;
  bool masked; // a mask may hide keys within the runs

  value_phase(const tile_job& job, const block& b, const value_rows<Element>& values, int row_after_last)
      : s(job.w->s),
        v(values),
        o(job.w->o),
        rescale(job.w->rescale),
        factor(job.w->factor),
        out(job.w->out_rows),
        v_dim(job.p->v_dim),
        width(up16(job.p->v_dim)),
        end_row(row_after_last),
        opens_span(b.opens_span),
        masked(job.p->modify.mask.bias || job.p->modify.mask.shown) {}
};

// The exact way: each row for itself over its own keys from .. to-1, hidden ones left out if wanted. Takes the accumulator through memory.
template <class Isa, class Shape, class Element, class Columns>
__attribute__((noinline)) void add_row_by_row(const value_phase<Element>& z, int row, Columns c, key_limit from, key_limit to,
                                              bool only_shown, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  for (int m = 0; m < Shape::rows; ++m)
    for (int n = 0; n < Shape::vectors; ++n) {
      vector x = acc.at[m][n];
      const float* s = z.s + (row + m) * score_stride;
      for (int key = from[m], end = to[m]; key < end; ++key)
        if (!only_shown || s[key] != 0) x = fma_by(s[key], c.template load<vector>(z.v.row(key) + c.at + n * Shape::lanes), x);
      acc.at[m][n] = x;
    }
}

template <class Isa, class Shape>
using weights_view = rows_view<Isa, Shape::rows, std::integral_constant<ptrdiff_t, score_stride>>;

// Keys that all rows see.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_shared(const value_phase<Element>& z, int row, int begin, int end, Columns c, accumulator<Isa, Shape>& acc) {
  const float* s = z.s + row * score_stride + begin;
  if (begin < end) tile(weights_view<Isa, Shape>(s, {}), panels_view{z.v.row(begin) + c.at, Shape::lanes, z.v.stride}, end - begin, c, acc);
}

// One run of keys: first what not all rows of the group see yet, then what all see, then what not all see any more. Where each row begins
// or ends one key after the row before it, as in windows and causal attention, there is no branch between the rows. Behind a prefix the
// second run may begin with a jump, but only once: a first step of one and the right total leave no room for it.
// `shared`: the same as z, for functions that are not inline.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_run(const value_phase<Element>& z, const value_phase<Element>& shared, const int32_t* from, const int32_t* to,
                          int row, Columns c, accumulator<Isa, Shape>& acc) {
  constexpr int last = Shape::rows - 1, second = 1;
  using vector = floats<Isa, Shape::lanes>;
  const float* s = z.s + row * score_stride;
  const int begin = from[last], end = to[0];
  const auto add = [&](int m, int key) FOVEA_LAMBDA_INLINE {
    const auto* v = z.v.row(key) + c.at;
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      acc.at[m][n] = fma_by(s[m * score_stride + key], c.template load<vector>(v + n * Shape::lanes), acc.at[m][n]);
  };
  const auto add_ragged = [&](key_limit low, key_limit high) FOVEA_LAMBDA_INLINE {
    auto copy = acc; // so that acc itself may stay in registers
    add_row_by_row(shared, row, c, low, high, false, copy);
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
  bool same_keys; // all rows see the same keys from .. to-1, in one run
  bool finishes;  // no row of the group sees keys behind this block, and the output is wanted
  int from, to;
};

template <class Shape>
FOVEA_INLINE value_group group_of(const block& b, int row) {
  const key_runs& runs = b.runs;
  const int last = row + Shape::rows - 1, from = runs.from[1][row], to = runs.to[1][row];
  const bool same = runs.first == 1 && runs.from[1][last] == from && runs.to[1][last] == to && from < to;
  return {row, same, b.writes_output && last < b.finished_after, from, to};
}

// o of the block enters o of the span by one fma; from the last block that a group sees, the output is written.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void store_tile(const value_phase<Element>& z, const value_group& g, Columns c, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const int row = g.row;
  float* o = z.o + static_cast<ptrdiff_t>(row) * z.width + c.in_o;
  if (!z.opens_span)
    acc.each([&](int m, int n, vector& x)
                 FOVEA_LAMBDA_INLINE { x = fma_by(z.rescale[row + m], vector::load(o + m * z.width + n * Shape::lanes), x); });
  if (!g.finishes) return acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x.store(o + m * z.width + n * Shape::lanes); });
  const auto zero = vector::all(0);
  const auto write = [&](int m, int n, vector& x)
                         FOVEA_LAMBDA_INLINE { c.store(z.out[row + m] + c.at + n * Shape::lanes, fma_by(z.factor[row + m], x, zero)); };
  if (row + Shape::rows <= z.end_row) return acc.each(write);
  acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
    if (row + m < z.end_row) write(m, n, x);
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

// Keys that all rows see. Where V of the block is more than the first cache holds from one tile to the next, each row prefetches one that
// comes soon; sixteen lanes stand that up to twice as much.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_same_keys(const value_phase<Element>& z, const value_group& g, Columns c, accumulator<Isa, Shape>& acc) {
  const int keys = g.to - g.from;
  const auto add = [&](auto columns) FOVEA_LAMBDA_INLINE {
    tile(weights_view<Isa, Shape>(z.s + g.row * score_stride + g.from, {}), panels_view{z.v.row(g.from) + c.at, Shape::lanes, z.v.stride},
         keys, columns, acc);
  };
  constexpr int held = 1024 * Isa::lanes; // floats
  if constexpr (Isa::fetches_values && Shape::rows == largest_rows(typename Isa::shapes{}))
    if (keys * z.v_dim > held) return add(fetching_columns<Element, 12, first_cache>{c, z.v.stride});
  add(c);
}

template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void value_tile(const value_phase<Element>& z, const value_phase<Element>& shared, const key_runs& runs, const value_group& g,
                             Columns c) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  if (Isa::lanes > 1 && g.same_keys) // a second copy of the loop; on a microcontroller code counts for more
    add_same_keys<Isa, Shape>(z, g, c, acc);
  else
    for (int run = runs.first; run < 2; ++run) {
      const int32_t *from = runs.from[run] + g.row, *to = runs.to[run] + g.row;
      if constexpr (Shape::rows == 1 || takes_no_stairs<Isa, Shape>)
        add_shared(z, g.row, from[0], to[0], c, acc);
      else
        add_run(z, shared, from, to, g.row, c, acc);
    }
  if (z.masked && leaked(acc)) {
    accumulator<Isa, Shape> shown;
    shown.clear();
    for (int run = runs.first; run < 2; ++run)
      add_row_by_row(shared, g.row, c, {runs.from[run] + g.row, 0}, {runs.to[run] + g.row, 0}, true, shown);
    acc = shown;
  }
  store_tile(z, g, c, acc);
}

// A group works on this block if it sees keys of it, if o does not exist yet, or if its output is written now.
FOVEA_INLINE bool group_works(const block& b, int row, int rows) {
  if (row + rows <= b.finished_before) return false;
  const key_runs& runs = b.runs;
  const int last = row + rows - 1;
  const bool sees = runs.to[1][last] > runs.from[1][row] || (runs.first == 0 && runs.to[0][last] > runs.from[0][row]);
  return sees || b.opens_span || (b.writes_output && row + rows <= b.finished_after);
}

// All columns of a run of rows.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void value_groups(const value_phase<Element>& shared, const block& b, int first_row, int end_row) {
  value_group group[most_groups<Isa, Shape>];
  int groups = 0;
  for (int r = first_row; r < end_row; r += Shape::rows)
    if (group_works(b, r, Shape::rows)) group[groups++] = group_of<Shape>(b, r);
  const value_phase<Element> z = shared; // copies that no store of a vector can change: their fields stay in registers
  const key_runs runs = b.runs;
  int c = 0;
  by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
    using whole = decltype(tile_shape);
    constexpr int width = whole::vectors * whole::lanes;
    for (int end = whole::vectors > 1 ? z.v_dim & -16 : z.width; c + width <= end; c += width)
      for (int g = 0; g < groups; ++g)
        value_tile<Isa, whole>(z, shared, runs, group[g],
                               columns_for<Isa, whole, Element>(z.v.stride, c, column_at(c & -16, z.v_dim) + c % 16));
  });
}

// v_dim below sixteen, rows from `first` on: one by one, with loads that stop at the last element.
template <class Isa, class Element>
__attribute__((noinline)) void value_rows_short(const value_phase<Element>& z, const block& b, int first) {
  for (int r = first; r < z.end_row; ++r)
    if (group_works(b, r, 1)) value_tile<Isa, shape<1, 1>>(z, z, b.runs, group_of<shape<1, 1>>(b, r), columns<Element>{0, 0, z.v_dim});
}

// All rows of a head.
template <class Isa, class Element>
FOVEA_INLINE void add_values(const value_phase<Element>& z, const block& b, const rows_of_head& rows, bool four_row_tiles) {
  const int row = rows.from;
  if (z.v_dim < 16) return value_rows_short<Isa>(z, b, row);
  if constexpr (Isa::four_row_shapes)
    if (four_row_tiles) return value_groups<Isa, typename Isa::four_row_values>(z, b, row, row + 4);
  by_groups<Isa>(rows.count, rows.same_keys,
                 [&](auto s, int first, int end) { value_groups<Isa, decltype(s)>(z, b, row + first, row + end); });
}

} // namespace fovea
