// Scores of a block: rows of q times panels of k, for the tiles of keys that some row of a group sees.
#pragma once
#include "f32/kernel/block.hpp"
#include "f32/kernel/kv_view.hpp"
#include "f32/kernel/shapes.hpp"

namespace fovea::f32 {

// For few rows memory is the limit: each load prefetches the number that comes `Floats` later, earlier than
// the hardware would. With sixteen lanes that is slower.
template <int Floats>
struct load_ahead : load_whole {
  static FOVEA_INLINE void fetch(const float* p) { __builtin_prefetch(p + Floats); }
};
// One row prefetches the next kilobyte, four rows the next page, at whose begin the hardware's prefetcher
// stops.
template <class Isa, class Shape>
using load_of_keys =
    std::conditional_t<(Shape::rows == 1 && Isa::lanes < 16), load_ahead<256>,
                       std::conditional_t<is_four_row_shape<Isa, Shape>, load_ahead<1024>, load_whole>>;

struct score_rows { // queries and their scores
  const float* q;
  ptrdiff_t dim;
  float* s;
};

template <class Isa, class Shape>
FOVEA_INLINE void score_tile(const score_rows& z, const key_panels& k, int row, int key) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  const float* panel = k.at + static_cast<ptrdiff_t>((key & -16) - k.from) * z.dim + key % 16;
  tile(rows_view<Isa, Shape::rows, ptrdiff_t>(z.q + row * z.dim, z.dim),
       panels_view{panel, Shape::lanes < 16 ? 8 : 16 * z.dim, 16}, static_cast<int>(z.dim),
       load_of_keys<Isa, Shape>{}, acc);
  float* s = z.s + row * score_stride + key;
  acc.each([&](int m, int n, auto& x)
               FOVEA_LAMBDA_INLINE { x.store(s + m * score_stride + n * Shape::lanes); });
}

// Half of a tile's keys, for groups of rows that see no more of them: on the diagonal, and at the last key.
// Faster where a tile has more than eight registers of sums; that many are needed to hide the latency of a
// product. Gains 2 to 5 % of causal 64, 1 to 3 % of causal 128.
template <class Isa, class Shape>
constexpr bool has_half = Shape::rows * Shape::vectors * Shape::lanes > 8 * Isa::lanes &&
                          (Shape::vectors > 1 || Isa::lanes == 8);
template <class Shape>
using half_of = std::conditional_t<(Shape::vectors > 1), fewer_vectors<Shape>, shape<Shape::rows, 1, 8>>;

// One run of keys: a row's keys lie in from .. to-1 of its run, so a tile is needed if its last row's end is
// behind its first key.
template <class Isa, class Shape>
__attribute__((noinline)) void score_groups(const score_rows& rows, const key_panels& keys,
                                            const int32_t* from, const int32_t* to, int first_row,
                                            int end_row) {
  const score_rows z = rows; // copies that no store of a vector can change: their fields stay in registers
  const key_panels k = keys;
  const int most = to[end_row - 1] < k.to ? to[end_row - 1] : k.to;
  int key = from[first_row] & -16;
  if (key < k.from) key = k.from;
  by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
    using whole = decltype(tile_shape);
    constexpr int width = whole::vectors * whole::lanes;
    for (; key + width - whole::lanes < most; key += width)
      for (int r = first_row; r < end_row; r += whole::rows) {
        const int begin = from[r], end = to[r + whole::rows - 1], middle = key + width / 2;
        if (key >= end || key + width <= begin) continue;
        if constexpr (has_half<Isa, whole>)
          if (end <= middle || begin >= middle) {
            score_tile<Isa, half_of<whole>>(z, k, r, end <= middle ? key : middle);
            continue;
          }
        score_tile<Isa, whole>(z, k, r, key);
      }
  });
}

// Where all rows see the same keys of a block, AVX-512 takes each 24 rows in tiles of 6 x 64: ten loads for
// 24 products, where 12 x 32 takes fourteen. Gains 4 to 8 % on Emerald Rapids while the other thread of the
// core is busy, less than 1 % else.
constexpr int rows_in_6x64 = 24;

// All rows of a head, one run.
template <class Isa>
FOVEA_INLINE void score_panels(const tile_job& job, const key_runs& runs, const key_panels& k, int run,
                               const rows_of_head& rows) {
  const score_rows z{job.w->q, job.p->dim, job.w->s};
  const int32_t *from = runs.from[run], *to = runs.to[run];
  const int row = rows.from;
  if constexpr (Isa::four_row_shapes)
    if (job.chosen.four_row_tiles)
      return score_groups<Isa, typename Isa::four_row_scores>(z, k, from, to, row, row + 4);
  if constexpr (Isa::lanes ==
                16) // eight rows by one panel are too few chains to hide the latency of a product
    if (rows.same_keys && rows.count % 16 == 0 && k.to == k.from + 16)
      return score_groups<Isa, shape<16, 1>>(z, k, from, to, row, row + rows.count);
  int first_row = row;
  if constexpr (Isa::lanes == 16)
    if (runs.same == same_keys::all && rows.count >= rows_in_6x64) {
      first_row += rows.count / rows_in_6x64 * rows_in_6x64;
      score_groups<Isa, shape<6, 4>>(z, k, from, to, row, first_row);
    }
  by_groups<Isa>(row + rows.count - first_row, rows.same_keys, [&](auto s, int first, int end) {
    score_groups<Isa, decltype(s)>(z, k, from, to, first_row + first, first_row + end);
  });
}

} // namespace fovea::f32
