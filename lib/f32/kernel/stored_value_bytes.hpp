// Weights times values of bytes, straight from the panels that integer calls read: four keys of sixteen
// columns are 64 bytes.
#pragma once
#include "f32/kernel/stored_scores.hpp"
#include "f32/kernel/values.hpp"

namespace fovea::f32 {

// Do these rows see the same keys of the block, and does none of them finish before another? A row that
// finishes is written with its group, and never comes back.
inline bool act_together(const block& b, int row, int rows) {
  const key_runs& runs = b.runs;
  for (const int finished : {b.finished_before, b.finished_after})
    if (b.writes_output && finished > row && finished < row + rows) return false;
  for (int run = runs.first; run < 2; ++run)
    for (int r = row + 1; r < row + rows; ++r)
      if (runs.from[run][r] != runs.from[run][row] || runs.to[run][r] != runs.to[run][row]) return false;
  return true;
}

// Calls use(shape, group) for all rows that have something to do: several at once where they see the same
// keys.
template <class Isa, class Element, class Use>
FOVEA_INLINE void each_few(const block& b, int row, int rows, Use use) {
  const auto group_at = [&](int r, int count) {
    value_group<Element> g{};
    g.row = r;
    g.finishes = b.writes_output && r + count <= b.finished_after;
    return g;
  };
  by_few_rows<Isa>(row, rows, [&](auto shape_of_rows, int r) FOVEA_LAMBDA_INLINE {
    using whole = decltype(shape_of_rows);
    if (whole::rows > 1 && act_together(b, r, whole::rows)) {
      if (group_works(b, r, whole::rows)) use(whole{}, group_at(r, whole::rows));
      return;
    }
    for (int i = r; i < r + whole::rows; ++i)
      if (group_works(b, i, 1)) use(stored_shape<Isa, 1>{}, group_at(i, 1));
  });
}

// Sums of columns from `column` on, a multiple of sixteen, over all keys that the rows see.
template <class Isa, class Shape>
FOVEA_INLINE void add_quads(const tile_job& job, const block& b, int32_t kv_head, int row, int column,
                            accumulator<Isa, Shape>& acc) {
  const plan& p = *job.p;
  const float* weights = job.w->s + row * score_stride;
  acc.clear();
  for (int run = b.runs.first; run < 2; ++run)
    for (int key = b.runs.from[run][row], to = b.runs.to[run][row]; key < to;) {
      const int panel = key & -64, end = panel + 64 < to ? panel + 64 : to;
      const auto* at = static_cast<const int8_t*>(stored_values(p, kv_head, b.first_key + panel).at) +
                       column * 64;
      for (int four = key & -4; four < end; four += 4) {
        const float* w = weights + four;
        ptrdiff_t stride = score_stride;
        float edge[4 * Shape::rows];
        if (four < key || four + 4 > end) { // keys that the rows do not see get a weight of 0
          for (int m = 0; m < Shape::rows; ++m)
            for (int i = 0; i < 4; ++i)
              edge[4 * m + i] = four + i < key || four + i >= end ? 0 : w[m * score_stride + i];
          w = edge;
          stride = 4;
        }
#pragma GCC unroll 4
        for (int n = 0; n < Shape::vectors; ++n) {
          const quad<Isa> x(at + (four - panel) * 16 + n * 1024);
#pragma GCC unroll 4
          for (int i = 0; i < 4; ++i) {
            const auto y = x.step(i);
#pragma GCC unroll 4
            for (int m = 0; m < Shape::rows; ++m) acc.at[m][n] = fma_by(w[m * stride + i], y, acc.at[m][n]);
          }
        }
      }
      key = end;
    }
}

// The last columns of a row stand in a vector that ends with the row: it begins in the panel before.
template <class Isa>
__attribute__((noinline)) void add_last_bytes(const tile_job& job, const block& b, int32_t kv_head,
                                              const value_phase<s8_element>& z,
                                              const value_group<s8_element>& g) {
  using two = shape<1, 2>;
  using one = shape<1, 1>;
  const int column = z.width - 16;
  accumulator<Isa, one> last;
  if (z.v_dim < 16) {
    add_quads<Isa, one>(job, b, kv_head, g.row, 0, last);
    return store_tile(z, g, columns<s8_element>{0, 0, z.v_dim}, last);
  }
  accumulator<Isa, two> both;
  add_quads<Isa, two>(job, b, kv_head, g.row, column - 16, both);
  float sums[32];
  both.at[0][0].store(sums);
  both.at[0][1].store(sums + 16);
  last.at[0][0] = f32x16<Isa>::load(sums + z.v_dim % 16);
  store_tile(z, g, whole_columns<s8_element>{{column, z.v_dim - 16, 16}}, last);
}

template <class Isa, class Shape>
FOVEA_INLINE void add_byte_tile(const tile_job& job, const block& b, int32_t kv_head,
                                const value_phase<s8_element>& z, const value_group<s8_element>& g, int c) {
  accumulator<Isa, Shape> acc;
  add_quads<Isa, Shape>(job, b, kv_head, g.row, c, acc);
  store_tile(z, g, whole_columns<s8_element>{{c, c, 16}}, acc);
}

// Columns from c on that fill no tile, row by row.
template <class Isa>
__attribute__((noinline)) void add_rest_of_bytes(const tile_job& job, const block& b, int32_t kv_head,
                                                 const value_phase<s8_element>& z, value_group<s8_element> g,
                                                 int rows, int first) {
  for (const int end = g.row + rows; g.row < end; ++g.row) {
    int c = first;
    for (; c + 16 <= z.v_dim; c += 16) add_byte_tile<Isa, shape<1, 1>>(job, b, kv_head, z, g, c);
    if (c < z.v_dim) add_last_bytes<Isa>(job, b, kv_head, z, g);
  }
}

template <class Isa, class Shape>
__attribute__((noinline)) void add_byte_tiles(const tile_job& job, const block& b, int32_t kv_head,
                                              const value_phase<s8_element>& z,
                                              const value_group<s8_element>& g) {
  constexpr int width = 16 * Shape::vectors;
  int c = 0;
  for (; c + width <= z.v_dim; c += width) add_byte_tile<Isa, Shape>(job, b, kv_head, z, g, c);
  if (c < z.v_dim) add_rest_of_bytes<Isa>(job, b, kv_head, z, g, Shape::rows, c);
}

// Cores without vectors: column by column.
template <class Isa>
void add_bytes_by_columns(const tile_job& job, const block& b, int32_t kv_head,
                          const value_phase<s8_element>& z, value_group<s8_element>& g) {
  const float* s = z.s + g.row * score_stride;
  for (int c = 0; c < z.width; ++c) {
    const int column = z.v_dim < 16 ? c : column_at(c & -16, z.v_dim) + c % 16;
    if (column >= z.v_dim) break;
    accumulator<Isa, shape<1, 1, 1>> acc;
    acc.clear();
    for (int run = b.runs.first; run < 2; ++run)
      for (int key = b.runs.from[run][g.row], to = b.runs.to[run][g.row]; key < to;) {
        const int panel = key & -64, end = panel + 64 < to ? panel + 64 : to;
        const lane_of_bytes lane = value_lane(
            static_cast<const int8_t*>(stored_values(*job.p, kv_head, b.first_key + panel).at), column);
        for (; key < end; ++key)
          acc.at[0][0] = fma_by(s[key], floats<Isa, 1>::all(lane[key - panel]), acc.at[0][0]);
      }
    store_tile(z, g, whole_columns<s8_element>{{c, column, 1}}, acc);
  }
}

template <class Isa>
void add_value_bytes(const tile_job& job, const block& b, int32_t kv_head, int row, int rows) {
  const value_phase<s8_element> z(job, b, {nullptr, 0, 0, nullptr, b.first_key, kv_head});
  if constexpr (Isa::lanes > 1) {
    each_few<Isa, s8_element>(b, row, rows, [&](auto s, const value_group<s8_element>& g) {
      add_byte_tiles<Isa, decltype(s)>(job, b, kv_head, z, g);
    });
  } else {
    for (int r = row; r < row + rows; ++r) {
      if (!group_works(b, r, 1)) continue;
      value_group<s8_element> g{};
      g.row = r;
      g.finishes = b.writes_output && r < b.finished_after;
      add_bytes_by_columns<Isa>(job, b, kv_head, z, g);
    }
  }
}

} // namespace fovea::f32
