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

// Rows that go together.
struct few_rows {
  int row, count;
  bool finishes;
};
template <class Isa>
using all_few_rows = few_rows[Isa::rows + 4];

// Rows row .. row + rows-1 that have something to do: four at once where they see the same keys. Three rows
// alone are four, too: tiles of floats fill up groups.
template <class Isa>
__attribute__((noinline)) int find_few(const block& b, int row, int rows, all_few_rows<Isa>& found) {
  constexpr int most = std::is_void_v<stored_shape<Isa, 4>> ? 1 : 4;
  const int end = row + (rows == 3 && most == 4 ? 4 : rows);
  int count = 0;
  for (int r = row, n; r < end; r += n) {
    n = end - r >= most && act_together(b, r, most) ? most : 1;
    if (group_works(b, r, n)) found[count++] = {r, n, b.writes_output && r + n <= b.finished_after};
  }
  return count;
}

// Calls use(shape, group) for them.
template <class Isa, class Element, class Use>
FOVEA_INLINE void each_few(const block& b, int row, int rows, Use use) {
  all_few_rows<Isa> found;
  const int count = find_few<Isa>(b, row, rows, found);
  for (int i = 0; i < count; ++i) {
    value_group<Element> g{};
    g.row = found[i].row;
    g.finishes = found[i].finishes;
    if constexpr (!std::is_void_v<stored_shape<Isa, 4>>)
      if (found[i].count > 1) {
        use(stored_shape<Isa, 4>{}, g);
        continue;
      }
    use(stored_shape<Isa, 1>{}, g);
  }
}

// Four keys of all columns of a tile, for some rows of its sums. As in add_key_bytes, step by step.
template <class Isa, int First, int Rows, bool OnTop, class Shape>
FOVEA_INLINE void add_four_keys(const int8_t* at, const float* w, ptrdiff_t stride,
                                accumulator<Isa, Shape>& acc) {
  constexpr int together = Isa::lanes == 16 ? Shape::vectors : 1;
#pragma GCC unroll 8
  for (int first = 0; first < Shape::vectors; first += together) {
    if constexpr (OnTop && Isa::shuffles_bytes && Isa::lanes == 8)
      w = forget_origin(w); // weights are loaded again: sums need the registers
    quad<Isa> x[together];
#pragma GCC unroll 8
    for (int n = 0; n < together; ++n) x[n] = quad<Isa>(at + (first + n) * 1024);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 8
      for (int n = 0; n < together; ++n) {
        const auto y = OnTop ? x[n].step_on_top(i) : x[n].step(i);
#pragma GCC unroll 4
        for (int m = 0; m < Rows; ++m) {
          auto& sum = acc.at[First + m][first + n];
          sum = fma_by(w[m * stride + i], y, sum);
        }
      }
  }
}
template <int Lines>
FOVEA_INLINE void prefetch_lines(uintptr_t at) { // which may lie outside memory
#pragma GCC unroll 8
  for (uintptr_t i = 0; i < Lines; ++i) __builtin_prefetch(reinterpret_cast<const void*>(at + 64 * i));
}

// What a pass over values reads behind its last panel: the first panel of the next columns, or of the next
// head. The address may lie outside memory.
template <class Shape>
uintptr_t read_after_values(const plan& p, const int8_t* first, int column) {
  constexpr int columns = 16 * Shape::vectors;
  const ptrdiff_t next = column + 2 * columns <= p.v_dim ? ptrdiff_t{64} * columns
                                                         : p.stored.v.head - ptrdiff_t{64} * column;
  return reinterpret_cast<uintptr_t>(first) + static_cast<uintptr_t>(next);
}

