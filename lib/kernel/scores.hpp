// Scores of a block: rows of q times panels of k, for the tiles of keys that some row of a group sees.
#pragma once
#include <type_traits>

#include "kernel/visit.hpp"

namespace fovea {

struct packed_keys_view { // keys from .. to-1 of the block stand as panels at `at`; from is a multiple of 16
  const float* at;
  int from, to;
};

// For few rows memory is the limit: what comes so many floats later is fetched ahead of the hardware. With sixteen lanes that is slower.
template <int Floats>
struct load_ahead : load_whole {
  static FOVEA_INLINE void fetch(const float* p) { __builtin_prefetch(p + Floats); }
};
// One row asks for the next kilobyte, several for the next page of memory: there the hardware begins anew.
template <class Isa, class Shape>
using load_of_keys = std::conditional_t<(Shape::rows == 1 && Isa::lanes < 16), load_ahead<256>,
                                        std::conditional_t<of_few<Isa, Shape>, load_ahead<1024>, load_whole>>;

template <class Isa, class Shape>
FOVEA_INLINE void score_tile(const visit& z, const packed_keys_view& k, int row, int key) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  const float* panel = k.at + static_cast<ptrdiff_t>((key & -16) - k.from) * z.dim + key % 16;
  const ptrdiff_t dim = z.dim;
  tile(rows_view<Isa, Shape::rows, ptrdiff_t>(z.q + row * dim, dim), panels_view{panel, Shape::lanes < 16 ? 8 : 16 * dim, 16}, z.dim,
       load_of_keys<Isa, Shape>{}, acc);
  float* s = z.s + row * score_stride + key;
  acc.each([&](int m, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(s + m * score_stride + n * Shape::lanes); });
}

// Half of a tile's keys, for groups of rows that see no more of them: on the diagonal, and behind the last key. Worth it where more than
// eight registers are summed up; so many products are on their way anyway.
template <class Isa, class Shape>
constexpr bool has_half = Shape::rows * Shape::vectors * Shape::lanes > 8 * Isa::lanes && (Shape::vectors > 1 || Isa::lanes == 8);
template <class Shape>
using half_of = std::conditional_t<(Shape::vectors > 1), fewer_vectors<Shape>, shape<Shape::rows, 1, 8>>;

// One run of keys: a row's keys lie in from .. to-1 of its run, so a tile is needed if its last row's end is behind its first key.
template <class Isa, class Shape>
__attribute__((noinline)) void score_groups(const visit& shared, const packed_keys_view& keys, int run, int first_row, int end_row) {
  const visit z = shared; // copies that no store of a vector can change: their fields stay in registers
  const packed_keys_view k = keys;
  const int32_t *from = shared.from[run], *to = shared.to[run];
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

// Keys that all rows see, as many as whole wide tiles take; returns what is left of the panels.
template <class Isa>
__attribute__((noinline)) packed_keys_view wide_scores(const visit& shared, const packed_keys_view& keys, int first_row, int end_row) {
  using wide = typename Isa::wide;
  constexpr int width = wide::vectors * wide::lanes;
  const visit z = shared;
  const packed_keys_view k = keys;
  int key = k.from;
  for (; key + width <= k.to; key += width)
    for (int r = first_row; r < end_row; r += wide::rows) score_tile<Isa, wide>(z, k, r, key);
  return {k.at + static_cast<ptrdiff_t>(key - k.from) * z.dim, key, k.to};
}

// All rows of a head.
template <class Isa>
FOVEA_INLINE void score_rows(const visit& z, const packed_keys_view& k, int run, const rows_of_head& rows) {
  const int row = rows.from;
  if constexpr (Isa::shapes_for_few)
    if (rows.few) return score_groups<Isa, typename Isa::scores_of_few>(z, k, run, row, row + 4);
  if constexpr (Isa::lanes == 16) // on one panel eight rows are not products enough to hide how long one takes
    if (rows.alike && rows.count % 16 == 0 && k.to == k.from + 16) return score_groups<Isa, shape<16, 1>>(z, k, run, row, row + rows.count);
  const auto score = [&](const packed_keys_view& some, int first, int end) FOVEA_LAMBDA_INLINE {
    by_groups<Isa>(end - first, rows.alike,
                   [&](auto s, int from, int to) { score_groups<Isa, decltype(s)>(z, some, run, first + from, first + to); });
  };
  int first = row;
  if constexpr (has_wide<Isa>)
    if (const int wide = rows_in_wide<Isa>(z, rows)) {
      first += wide;
      score(wide_scores<Isa>(z, k, row, first), row, first);
    }
  score(k, first, row + rows.count);
}

} // namespace fovea
