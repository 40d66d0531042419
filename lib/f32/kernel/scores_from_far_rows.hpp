// Scores for one query from rows of K that are far apart, as with tokens of several heads. A step of many
// rows would meet in few sets of the first cache and lose lines before all their columns are used. So one
// group of keys after another is scored. The second half of its columns is added together with the first half
// of the next group's, because one chain alone would wait for itself. The chains are those of the tile: one
// for each key, over dim, ascending.
#pragma once
#include "f32/kernel/scores_from_rows.hpp"

namespace fovea::f32 {

template <class Isa>
constexpr bool takes_far_rows = Isa::lanes >= 8;

// A group of keys: as many as a register has lanes.
template <class Isa>
class group_of_keys {
 public:
  using reg = typename Isa::reg;
  using view = rows_view<Isa, 1, ptrdiff_t>;
  static constexpr int columns = Isa::lanes == 16 ? 16 : Isa::columns_at_once;

  FOVEA_INLINE group_of_keys(const float* k, ptrdiff_t stride, const float* q)
      : k_(k), stride_(stride), q_(q, 0), sum_(Isa::spread(0)) {}
  FOVEA_INLINE void add() {
    add_first<columns>(0);
    move(columns);
  }
  FOVEA_INLINE void add_rest(int count) {
    for (; count >= 4; count -= 4) {
      add_first<4>(0);
      move(4);
    }
    if (count == 0) return;
    move(count - 4);
    add_first<4>(4 - count);
  }
  FOVEA_INLINE reg sum() const { return sum_; }

 private:
  template <int Columns>
  FOVEA_INLINE void add_first(int skipped) {
    reg t[Columns];
    columns_of_keys<Isa, Columns>(k_, stride_, t);
    const fours<Isa, 1, view> x(q_);
#pragma GCC unroll 16
    for (int i = 0; i < Columns; ++i)
      if (i >= skipped) sum_ = x.fma(0, i, column_of<Isa>(t, i), sum_);
  }
  FOVEA_INLINE void move(int count) { k_ += count, q_.move(count); }

  const float* k_;
  ptrdiff_t stride_;
  view q_;
  reg sum_;
};

// Prefetches rows, line after line in the order of memory.
class lines_of_rows {
 public:
  lines_of_rows(const float* row, ptrdiff_t stride, int dim) : row_(row), stride_(stride), dim_(dim) {}
  template <int Lines>
  FOVEA_INLINE void fetch() {
#pragma GCC unroll 8
    for (int i = 0; i < Lines; ++i) {
      __builtin_prefetch(row_ + column_);
      column_ += 16;
      if (column_ < dim_) continue;
      column_ = 0;
      row_ += stride_;
    }
  }

 private:
  const float* row_;
  ptrdiff_t stride_;
  int dim_, column_ = 0;
};

// False where keys do not fill one group.
template <class Isa, class Element>
__attribute__((noinline)) bool score_far_rows(const score_rows& z, const key_rows<Element>& keys, int row) {
  const int count = keys.scored(Isa::lanes), dim = static_cast<int>(z.dim);
  if (count == 0) return false;
  constexpr int columns = group_of_keys<Isa>::columns;
  const int half = dim / 2 & -columns, last = count - Isa::lanes;
  const float* q = z.q + row * z.dim;
  float* s = z.s + row * score_stride + keys.from;
  group_of_keys<Isa> group(keys.at, keys.stride, q);
  for (int c = 0; c < half; c += columns) group.add();
  for (int at = 0;;) {
    const int next = at + Isa::lanes < last ? at + Isa::lanes : last;
    group_of_keys<Isa> following(keys.at + next * keys.stride, keys.stride, q);
    lines_of_rows far(keys.at + (next + Isa::lanes) * keys.stride, keys.stride, dim);
    for (int c = 0; c < half; c += columns) {
      far.fetch<columns * Isa::lanes / 8>();
      group.add();
      following.add();
    }
    group.add_rest(dim - 2 * half);
    Isa::store(s + at, group.sum());
    if (at == last) return true;
    at = next;
    group = following;
  }
}

} // namespace fovea::f32
