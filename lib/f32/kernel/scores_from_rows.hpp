// Scores for one to eight queries from rows of K as they stand, transposed in registers: for so few queries a
// panel in memory would cost more than the product itself. The chains are those of the tile: one for each
// key, over dim, ascending.
#pragma once
#include "f32/kernel/pack.hpp"
#include "f32/kernel/scores.hpp"

namespace fovea::f32 {

// As many groups of keys at once as hide the latency of a chain and what memory takes; with several rows, as
// many as may share what is broadcast.
template <class Isa, int Rows>
constexpr int key_groups = Rows == 1 ? (Isa::lanes >= 4 ? 32 / Isa::lanes : 8)
                                     : (Isa::lanes >= 8 ? 2 : 8 / Rows);
template <class Isa, int Rows>
constexpr int keys_of_step = key_groups<Isa, Rows> * Isa::lanes;

// Four numbers of each row of q.
template <class Isa, int Rows, class View>
struct fours_in_memory {
  const View& q;
  explicit FOVEA_INLINE fours_in_memory(const View& view) : q(view) {}
  FOVEA_INLINE typename Isa::reg fma(int m, int i, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma(Isa::spread(q(m, i)), y, z);
  }
};
template <class Isa, int Rows, class View>
struct fours_in_lanes {
  typename Isa::reg x[Rows];
  explicit FOVEA_INLINE fours_in_lanes(const View& q) {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) x[m] = Isa::load(q.row(m));
  }
  FOVEA_INLINE typename Isa::reg fma(int m, int i, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma_by_lane(x[m], i, y, z);
  }
};
template <class Isa, int Rows, class View>
using fours =
    std::conditional_t<Isa::by_lane, fours_in_lanes<Isa, Rows, View>, fours_in_memory<Isa, Rows, View>>;

template <class Isa, int Columns>
FOVEA_INLINE typename Isa::reg column_of(const typename Isa::reg (&t)[Columns], int i) {
  if constexpr (Columns == 8)
    return Isa::column(t, i);
  else
    return t[i];
}

// How far the groups of a step are apart in memory. In a step of fewer keys the last groups repeat keys of
// those before them.
template <class Isa>
struct whole_step {
  ptrdiff_t stride;
  FOVEA_INLINE ptrdiff_t to_next(int) const { return Isa::lanes * stride; }
  FOVEA_INLINE int first(int group) const { return group * Isa::lanes; }
};
template <class Isa>
struct short_step {
  ptrdiff_t stride;
  int keys; // at least those of one group
  FOVEA_INLINE ptrdiff_t to_next(int group) const { return (first(group + 1) - first(group)) * stride; }
  FOVEA_INLINE int first(int group) const {
    const int last = keys - Isa::lanes;
    return group * Isa::lanes < last ? group * Isa::lanes : last;
  }
};

// A few columns of as many keys as a register has lanes.
template <class Isa, int Columns>
FOVEA_INLINE void columns_of_keys(const float* k, ptrdiff_t stride, typename Isa::reg (&t)[Columns]) {
  if constexpr (Isa::loads_columns) return Isa::columns_apart(k, stride, t);
  const float* fifth = forget_origin(k + 4 * stride);
  const float* at[4] = {k, fifth, nullptr, nullptr}; // four rows from one pointer
  if constexpr (Isa::lanes > 8)
    at[2] = forget_origin(fifth + 4 * stride), at[3] = forget_origin(at[2] + 4 * stride);
  Isa::columns([&](int l) FOVEA_LAMBDA_INLINE { return at[l / 4] + l % 4 * stride; }, t);
}

// A few columns of all keys of a step, without the first `skipped` of them.
template <class Isa, int Rows, int Columns, class View, class Step>
FOVEA_INLINE void add_columns(const float* k, const Step& step, const View& q, int skipped,
                              typename Isa::reg (&acc)[key_groups<Isa, Rows>][Rows]) {
  constexpr int groups = key_groups<Isa, Rows>, together = Rows == 1 ? 1 : groups;
  const fours<Isa, Rows, View> x(q);
#pragma GCC unroll 8
  for (int from = 0; from < groups; from += together) {
    typename Isa::reg t[together][Columns];
#pragma GCC unroll 8
    for (int g = 0; g < together; k = forget_origin(k + step.to_next(from + g)), ++g)
      columns_of_keys<Isa, Columns>(k, step.stride, t[g]);
#pragma GCC unroll 8
    for (int i = 0; i < Columns; ++i) {
      if (i < skipped) continue;
      typename Isa::reg y[together];
#pragma GCC unroll 8
      for (int g = 0; g < together; ++g) y[g] = column_of<Isa>(t[g], i);
#pragma GCC unroll 4
      for (int m = 0; m < Rows; ++m)
#pragma GCC unroll 8
        for (int g = 0; g < together; ++g) acc[from + g][m] = x.fma(m, i, y[g], acc[from + g][m]);
    }
  }
}

