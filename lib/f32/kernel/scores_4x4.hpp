// Scores for three to eight queries from row-major K, with registers of sixteen lanes. A register of sums
// holds a quarter for each of four queries, and in it a lane for each of four keys. Four rows of K are
// transposed within quarters and stored. A load then broadcasts one column of four keys to all quarters, for
// one or two sets of four queries. That takes half a shuffle per product, or a quarter; a register of sixteen
// keys takes one. The chains are those of the tile: one for each key, over dim, ascending.
#pragma once
#include "f32/kernel/scores_from_rows.hpp"

namespace fovea::f32 {

constexpr int floats_a_group = 4 * scores_4x4_columns;

// Keeps the compiler from moving code across. It would transpose everything first and then multiply, so that
// shuffles and products would not overlap.
FOVEA_INLINE void keep_order() { __asm__ volatile("" ::: "memory"); }

// out[16 * c ..]: column c of each query, four times.
template <class Isa>
FOVEA_INLINE void spread_queries(const float* q, int dim, float* out) {
  for (int c = 0; c < dim; c += 4, out += 64) {
    typename Isa::reg t[4];
    Isa::spread_within_quarters(
        [&](int m) FOVEA_LAMBDA_INLINE { return q + m * static_cast<ptrdiff_t>(dim) + c; }, t);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Isa::store(out + 16 * i, t[i]);
  }
}

// Sixteen columns of four rows of K; column c of all four begins at out + 16 * (c % 4) + 4 * (c / 4).
template <class Isa>
FOVEA_INLINE void transpose_group(const float* k, ptrdiff_t stride, float* out) {
  typename Isa::reg t[4];
  Isa::transpose_quarters([&](int l) FOVEA_LAMBDA_INLINE { return k + l * stride; }, t);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) Isa::store(out + 16 * i, t[i]);
}

struct heads_of_keys { // in one tile: how many, from one to the next in K, and rows of queries for each
  int count;
  ptrdiff_t apart;
  int rows;
};

// Walks the rows of K sixteen columns at a time, step by step and head by head. The last step of a head may
// repeat keys of the step before it.
class walk_4x4 {
 public:
  template <class Element>
  walk_4x4(const key_rows<Element>& keys, const heads_of_keys& heads, int dim, int count)
      : row_(keys.at),
        stride_(keys.stride),
        dim_(dim),
        more_(count - step_4x4),
        left_(more_),
        head_(keys.at),
        apart_(heads.apart),
        heads_left_(heads.count - 1) {}
  FOVEA_INLINE const float* at() const { return row_ + column_; }
  const float* step() const { return row_; } // its first row
  int column() const { return column_; }
  ptrdiff_t stride() const { return stride_; }
  // At the end it stays where it is; what is transposed there is not used.
  FOVEA_INLINE void move() {
    column_ += scores_4x4_columns;
    if (column_ < dim_) return;
    column_ = 0;
    if (left_ == 0 && heads_left_ > 0) {
      row_ = head_ += apart_;
      left_ = more_;
      --heads_left_;
    } else {
      const int keys = left_ < step_4x4 ? left_ : step_4x4;
      row_ += keys * stride_;
      left_ -= keys;
    }
  }

 private:
  const float* row_;
  ptrdiff_t stride_;
  int column_ = 0, dim_, more_, left_; // keys behind the first step of a head, and behind this one
  const float* head_;
  ptrdiff_t apart_;
  int heads_left_;
};

// What is prefetched: the rows of the next step in the order of memory, as much of them as of this step is
// used. `left`: numbers until the next row, which begins `gap` numbers behind the end of this one.
struct lines_ahead {
  const float* at;
  int left, dim;
  ptrdiff_t gap;
  FOVEA_INLINE void fetch_two() {
    __builtin_prefetch(at);
    __builtin_prefetch(at + 16);
    left -= 32;
    const bool ends = left <= 0;
    at = forget_origin(at + 32 + (ends ? gap : 0));
    left = ends ? dim : left;
  }
};
inline lines_ahead lines_ahead_of(const walk_4x4& walk, int dim) {
  const int first = walk.column() * step_4x4, row = first / dim, column = first - row * dim;
  return {walk.step() + (step_4x4 + row) * walk.stride() + column, dim - column, dim, walk.stride() - dim};
}

