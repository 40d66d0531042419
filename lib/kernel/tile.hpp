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
  static constexpr bool whole = true;
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

// Where the ISA multiplies by any lane of a register, a comes in registers, four numbers with one load, and each register of b serves all
// rows before the next one is loaded: beside the accumulators there is room for little else. use(row, y, its accumulator) multiplies.
template <int Together, class Load, class Isa, class Shape, class Use>
FOVEA_INLINE void each_register(const float* b, ptrdiff_t next, Load from, accumulator<Isa, Shape>& acc, Use use) {
#pragma GCC unroll 16
  for (int n = 0; n < Shape::vectors; ++n)
#pragma GCC unroll 16
    for (int i = 0; i < accumulator<Isa, Shape>::vector::regs; i += Together) {
      const auto y = from.template load<floats<Isa, Together * Isa::lanes>>(b + n * next + i * Isa::lanes);
#pragma GCC unroll 2
      for (int j = 0; j < Together; ++j)
#pragma GCC unroll 8
        for (int m = 0; m < Shape::rows; ++m) use(m, y.r[j], acc.at[m][n].r[i + j]);
    }
}

template <class Isa, int Rows>
struct side_by_side { // one number for each row, in lanes
  typename Isa::reg x[(Rows + 3) / 4];

  explicit FOVEA_INLINE side_by_side(const float* a) {
#pragma GCC unroll 2
    for (int m = 0; m < Rows; m += 4) x[m / 4] = Rows - m < 4 ? Isa::load_two(a + m) : Isa::load(a + m);
  }
  FOVEA_INLINE typename Isa::reg fma(int row, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma_by_lane(x[row / 4], row % 4, y, z);
  }
};

// Rows of a stand side by side: one step.
template <class Load, class Isa, class Shape>
FOVEA_INLINE void step_by_rows(const float* a, const float* b, ptrdiff_t next, Load from, accumulator<Isa, Shape>& acc) {
  const side_by_side<Isa, Shape::rows> x(a);
  each_register<2>(b, next, from, acc, [&](int m, auto y, auto& z) FOVEA_LAMBDA_INLINE { z = x.fma(m, y, z); });
}

// Steps of a stand side by side: four of them.
template <int RowStep, class Load, class Isa, class Shape>
FOVEA_INLINE void four_steps(const float* a, const panels_view& b, Load from, accumulator<Isa, Shape>& acc) {
  typename Isa::reg x[Shape::rows];
#pragma GCC unroll 8
  for (int m = 0; m < Shape::rows; ++m) x[m] = Isa::load(a + m * RowStep);
  const float* at = b.at;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k, at += b.step)
    each_register<1>(at, b.next, from, acc, [&](int m, auto y, auto& z) FOVEA_LAMBDA_INLINE { z = Isa::fma_by_lane(x[m], k, y, z); });
}

// Two steps a turn: one more and compilers spill accumulators. RowStep is a constant so that a needs one pointer.
template <int RowStep, class Load, class Isa, class Shape>
FOVEA_INLINE void tile(const float* a, ptrdiff_t a_step, panels_view b, int depth, Load from, accumulator<Isa, Shape>& acc) {
  if constexpr (Isa::by_lane && Load::whole && RowStep > 1) {
    for (; depth >= 4; depth -= 4, a += 4, b.at += 4 * b.step) four_steps<RowStep>(a, b, from, acc);
  } else if constexpr (Isa::by_lane && Shape::rows > 1 && RowStep == 1) {
    for (; depth > 0; --depth, a += a_step, b.at += b.step) step_by_rows(a, b.at, b.next, from, acc);
    return;
  }
  for (; depth >= 2; depth -= 2, a += 2 * a_step, b.at += 2 * b.step) {
    tile_step<RowStep>(a, b.at, b.next, from, acc);
    tile_step<RowStep>(a + a_step, b.at + b.step, b.next, from, acc);
  }
  if (depth) tile_step<RowStep>(a, b.at, b.next, from, acc);
}

} // namespace fovea
