// Scores for one to four queries from rows of K that are far apart, as with tokens of several heads. A step
// of many rows would meet in few sets of the first cache and lose lines before all their columns are used. So
// one group of keys after another is scored. The second half of its columns is added together with the first
// half of the next group's, because one chain alone would wait for itself. The chains are those of the tile:
// one for each key, over dim, ascending.
#pragma once
#include "f32/kernel/lines_of_rows.hpp"
#include "f32/kernel/scores_from_rows.hpp"

namespace fovea::f32 {

// Most rows of queries that take this path.
template <class Isa>
constexpr int most_far_rows = !features::few_row_tiles ? 0
                              : Isa::lanes == 8        ? 4
                              : Isa::lanes > 8         ? 1
                                                       : 0;

// A group of keys: as many as a register has lanes.
template <class Isa, int Rows>
class group_of_keys {
 public:
  using reg = typename Isa::reg;
  using view = rows_view<Isa, Rows, ptrdiff_t>;
  static constexpr int columns = Isa::lanes == 16 ? 16 : Isa::columns_at_once;

  FOVEA_INLINE group_of_keys(const float* k, ptrdiff_t stride, const float* q, ptrdiff_t dim)
      : k_(k), stride_(stride), q_(q, dim) {
#pragma GCC unroll 4
    for (auto& sum : sum_) sum = Isa::spread(0);
  }
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
  FOVEA_INLINE void store(float* s) const {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) Isa::store(s + m * score_stride, sum_[m]);
  }

 private:
  template <int Columns>
  FOVEA_INLINE void add_first(int skipped) {
    reg t[Columns];
    columns_of_keys<Isa, Columns>(k_, stride_, t);
    const fours<Isa, Rows, view> x(q_);
#pragma GCC unroll 16
    for (int i = 0; i < Columns; ++i) {
      if (i < skipped) continue;
      const reg y = column_of<Isa>(t, i);
#pragma GCC unroll 4
      for (int m = 0; m < Rows; ++m) sum_[m] = x.fma(m, i, y, sum_[m]);
    }
  }
  FOVEA_INLINE void move(int count) {
    k_ += count;
    q_.move(count);
  }

  const float* k_;
  ptrdiff_t stride_;
  view q_;
  reg sum_[Rows];
};

// False where keys do not fill one group.
template <class Isa, int Rows, class Element>
__attribute__((noinline)) bool score_far_groups(const score_rows& z, const key_rows<Element>& keys, int row) {
  const int count = keys.scored(Isa::lanes), dim = static_cast<int>(z.dim);
  if (count == 0) return false;
  constexpr int columns = group_of_keys<Isa, Rows>::columns;
  const int half = dim / 2 & -columns, last = count - Isa::lanes;
  const float* q = z.q + row * z.dim;
  float* s = z.s + row * score_stride + keys.from;
  group_of_keys<Isa, Rows> group(keys.at, keys.stride, q, dim);
  for (int c = 0; c < half; c += columns) group.add();
  for (int at = 0;;) {
    const int next = at + Isa::lanes < last ? at + Isa::lanes : last;
    group_of_keys<Isa, Rows> following(keys.at + next * keys.stride, keys.stride, q, dim);
    lines_of_rows far(keys.at + (next + Isa::lanes) * keys.stride, keys.stride, dim);
    for (int c = 0; c < half; c += columns) {
      far.fetch<columns * Isa::lanes / 8>();
      group.add();
      following.add();
    }
    group.add_rest(dim - 2 * half);
    group.store(s + at);
    if (at == last) return true;
    at = next;
    group = following;
  }
}

template <class Isa, class Element>
FOVEA_INLINE bool score_far_rows(const score_rows& z, const key_rows<Element>& keys, int row, int in_groups) {
  if constexpr (most_far_rows<Isa> > 1) {
    if (in_groups == 2) return score_far_groups<Isa, 2>(z, keys, row);
    if (in_groups > 2) return score_far_groups<Isa, 4>(z, keys, row);
  }
  return score_far_groups<Isa, 1>(z, keys, row);
}

} // namespace fovea::f32
