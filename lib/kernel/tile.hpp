// The one product of the library: acc[m][n] += a[m][k] * panel[n][k][lanes], k ascending. Scores, outputs and projections are this.
#pragma once
#include "kernel/floats.hpp"

namespace fovea {

// What an accumulator tile covers: `rows` of a, `vectors` panels of `lanes` columns. All of it stays in registers.
template <int Rows, int Vectors, int Lanes = 16>
struct shape {
  static_assert(Lanes == 16 || Vectors == 1, "columns narrower than a panel are walked one by one");
  static constexpr int rows = Rows, vectors = Vectors, lanes = Lanes;
};

template <class Isa, class Shape>
struct accumulator {
  using vector = floats<Isa, Shape::lanes>;
  vector at[Shape::rows][Shape::vectors];

  template <class F>
  FOVEA_INLINE void each(F f) {
#pragma GCC unroll 16
    for (int m = 0; m < Shape::rows; ++m)
#pragma GCC unroll 16
      for (int n = 0; n < Shape::vectors; ++n) f(m, n, at[m][n]);
  }
  FOVEA_INLINE void clear() {
    each([](int, int, vector& x) FOVEA_LAMBDA_INLINE { x = vector::all(0); });
  }
};

struct panels_view { // where the vectors of a step stand: at + n * next + k * step
  const float* at;
  ptrdiff_t next, step;
};

struct load_whole {
  template <class Vector>
  static FOVEA_INLINE Vector load(const float* p) {
    return Vector::load(p);
  }
};

template <int RowStep, class Load, class Isa, class Shape>
FOVEA_INLINE void tile_step(const float* a, const float* b, ptrdiff_t next, Load from, accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  vector y[Shape::vectors];
#pragma GCC unroll 16
  for (int n = 0; n < Shape::vectors; ++n) y[n] = from.template load<vector>(b + n * next);
#pragma GCC unroll 16
  for (int m = 0; m < Shape::rows; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n) acc.at[m][n] = fma_by(a[m * RowStep], y[n], acc.at[m][n]);
}

// Two steps a turn: one more and compilers spill accumulators. RowStep is a constant so that a needs one pointer.
template <int RowStep, class Load, class Isa, class Shape>
FOVEA_INLINE void tile(const float* a, ptrdiff_t a_step, panels_view b, int depth, Load from, accumulator<Isa, Shape>& acc) {
  for (; depth >= 2; depth -= 2, a += 2 * a_step, b.at += 2 * b.step) {
    tile_step<RowStep>(a, b.at, b.next, from, acc);
    tile_step<RowStep>(a + a_step, b.at + b.step, b.next, from, acc);
  }
  if (depth) tile_step<RowStep>(a, b.at, b.next, from, acc);
}

} // namespace fovea
