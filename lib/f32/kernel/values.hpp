// Output of a block: weights times rows of V, keys ascending, only over keys that a row sees; then o of the
// span, or the output itself.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/kv_view.hpp"
#include "f32/kernel/shapes.hpp"

namespace fovea::f32 {

// Where vector c of o stands in a row of V and of the output: a last vector that would end behind v_dim
// begins earlier and overlaps the one before it. Lanes never mix, so both compute the same.
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
  FOVEA_INLINE columns without_fetching() const { return *this; }
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
  FOVEA_INLINE whole_columns without_fetching() const { return *this; }
};

// The same where memory is the limit, as for a few rows in several passes over V: each pass prefetches its
// part of the next block, or of the rows that it comes to soon.
constexpr int first_cache = 3, second_cache = 2;
template <class Element, int Rows, int Cache>
struct fetching_columns : whole_columns<Element> {
  ptrdiff_t stride;
  FOVEA_INLINE void fetch(const typename Element::stored* p) const {
    __builtin_prefetch(p + Rows * stride, 0, Cache);
  }
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

// What the tiles of one KV head share in a block.
template <class Element>
struct value_phase {
  float* s; // weights
  value_rows<Element> v;
  float* o;
  const float *rescale, *factor;
  float* const* out;
  int v_dim, width;
  bool opens_span;
  bool masked; // a mask may hide keys within the runs

