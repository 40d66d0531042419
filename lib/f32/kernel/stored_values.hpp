// Weights times values of another type, straight from where they stand. The chains are those of floats, and
// results join the sums of floats: values.hpp.
#pragma once
#include "f32/kernel/stored_scores.hpp"
#include "f32/kernel/stored_value_bytes.hpp"

namespace fovea::f32 {

template <class Isa, class Shape, class Element>
FOVEA_INLINE void stored_value_tile(const value_phase<Element>& z, const key_runs& runs,
                                    const value_group<Element>& g, whole_columns<Element> c) {
  value_tile_of_rows<Isa, Shape>(z, runs, g, c, load_stored<Isa, Shape, Element>{});
}

// Columns from c on that fill no tile, row by row.
template <class Isa, class Element>
__attribute__((noinline)) void add_rest_of_rows(const value_phase<Element>& z, const key_runs& runs,
                                                value_group<Element> g, int rows, int first) {
  for (const int end = g.row + rows; g.row < end; ++g.row)
    for (int c = first; c < z.width; c += 16)
      stored_value_tile<Isa, shape<1, 1>>(z, runs, g, places_of<shape<1, 1>, Element>(z.v_dim, c));
}

template <class Isa, class Shape, class Element>
__attribute__((noinline)) void stored_value_tiles(const value_phase<Element>& z, const key_runs& runs,
                                                  const value_group<Element>& g) {
  constexpr int width = 16 * Shape::vectors;
  int c = 0;
  for (; c + width <= z.width; c += width)
    stored_value_tile<Isa, Shape>(z, runs, g, places_of<Shape, Element>(z.v_dim, c));
  if (c < z.width) add_rest_of_rows<Isa>(z, runs, g, Shape::rows, c);
}

// Cores without vectors, and rows that are shorter than a vector, take the code that is there for hidden
// keys. Rows of bytes take sixteen columns at a time: panels are their fast layout.
template <class Isa, class Element>
__attribute__((noinline)) void add_stored_rows(const value_phase<Element>& z, const block& b, int row,
                                               int rows) {
  if constexpr (Isa::lanes > 1 && Element::bytes > 1)
    if (z.v_dim >= 16)
      return each_few<Isa, Element>(b, row, rows, [&](auto s, const value_group<Element>& g) {
        stored_value_tiles<Isa, decltype(s)>(z, b.runs, g);
      });
  for (int r = row; r < row + rows; ++r) {
    if (!group_works(b, r, 1)) continue;
    value_group<Element> g{};
    g.row = r;
    g.finishes = b.writes_output && r < b.finished_after;
    if (z.v_dim < 16)
      short_values_of_rows<Isa>(z, b.runs, g, 1, 0);
    else if constexpr (Isa::lanes > 1)
      add_rest_of_rows<Isa>(z, b.runs, g, 1, 0);
    else
      for (int c = 0; c < z.width; c += 4)
        exact_values<Isa, 4>(z, b.runs, g, 1, 1,
                             columns<Element>{c, column_at(c & -16, z.v_dim) + c % 16, 4});
  }
}

template <class Isa>
void add_stored_values(const tile_job& job, const block& b, int heads, int rows) {
  const plan& p = *job.p;
  const stored_tensor& t = p.stored.v;
  if (t.panels) return add_value_bytes<Isa>(job, b, heads, rows);
  const int64_t first = larger(b.first_key, p.see.first_key);
  with_element(t.dtype, [&](auto element) {
    using type = decltype(element);
    using stored = typename type::stored;
    for (int h = 0; h < heads; ++h) {
      const int32_t kv_head = job.kv_head + h;
      const stored* at = p.segments ? nullptr
                                    : static_cast<const stored*>(stored_values(p, kv_head, first).at);
      const value_rows<type> v{at,         t.token,     static_cast<int>(first - b.first_key),
                               p.segments, b.first_key, kv_head};
      add_stored_rows<Isa>(value_phase<type>(job, b, v), b, h * rows, rows);
    }
  });
}

} // namespace fovea::f32