// The products of sixteen columns, for one or two sets of four queries, whose columns begin `set` numbers
// apart. Between them the next sixteen are transposed, and as much of the step after that is prefetched.
template <class Isa, int Sets>
FOVEA_INLINE void multiply_groups(const float* q, ptrdiff_t set, const float* k, const walk_4x4& next,
                                  float* transposed, lines_ahead far,
                                  typename Isa::reg (&acc)[Sets][groups_4x4]) {
  const float* row = next.at();
#pragma GCC unroll 16
  for (int c = 0; c < scores_4x4_columns; ++c, q += 16) {
    typename Isa::reg x[Sets];
#pragma GCC unroll 2
    for (int i = 0; i < Sets; ++i) x[i] = Isa::load(q + i * set);
    if (c % (scores_4x4_columns / groups_4x4) == 0) {
      transpose_group<Isa>(row, next.stride(), transposed);
      row = forget_origin(row + 4 * next.stride());
      transposed += floats_a_group;
    }
    far.fetch_two();
#pragma GCC unroll 8
    for (int g = 0; g < groups_4x4; ++g) {
      const auto y = Isa::spread_four(k + floats_a_group * g + 16 * (c % 4) + 4 * (c / 4));
#pragma GCC unroll 2
      for (int i = 0; i < Sets; ++i) acc[i][g] = Isa::fma(y, x[i], acc[i][g]);
    }
    keep_order();
  }
}

// Four rows of queries of each head, or five to eight: the second set of four then ends with the last row,
// and may repeat rows of the first. What the first products of a head need is transposed during the last ones
// of the head before it.
template <class Isa, int Sets, class Element>
__attribute__((noinline)) void score_all_4x4(const score_rows& z, const key_rows<Element>& keys,
                                             heads_of_keys heads, float* scratch) {
  const int count = keys.scored(step_4x4), dim = static_cast<int>(z.dim);
  const ptrdiff_t set = 16 * z.dim, second = heads.rows - 4; // the row that the second set begins with
  float *q = scratch, *transposed = q + Sets * set, *other = transposed + floats_4x4;
  walk_4x4 next(keys, heads, dim, count);
  const float* first = next.at();
  for (int g = 0; g < groups_4x4; ++g)
    transpose_group<Isa>(first + 4 * g * keys.stride, keys.stride, transposed + floats_a_group * g);
  for (int row = 0; row < heads.count * heads.rows; row += heads.rows) {
    for (int i = 0; i < Sets; ++i) spread_queries<Isa>(z.q + (row + i * second) * z.dim, dim, q + i * set);
    float* s = z.s + row * score_stride + keys.from;
    for (int at = 0; at < count; at += step_4x4) {
      if (at + step_4x4 > count) at = count - step_4x4;
      typename Isa::reg acc[Sets][groups_4x4];
#pragma GCC unroll 2
      for (auto& sums : acc)
#pragma GCC unroll 8
        for (auto& x : sums) x = Isa::spread(0);
      for (int c = 0; c < dim; c += scores_4x4_columns) {
        next.move();
        multiply_groups<Isa, Sets>(q + 16 * c, set, transposed, next, other, lines_ahead_of(next, dim), acc);
        float* const done = transposed;
        transposed = other;
        other = done;
      }
#pragma GCC unroll 2
      for (int i = 0; i < Sets; ++i)
#pragma GCC unroll 8
        for (int g = 0; g < groups_4x4; g += 4)
          Isa::store_quarters(s + i * second * score_stride + at + 4 * g, score_stride, acc[i] + g);
    }
  }
}

// Does nothing and returns false where keys do not fill one step.
template <class Isa, class Element>
FOVEA_INLINE bool score_4x4(const score_rows& z, const key_rows<Element>& keys, const heads_of_keys& heads,
                            float* scratch) {
  if (keys.scored(step_4x4) == 0) return false;
  if (heads.rows > 4)
    score_all_4x4<Isa, 2>(z, keys, heads, scratch);
  else
    score_all_4x4<Isa, 1>(z, keys, heads, scratch);
  return true;
}

} // namespace fovea::f32