// Sums of columns from `column` on, a multiple of sixteen, over all keys that the rows see. One row
// prefetches each panel while it reads the one before it.
template <class Isa, class Shape, bool OnTop = false>
FOVEA_INLINE void add_quads(const tile_job& job, const block& b, int32_t kv_head, int row, int column,
                            accumulator<Isa, Shape>& acc) {
  const plan& p = *job.p;
  const float* weights = job.w->s + row * score_stride;
  const bool prefetches = OnTop && Isa::shuffles_bytes && p.core.prefetches_bytes;
  acc.clear();
  const ptrdiff_t panel_bytes = 64 * static_cast<ptrdiff_t>(p.stored.v.width);
  for (int run = b.runs.first; run < 2; ++run)
    for (int key = b.runs.from[run][row], to = b.runs.to[run][row]; key < to;) {
      const stored_place place = stored_values(p, kv_head, b.first_key + (key & -64));
      const int end = static_cast<int>(smaller(to, place.end - b.first_key));
      const int8_t* const first = static_cast<const int8_t*>(place.at) + column * 64;
      for (const int8_t* at = first; key < end; at += panel_bytes) {
        const int next = (key | 63) + 1 < end ? (key | 63) + 1 : end;
        const uintptr_t ahead = next == to
                                    ? read_after_values<Shape>(p, first, column)
                                    : reinterpret_cast<uintptr_t>(at) + static_cast<uintptr_t>(panel_bytes);
        if (prefetches && p.core.opens_pages) open_pages(ahead, panel_bytes);
        for (int four = key & -4; four < next; four += 4) {
          const float* w = weights + four;
          ptrdiff_t stride = score_stride;
          float edge[4 * Shape::rows];
          if (four < key || four + 4 > next) { // keys that the rows do not see get a weight of 0
            for (int m = 0; m < Shape::rows; ++m)
              for (int i = 0; i < 4; ++i)
                edge[4 * m + i] = four + i < key || four + i >= next ? 0 : w[m * score_stride + i];
            w = edge;
            stride = 4;
          }
          const int step = (four & 63) * 16;
          if (prefetches)
            prefetch_lines<Shape::vectors>(ahead + static_cast<uintptr_t>(step * Shape::vectors));
          add_four_keys<Isa, 0, Shape::rows, OnTop>(at + step, w, stride, acc);
        }
        key = next;
      }
    }
}

template <class Isa, class Shape>
FOVEA_INLINE bool add_byte_tile(const tile_job& job, const block& b, int32_t kv_head,
                                const value_phase<s8_element>& z, const value_group<s8_element>& g, int c) {
  constexpr bool on_top = is_on_top<Shape>;
  accumulator<Isa, Shape> acc;
  add_quads<Isa, Shape, on_top>(job, b, kv_head, g.row, c, acc);
  if constexpr (on_top)
    if (!take_from_top(acc)) return false;
  store_tile(z, g, places_of<Shape, s8_element>(z.v_dim, c), acc);
  return true;
}

template <class Isa>
__attribute__((noinline)) void sum_bytes(const tile_job& job, const block& b, int32_t kv_head, int row,
                                         int column, float* sums) {
  accumulator<Isa, shape<1, 1>> acc;
  add_quads<Isa, shape<1, 1>>(job, b, kv_head, row, column, acc);
  acc.at[0][0].store(sums);
}

// Columns from `first` on that fill no tile, or whose sums are infinite in it, row by row. The last columns
// of a row stand in a vector that ends with the row: it begins among the sixteen before.
template <class Isa>
__attribute__((noinline)) void add_rest_of_bytes(const tile_job& job, const block& b, int32_t kv_head,
                                                 const value_phase<s8_element>& z, value_group<s8_element> g,
                                                 int rows, int first) {
  for (const int end = g.row + rows; g.row < end; ++g.row)
    for (int c = first; c < z.v_dim; c += 16) {
      const int at = column_at(c, z.v_dim);
      float sums[32];
      if (at < c) sum_bytes<Isa>(job, b, kv_head, g.row, c - 16, sums);
      sum_bytes<Isa>(job, b, kv_head, g.row, c, sums + 16);
      accumulator<Isa, shape<1, 1>> acc;
      acc.at[0][0] = f32x16<Isa>::load(sums + 16 - (c - at));
      if (z.v_dim < 16)
        store_tile(z, g, columns<s8_element>{0, 0, z.v_dim}, acc);
      else
        store_tile(z, g, whole_columns<s8_element>{{c, at, 16}, 0}, acc);
    }
}

template <class Isa, class Shape>
__attribute__((noinline)) void add_byte_tiles(const tile_job& job, const block& b, int32_t kv_head,
                                              const value_phase<s8_element>& z,
                                              const value_group<s8_element>& g) {
  constexpr int width = 16 * Shape::vectors;
  int c = 0;
  while (c + width <= z.v_dim && add_byte_tile<Isa, Shape>(job, b, kv_head, z, g, c)) c += width;
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
    store_tile(z, g, whole_columns<s8_element>{{c, column, 1}, 0}, acc);
  }
}

template <class Isa>
void add_value_bytes(const tile_job& job, const block& b, int heads, int rows) {
  for (int h = 0, row = 0; h < heads; ++h, row += rows) {
    const int32_t kv_head = job.kv_head + h;
    const value_phase<s8_element> z(job, b, {nullptr, 0, 0, nullptr, b.first_key, kv_head});
    if constexpr (Isa::lanes > 1) {
      each_few<Isa, s8_element>(b, row, rows, [&](auto s, const value_group<s8_element>& few) {
        add_byte_tiles<Isa, decltype(s)>(job, b, kv_head, z, few);
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
}

} // namespace fovea::f32