// Prefetches the rows of the next step in small pieces, as many as are used of this one. Many at once would
// wait for memory, and the hardware cannot follow so many streams.
template <int Keys>
class next_rows {
 public:
  next_rows(const float* at, ptrdiff_t stride, int dim) : at_(at), stride_(stride), dim_(dim) {}
  template <int Columns>
  FOVEA_INLINE void fetch_columns() {
    if (stride_ == dim_) { // rows side by side are one stream
#pragma GCC unroll 8
      for (int line = 0; line < Keys * Columns / 16; ++line) __builtin_prefetch(at_ + 16 * line);
      at_ += Columns * Keys;
    } else {
      for (due_ += Columns * Keys; due_ >= dim_; due_ -= dim_, at_ += stride_) prefetch(at_, dim_);
    }
  }

 private:
  const float* at_;
  ptrdiff_t stride_;
  int dim_, due_ = 0;
};

// A row of at least four numbers. Where their count is no multiple of four, the last four repeat some.
template <class Isa, int Rows, class Step>
FOVEA_INLINE void score_step(const float* k, const Step& step, int dim, const float* q_rows, float* s) {
  constexpr int groups = key_groups<Isa, Rows>, keys = keys_of_step<Isa, Rows>;
  typename Isa::reg acc[groups][Rows];
#pragma GCC unroll 8
  for (int g = 0; g < groups; ++g)
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) acc[g][m] = Isa::spread(0);
  next_rows<keys> next(k + keys * step.stride, step.stride, dim);
  rows_view<Isa, Rows, ptrdiff_t> q(q_rows, dim);
  constexpr int columns = Isa::columns_at_once;
  int c = 0;
  for (; c + columns <= dim; c += columns, q.move(columns)) {
    next.template fetch_columns<columns>();
    add_columns<Isa, Rows, columns>(k + c, step, q, 0, acc);
  }
  for (; c < dim; c += 4, q.move(4)) {
    const int skipped = c + 4 <= dim ? 0 : c + 4 - dim;
    q.move(-skipped);
    add_columns<Isa, Rows, 4>(k + c - skipped, step, q, skipped, acc);
  }
#pragma GCC unroll 8
  for (int g = 0; g < groups; ++g)
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) Isa::store(s + m * score_stride + step.first(g), acc[g][m]);
}

// Steps over the keys, for rows from `row` on. Nothing is done, and false returned, where they do not fill
// one group.
template <class Isa, int Rows, class Element>
__attribute__((noinline)) bool score_steps(const score_rows& z, const key_rows<Element>& keys, int row) {
  constexpr int step = keys_of_step<Isa, Rows>;
  const int dim = static_cast<int>(z.dim);
  const ptrdiff_t stride = keys.stride;
  const float *k = keys.at, *q = z.q + row * z.dim;
  float* s = z.s + row * score_stride + keys.from;
  const int count = keys.scored(step);
  if (count == 0) {
    const int fewer = keys.scored(Isa::lanes);
    if (fewer > 0) score_step<Isa, Rows>(k, short_step<Isa>{stride, fewer}, dim, q, s);
    return fewer > 0;
  }
  for (int left = count; left > 0; left -= step, k += step * stride, s += step) {
    if (left < step) {
      k -= (step - left) * stride;
      s -= step - left;
    }
    score_step<Isa, Rows>(k, whole_step<Isa>{stride}, dim, q, s);
  }
  return true;
}

// Most rows of queries that take row-major K: beyond, panels in memory cost less than they save.
template <class Isa>
constexpr int most_key_rows = Isa::lanes >= 8 ? 8 : 4;

// `rows` of a head, `in_groups` with its last group rounded up. Of more than four, the last four may repeat
// some of the first.
template <class Isa, class Element>
FOVEA_INLINE bool score_key_rows(const score_rows& z, const key_rows<Element>& keys, int row, int rows,
                                 int in_groups) {
  if (rows > 4) {
    if constexpr (most_key_rows<Isa> > 4) {
      if (!score_steps<Isa, 4>(z, keys, row)) return false;
      if (rows == 5) return score_steps<Isa, 1>(z, keys, row + 4);
      if (rows == 6) return score_steps<Isa, 2>(z, keys, row + 4);
      return score_steps<Isa, 4>(z, keys, row + rows - 4);
    }
    return false;
  }
  if (in_groups == 1) return score_steps<Isa, 1>(z, keys, row);
  if (in_groups == 2) return score_steps<Isa, 2>(z, keys, row);
  return score_steps<Isa, 4>(z, keys, row);
}

} // namespace fovea::f32
