// One tile of the values of a block: the keys that join its sums, the result that joins o or is written, and
// the way out where a hidden key was NaN or infinite.
#pragma once
#include "f32/kernel/value_columns.hpp"

namespace fovea::f32 {

template <class Isa, class Shape>
using weights_view = rows_view<Isa, Shape::rows, std::integral_constant<ptrdiff_t, score_stride>>;

// Where V of the block does not stay in the first cache, each row prefetches one that comes soon.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_shared(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  const auto add = [&](auto columns) FOVEA_LAMBDA_INLINE {
    tile(weights_view<Isa, Shape>(g.s, {}), panels_view{g.v + c.at, c.template places<Shape>(), z.v.stride},
         g.keys, columns, acc);
  };
  if constexpr (Columns::whole && Isa::fetches_values && Shape::rows == largest_rows(typename Isa::shapes{}))
    if (g.fetches) return add(fetching_columns<Element, 12, first_cache>{c, z.v.stride});
  add(c);
}

// The same number, hidden from the compiler. Else it computes the addresses of stairs for every tile, also
// for those without a stair.
FOVEA_INLINE ptrdiff_t used_from_here(ptrdiff_t x) {
  __asm__ volatile("" : "+r"(x));
  return x;
}

// One key for rows low .. high of a group, counted from the first key that all rows see.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_key(const value_group<Element>& g, ptrdiff_t stride, int key, int low, int high,
                          Columns c, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const auto* v = g.v + key * stride + c.at;
  const auto places = c.template places<Shape>();
#pragma GCC unroll 16
  for (int m = low; m <= high; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      acc.at[m][n] = fma_by(g.s[m * score_stride + key], c.template load<vector>(v + place_of(n, places)),
                            acc.at[m][n]);
}

template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void add_keys(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                           accumulator<Isa, Shape>& acc) {
  constexpr int last = Shape::rows - 1;
  constexpr bool stairs = last > 0 && !takes_no_stairs<Isa, Shape>;
  if constexpr (stairs)
    if (g.stair_in) {
      const ptrdiff_t stride = used_from_here(z.v.stride);
#pragma GCC unroll 16
      for (int t = 0; t < last; ++t) add_key(g, stride, t - last, 0, t, c, acc);
    }
  add_shared(z, g, c, acc);
  if constexpr (stairs)
    if (g.stair_out) {
      const ptrdiff_t stride = used_from_here(z.v.stride);
#pragma GCC unroll 16
      for (int t = 0; t < last; ++t) add_key(g, stride, g.keys + t, t + 1, last, c, acc);
    }
}

// o of the block joins o of the span; from the last block that a group sees, the output is
// written. Rows that only fill the last group write theirs to scratch.
template <class Isa, class Shape, class Element, class Columns>
FOVEA_INLINE void store_tile(const value_phase<Element>& z, const value_group<Element>& g, Columns c,
                             accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  const int row = g.row;
  float* o = z.o + static_cast<ptrdiff_t>(row) * z.width + c.in_o;
  if (!z.opens_span)
    acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
      x = join_block(x, o + m * z.width + n * Shape::lanes, z.of_before[row + m], z.of_block[row + m]);
    });
  if (!g.finishes)
    return acc.each([&](int m, int n, vector& x)
                        FOVEA_LAMBDA_INLINE { x.store(o + m * z.width + n * Shape::lanes); });
  const auto zero = vector::all(0);
  const auto places = c.template places<Shape>();
  acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE {
    c.store(z.out[row + m] + c.at + place_of(n, places), fma_by(z.factor[row + m], x, zero));
  });
}

// A weight of 0 times NaN or infinity is NaN, so a key that a row or a mask hides may have changed a result.
// Is any result NaN or infinite? Some of them may be so rightly.
template <class Isa, class Shape>
FOVEA_INLINE bool leaked(accumulator<Isa, Shape>& acc) {
  auto probe = floats<Isa, Shape::lanes>::all(0);
  acc.each([&](int, int, auto& x) FOVEA_LAMBDA_INLINE { probe = fma_by(0, x, probe); });
  bool found = false;
#pragma GCC unroll 16
  for (auto& r : probe.r) found |= Isa::any_nan(r);
  return found;
}

// A tile once more, each row and vector for itself over its own keys, without those that a mask hides.
template <class Isa, int Lanes, class Element, class Columns>
__attribute__((noinline)) void exact_values(const value_phase<Element>& z, const key_runs& runs,
                                            value_group<Element> g, int rows, int vectors, Columns first) {
  using one_vector = shape<1, 1, Lanes>;
  for (int end = g.row + rows; g.row < end; ++g.row) {
    const float* s = z.s + g.row * score_stride;
    for (int n = 0; n < vectors; ++n) {
      const Columns c = first.vector(n, vectors, Lanes);
      accumulator<Isa, one_vector> acc;
      acc.clear();
      for (int run = runs.first; run < 2; ++run)
        for (int key = runs.from[run][g.row], to = runs.to[run][g.row]; key < to; ++key)
          if (s[key] != 0)
            acc.at[0][0] = fma_by(s[key], c.template load<floats<Isa, Lanes>>(z.v.row(key) + c.at),
                                  acc.at[0][0]);
      store_tile(z, g, c, acc);
    }
  }
}

} // namespace fovea::f32
