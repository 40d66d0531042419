// Scores of a block of keys.
#pragma once
#include "fixed/chunks.hpp"
#include "fixed/state.hpp"

namespace fovea::fixed {

// Queries of rows r .. r + M - 1, and what they add to the starts of their sums.
template <class Form, int M>
static void take_queries(tile_state<Form>& t, int r) {
  const int8_t* q[M];
  int32_t starts[M] = {};
  for (int m = 0; m < M; ++m) q[m] = reinterpret_cast<const int8_t*>(t.rows[r + m].q);
  take_group<typename Form::keys_dot, M>(q, t.p.dim, t.p.depth, t.q + static_cast<ptrdiff_t>(r) * t.p.depth,
                                         starts);
  for (int m = 0; m < M; ++m) t.rows[r + m].start += starts[m];
}

template <class Form>
void score_panels_of(const tile_state<Form>& t, const typename Form::key_byte* keys, int r, int columns) {
  using dot = typename Form::keys_dot;
  const int depth = t.p.depth;
  const auto* const q = t.q + static_cast<ptrdiff_t>(r) * depth;
  const fixed_row* const x = t.rows + r;
  int32_t starts[64], *s = t.scores(r);
  dot::store_starts({x[0].start, x[1].start, x[2].start, x[3].start}, starts);
  for (int n = 0; n < columns; ++n, s += 16) dot::score_panel(q, keys, depth, starts, s, score_step);
}

// Some weighers take distances below the reference instead of scores. Distances are computed from scores that
// are still in registers, and are stored in their place. Two short passes overlap more rows than one long
// pass.
template <class Form>
constexpr bool measures = Form::weigher::measures;

template <class Form, class Shape>
constexpr bool measures_group = measures<Form> && Form::keys_dot::measures_groups && Shape::rows > 1 &&
                                Shape::key_columns * 16 / Form::keys_dot::slices / Form::lanes % 2 == 0;

static inline int16_t* distances_in(int32_t* s) { return reinterpret_cast<int16_t*>(s); }

// What is stored for the scores of a row and some keys from `key` on: the scores, or distances.
template <class Form>
struct store_scores {
  store_scores(const tile_state<Form>&, int) {}
  template <int Count>
  FOVEA_INLINE void operator()(const typename Form::reg (&x)[Count], const fixed_row&, int32_t* s,
                               int key) const {
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) Form::store(s + key + i * Form::lanes, x[i]);
  }
};
template <class Form>
struct store_distances {
  const typename Form::weigher weigher;
  const decltype(Form::weigher::scale_of(fovea_fixed_scale{})) scale;
  store_distances(const tile_state<Form>& t, int r) : scale(Form::weigher::scale_of(*t.rows[r].scale)) {}
  template <int Count>
  FOVEA_INLINE void operator()(const typename Form::reg (&x)[Count], const fixed_row& row, int32_t* s,
                               int key) const {
    weigher.template measure<false>(x, scale, row.reference, distances_in(s) + key);
  }
};

// Scores of keys that have multipliers become octaves, as by octaves_with.
template <class Form>
FOVEA_INLINE typename Form::reg octaves_by(const int32_t* multipliers, const fixed_row& row,
                                           typename Form::reg x) {
  const typename Form::reg limit = Form::spread(fixed_octave_limit - 1),
                           least = Form::spread(1 - fixed_octave_limit),
                           t = Form::shifted_product(x, Form::load(multipliers),
                                                     Form::by(row.scale->score_shift));
  return Form::smaller(Form::larger(t, least), limit);
}
template <class Form>
struct store_multiplied {
  const typename Form::weigher weigher;
  const int32_t* const multipliers;
  store_multiplied(const tile_state<Form>& t, int) : multipliers(t.multipliers) {}
  template <int Count>
  FOVEA_INLINE void operator()(const typename Form::reg (&x)[Count], const fixed_row& row, int32_t* s,
                               int key) const {
    typename Form::reg t[Count];
#pragma GCC unroll 16
    for (int i = 0; i < Count; ++i) t[i] = octaves_by<Form>(multipliers + key + i * Form::lanes, row, x[i]);
    weigher.template measure<true>(t, Form::weigher::scale_of(*row.scale), row.reference,
                                   distances_in(s) + key);
  }
};

// Scores of one row and all columns of a tile.
template <class Form, int N>
struct row_scores {
  static constexpr int each = 16 / Form::keys_dot::slices / Form::lanes;
  typename Form::reg x[N * each];

  FOVEA_INLINE row_scores(const column_sums<typename Form::keys_dot> (&columns)[N], int row) {
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) {
      typename Form::reg y[each];
      Form::keys_dot::fold(columns[i].at, row, y);
#pragma GCC unroll 16
      for (int j = 0; j < each; ++j) x[i * each + j] = y[j];
    }
  }
};

// Scores of the first columns of the block, row by row, or distances of all its keys. The numbers after them
// are left as they are.
template <class Form, class Shape, class Store>
__attribute__((noinline)) void score_group(const tile_state<Form>& t, const typename Form::key_byte* keys,
                                           int r, int columns) {
  using dot = typename Form::keys_dot;
  constexpr int M = chunks<typename Form::keys_dot, Shape::rows>, N = Shape::key_columns, R = dot::rows,
                step = R * dot::deep, lanes = 16 / dot::slices;
  if constexpr (dot::scores_panels && Shape::rows == 4)
    if (t.p.depth % 64 == 0) return score_panels_of(t, keys, r, columns);
  const int depth = t.p.depth; // what a store might change is read once
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(depth);
  const auto* const q = t.q + static_cast<ptrdiff_t>(r) * depth;
  int32_t* const s = t.scores(r);
  const Store store(t, r);
  constexpr bool starts_in_registers = Shape::rows <= 4; // few rows
  int32_t starts[Shape::rows];
#pragma GCC unroll 16
  for (int m = 0; starts_in_registers && m < Shape::rows; ++m) starts[m] = t.rows[r + m].start;
  const fixed_row* const rows = t.rows + r;
  const auto score = [&](auto count, int n) FOVEA_LAMBDA_INLINE {
    constexpr int C = decltype(count)::value;
    tile_sums<dot, M, C> acc;
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
      for (int i = 0; i < C; ++i)
        dot::begin(acc.row[m][i].at, [&](int row) {
          return m * R + row >= Shape::rows ? 0
                 : starts_in_registers      ? starts[m * R + row]
                                            : rows[m * R + row].start;
        });
    multiply<dot, step, Shape::ahead>(q, M * step, keys + column_at<dot>(n, panel), panel, depth, acc);
#pragma GCC unroll 16
    for (int m = 0; m < Shape::rows; ++m) {
      const row_scores<Form, C> of_row(acc.row[m / R], m % R);
      store(of_row.x, rows[m], s + m * score_step, n * lanes);
    }
  };
  int n = 0;
  if constexpr (N > 1 && M >= 4) { // fewer rows have no chains to spare, and always take a whole tile
    for (; n + N <= columns; n += N) score(std::integral_constant<int, N>{}, n);
    for (; n < columns; ++n) score(std::integral_constant<int, 1>{}, n);
  } else {
    for (; n < columns; n += N) score(std::integral_constant<int, N>{}, n);
  }
}

} // namespace fovea::fixed