  value_phase(const tile_job& job, const block& b, const value_rows<Element>& values)
      : s(job.w->s),
        v(values),
        o(job.w->o),
        rescale(job.w->rescale),
        factor(job.w->factor),
        out(job.w->out_rows),
        v_dim(job.p->v_dim),
        width(up16(job.p->v_dim)),
        opens_span(b.opens_span),
        masked(job.p->modify.mask.bias || job.p->modify.mask.shown) {}
};

// The keys of a group of rows: begin .. end-1 go to all rows. Where each row begins, or ends, one key after
// the row before it, as in windows and causal attention, the rows - 1 keys before begin, or from end on, are
// a stair: each goes to the rows that see it.
struct keys_of_group {
  int begin, end;
  bool stair_in, stair_out;
};

// What is the same for all columns of a group of rows.
template <class Element>
struct value_group {
  int row;
  bool finishes; // no row of the group sees keys behind this block, and the output is wanted
  bool may_leak; // some weights are 0, because a mask or the row itself hides keys that other rows see
  bool stair_in, stair_out;
  bool fetches; // V is more than the first cache holds from one tile to the next
  int keys;
  const float* s;                    // weights of the first row for the first key
  const typename Element::stored* v; // values of the first key
};

// Of keys begin .. end-1, those that a row does not see weigh nothing. Were there any?
FOVEA_INLINE bool hide_unseen(const key_runs& runs, int row, int begin, int end, float* weights) {
  bool any = false;
  const auto hide = [&](int to) {
    for (; begin < to && begin < end; ++begin) {
      weights[begin] = 0;
      any = true;
    }
  };
  for (int n = runs.first; n < 2; ++n) {
    const int from = runs.from[n][row], to = runs.to[n][row];
    if (from >= to) continue;
    hide(from);
    begin = begin < to ? to : begin;
  }
  hide(end);
  return any;
}

// Rows that do not all see the same one run of keys. Where they climb no stair, they go over the keys of all
// of them, from the first run to the end of the second, and what a row does not see weighs 0. Behind a prefix
// the second run may begin with a jump, but only once: a first step of one and the right total leave no room
// for it. Are weights 0?
template <class Isa, int Rows>
__attribute__((noinline)) bool look_at_steps(const key_runs& runs, int row, float* s, keys_of_group& keys) {
  constexpr int last = Rows - 1, second = Rows > 1 ? 1 : 0;
  const int32_t *from = runs.from[1] + row, *to = runs.to[1] + row;
  keys = {from[0], to[last], false, false};
  if (runs.first == 0) {
    const int begin = runs.from[0][row], end = runs.to[0][row + last];
    if (begin < end) keys = {begin, from[0] < to[last] ? to[last] : end, false, false};
  } else if (from[last] < to[0]) {
    keys.stair_in = from[last] - from[0] == last && from[second] == from[0] + 1;
    keys.stair_out = to[last] - to[0] == last && to[second] == to[0] + 1;
    if (keys.stair_in) keys.begin = from[last];
    if (keys.stair_out) keys.end = to[0];
  }
  bool hides = false;
  for (int m = 0; m < Rows; ++m)
    hides |= hide_unseen(runs, row + m, keys.begin, keys.end, s + (row + m) * score_stride);
  return hides;
}

template <class Isa, class Element>
FOVEA_INLINE void place_keys(const value_phase<Element>& z, const keys_of_group& keys,
                             value_group<Element>& g) {
  g.stair_in = keys.stair_in;
  g.stair_out = keys.stair_out;
  g.keys = keys.end - keys.begin;
  g.s = z.s + g.row * score_stride + keys.begin;
  g.v = z.v.row(keys.begin);
  constexpr int held = 1024 * Isa::lanes; // floats; sixteen lanes stand that up to twice as much
  g.fetches = g.keys * z.v_dim > held;
}

template <class Isa, class Shape, class Element>
__attribute__((noinline)) void find_keys(const value_phase<Element>& z, const key_runs& runs,
                                         value_group<Element>& g) {
  constexpr int last = Shape::rows - 1;
  const int32_t *from = runs.from[1] + g.row, *to = runs.to[1] + g.row;
  keys_of_group keys{from[0], to[0], false, false};
  const bool same = runs.first == 1 && from[0] == from[last] && to[0] == to[last];
  if (!same) g.may_leak |= look_at_steps<Isa, Shape::rows>(runs, g.row, z.s, keys);
  place_keys<Isa>(z, keys, g);
}

template <class Isa, class Shape, class Element>
FOVEA_INLINE void find_group(const value_phase<Element>& z, const block& b, int row,
                             value_group<Element>& g) {
  g.row = row;
  g.finishes = b.writes_output && row + Shape::rows <= b.finished_after;
  g.may_leak = z.masked;
  if (b.runs.same == same_keys::all) return place_keys<Isa>(z, {b.runs.begin, b.runs.end, false, false}, g);
  find_keys<Isa, Shape>(z, b.runs, g);
}

template <class Isa, class Shape>
using weights_view = rows_view<Isa, Shape::rows, std::integral_constant<ptrdiff_t, score_stride>>;

// Where V of the block does not stay in the first cache, each row prefetches one that comes soon.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_shared(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  const auto add = [&](auto columns) FOVEA_LAMBDA_INLINE {
    tile(weights_view<Isa, Shape>(g.s, {}), panels_view{g.v + c.at, Shape::lanes, z.v.stride}, g.keys,
         columns, acc);
  };
  if constexpr (Isa::fetches_values && Shape::rows == largest_rows(typename Isa::shapes{}))
    if (g.fetches) return add(fetching_columns<Element, 12, first_cache>{c, z.v.stride});
  add(c);
}

// The same number, but what is made of it is made behind this place: else compilers prepare the addresses of
// stairs for every tile.
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
#pragma GCC unroll 16
  for (int m = low; m <= high; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      acc.at[m][n] = fma_by(g.s[m * score_stride + key], c.template load<vector>(v + n * Shape::lanes),
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

// o of the block enters o of the span by one fma; from the last block that a group sees, the output is
// written. Rows that only fill the last group write theirs to scratch.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void store_tile(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const int row = g.row;
  float* o = z.o + static_cast<ptrdiff_t>(row) * z.width + c.in_o;
  if (!z.opens_span)
    acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
      x = fma_by(z.rescale[row + m], vector::load(o + m * z.width + n * Shape::lanes), x);
    });
  if (!g.finishes)
    return acc.each([&](int m, int n, vector& x)
                        FOVEA_LAMBDA_INLINE { x.store(o + m * z.width + n * Shape::lanes); });
  const auto zero = vector::all(0);
  acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
    c.store(z.out[row + m] + c.at + n * Shape::lanes, fma_by(z.factor[row + m], x, zero));
  });
}

