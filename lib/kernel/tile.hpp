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

// Rows of a are packed [depth][lead]; where the ISA multiplies by lane, each four rows stand for themselves, [depth][4].
template <class Isa>
FOVEA_INLINE ptrdiff_t packed_row(int row, int depth) {
  return Isa::by_lane ? (row & -4) * static_cast<ptrdiff_t>(depth) + (row & 3) : row;
}

struct panels_view { // where the vectors of a step stand: at + n * next + k * step
  const float* at;
  ptrdiff_t next, step;
};

struct load_whole {
  static constexpr bool whole = true;
  static FOVEA_INLINE void fetch(const float*) {} // before a load
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

// Where the ISA multiplies by any lane of a register, four numbers of a come with one load, and a vector of b with one instruction that also
// moves on to the next step.
template <class Isa, class Shape>
struct vectors_of_b {
  const float* at[Shape::vectors];
  ptrdiff_t step;

  explicit FOVEA_INLINE vectors_of_b(const panels_view& b) : step(b.step) {
#pragma GCC unroll 4
    for (int n = 0; n < Shape::vectors; ++n) at[n] = b.at + n * b.next;
  }
  template <class Load>
  FOVEA_INLINE auto next(int n, Load from) {
    from.fetch(at[n]);
    return Isa::load_sixteen(at[n], step);
  }
};

// Numbers of a: up to four rows of a step side by side.
template <class Isa>
struct rows_together {
  const float* at;
  typename Isa::reg x[2];

  explicit FOVEA_INLINE rows_together(const float* a) : at(a) {}
  FOVEA_INLINE void load(int step) {
    if (step % 2 == 0) Isa::load_pair(at, x[0], x[1]);
  }
  FOVEA_INLINE typename Isa::reg fma(int step, int row, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma_by_lane(x[step % 2], row, y, z);
  }
  FOVEA_INLINE const float* next() const { return at; }
};

// Or the steps of each row side by side.
template <class Isa, int Rows, int RowStep>
struct steps_together {
  const float* at[Rows];
  typename Isa::reg x[Rows][2];

  explicit FOVEA_INLINE steps_together(const float* a) {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) at[m] = a + m * RowStep;
  }
  FOVEA_INLINE void load(int step) {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m)
      if (step % 8 == 0) Isa::load_pair(at[m], x[m][0], x[m][1]);
  }
  FOVEA_INLINE typename Isa::reg fma(int step, int row, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma_by_lane(x[row][step % 8 / 4], step % 4, y, z);
  }
  FOVEA_INLINE const float* next() const { return at[0]; }
};

// From load `From` of a turn on, each vector is loaded before the one before it is used, for cores that do nothing out of order.
template <int From, int End, class Numbers, class Vector, class Load, class Isa, class Shape>
FOVEA_INLINE void rest_of_turn(Numbers& x, const Vector& y, vectors_of_b<Isa, Shape>& columns, Load from, accumulator<Isa, Shape>& acc) {
  constexpr int step = From / Shape::vectors, n = From % Shape::vectors;
  if (n == 0) x.load(step);
  const auto use = [&]() FOVEA_LAMBDA_INLINE {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
      for (int m = 0; m < Shape::rows; ++m) acc.at[m][n].r[i] = x.fma(step, m, y.val[i], acc.at[m][n].r[i]);
  };
  if constexpr (From + 1 < End) {
    const auto following = columns.next((From + 1) % Shape::vectors, from);
    use();
    rest_of_turn<From + 1, End>(x, following, columns, from, acc);
  } else {
    use();
  }
}

// Eight steps at a time, as often as depth allows; a, b and depth tell what is left.
template <class Numbers, class Load, class Isa, class Shape>
FOVEA_INLINE void tile_by_lane(const float*& a, panels_view& b, int& depth, Load from, accumulator<Isa, Shape>& acc) {
  vectors_of_b<Isa, Shape> columns(b);
  Numbers x(a);
  for (int turns = depth >> 3; turns > 0; --turns) rest_of_turn<0, 8 * Shape::vectors>(x, columns.next(0, from), columns, from, acc);
  depth &= 7, a = x.next(), b.at = columns.at[0];
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

// Two steps a turn: one more and compilers spill accumulators. RowStep is a constant so that a needs one pointer.
template <int RowStep, class Load, class Isa, class Shape>
FOVEA_INLINE void tile(const float* a, ptrdiff_t a_step, panels_view b, int depth, Load from, accumulator<Isa, Shape>& acc) {
  if constexpr (Isa::by_lane && Load::whole) {
    if constexpr (RowStep == 1 && Shape::rows > 1)
      tile_by_lane<rows_together<Isa>>(a, b, depth, from, acc);
    else if (RowStep > 1 || a_step == 1)
      tile_by_lane<steps_together<Isa, Shape::rows, RowStep>>(a, b, depth, from, acc);
  }
  for (; depth >= 2; depth -= 2, a += 2 * a_step, b.at += 2 * b.step) {
    tile_step<RowStep>(a, b.at, b.next, from, acc);
    tile_step<RowStep>(a + a_step, b.at + b.step, b.next, from, acc);
  }
  if (depth) tile_step<RowStep>(a, b.at, b.next, from, acc);
}

} // namespace fovea