// A weight of 0 times NaN or infinity is NaN: what a row or a mask hides may have leaked into a result. A
// result that is NaN by right is found, too.
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
    Columns c = first;
    for (int n = 0; n < vectors; ++n, c.in_o += Lanes, c.at += Lanes) {
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

// `shared`: the same as z, for functions that are not inline.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void value_tile(const value_phase<Element>& z, const value_phase<Element>& shared,
                             const key_runs& runs, const value_group<Element>& g, Columns c) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  add_keys(z, g, c, acc);
  if (g.may_leak && leaked(acc))
    return exact_values<Isa, Shape::lanes, Element>(shared, runs, g, Shape::rows, Shape::vectors,
                                                    c.without_fetching());
  store_tile(z, g, c, acc);
}

// A group works on this block if it sees keys of it, if o does not exist yet, or if its output is written
// now.
FOVEA_INLINE bool group_works(const block& b, int row, int rows) {
  if (row + rows <= b.finished_before) return false;
  const key_runs& runs = b.runs;
  const int last = row + rows - 1;
  const bool sees = runs.to[1][last] > runs.from[1][row] ||
                    (runs.first == 0 && runs.to[0][last] > runs.from[0][row]);
  return sees || b.opens_span || (b.writes_output && row + rows <= b.finished_after);
}

// All columns of a run of rows.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void value_groups(const value_phase<Element>& shared, const block& b, int first_row,
                                            int end_row) {
  value_group<Element> group[most_groups<Isa, Shape>];
  int groups = 0;
  for (int r = first_row; r < end_row; r += Shape::rows)
    if (group_works(b, r, Shape::rows)) find_group<Isa, Shape>(shared, b, r, group[groups++]);
  const value_phase<Element>
      z = shared; // copies that no store of a vector can change: their fields stay in registers
  const key_runs& runs = b.runs;
  int c = 0;
  by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
    using whole = decltype(tile_shape);
    constexpr int width = whole::vectors * whole::lanes;
    for (int end = whole::vectors > 1 ? z.v_dim & -16 : z.width; c + width <= end; c += width)
      for (int g = 0; g < groups; ++g)
        value_tile<Isa, whole>(
            z, shared, runs, group[g],
            columns_for<Isa, whole, Element>(z.v.stride, c, column_at(c & -16, z.v_dim) + c % 16));
  });
}

// v_dim below sixteen: rows one by one, with loads that stop at the last element.
template <class Isa, class Element>
__attribute__((noinline)) void value_rows_short(const value_phase<Element>& z, const block& b,
                                                const rows_of_head& rows) {
  using one_row = shape<1, 1>;
  for (int r = rows.from; r < rows.from + rows.count; ++r) {
    if (!group_works(b, r, 1)) continue;
    value_group<Element> g;
    find_group<Isa, one_row>(z, b, r, g);
    value_tile<Isa, one_row>(z, z, b.runs, g, columns<Element>{0, 0, z.v_dim});
  }
}

// All rows of a head.
template <class Isa, class Element>
FOVEA_INLINE void add_values(const value_phase<Element>& z, const block& b, const rows_of_head& rows,
                             bool four_row_tiles) {
  const int row = rows.from;
  if (z.v_dim < 16) return value_rows_short<Isa>(z, b, rows);
  if constexpr (Isa::four_row_shapes)
    if (four_row_tiles) return value_groups<Isa, typename Isa::four_row_values>(z, b, row, row + 4);
  by_groups<Isa>(rows.count, rows.same_keys, [&](auto s, int first, int end) {
    value_groups<Isa, decltype(s)>(z, b, row + first, row + end);
  });
}

} // namespace fovea::f32
