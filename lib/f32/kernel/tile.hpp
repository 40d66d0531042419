// The one product of the library: acc[m][n] += a[m][k] * panel[n][k][lanes], k ascending. Scores, outputs and
// projections are this.
#pragma once
#include <type_traits>

#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

// What an accumulator tile covers: `rows` of a, `vectors` panels of `lanes` columns. All of it stays in
// registers.
template <int Rows, int Vectors, int Lanes = 16>
struct shape {
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

// The same pointer, whose origin is hidden from the compiler. Else it keeps a pointer for each row, most of
// them in memory.
FOVEA_INLINE const float* forget_origin(const float* p) {
  __asm__("" : "+r"(p));
  return p;
}

// Rows of a, `step` apart: numbers of a row side by side. A step that is a constant needs one pointer; else
// as many rows share one as an address of this ISA may reach.
template <class Isa, int Rows, class Step>
class rows_view {
 public:
  FOVEA_INLINE rows_view(const float* a, Step row_step) : step(row_step) {
#pragma GCC unroll 16
    for (int i = 0; i < pointers; ++i) at_[i] = i == 0 ? a : forget_origin(at_[i - 1] + together * step);
  }
  FOVEA_INLINE const float* row(int m) const { return at_[m / together] + m % together * step; }
  FOVEA_INLINE float operator()(int m, int k) const { return row(m)[k]; }
  FOVEA_INLINE void move(ptrdiff_t count) {
#pragma GCC unroll 16
    for (auto& p : at_) p += count;
  }
  Step step;

 private:
  static constexpr int together = std::is_integral_v<Step> ? Isa::rows_a_pointer : Rows,
                       pointers = (Rows + together - 1) / together;
  const float* at_[pointers];
};

// Where vector n of a step stands: `next` after the one before it; or side by side, the last one anywhere.
FOVEA_INLINE ptrdiff_t place_of(int n, ptrdiff_t next) { return n * next; }
template <class Shape>
struct last_at {
  ptrdiff_t last;
};
template <class Shape>
FOVEA_INLINE ptrdiff_t place_of(int n, last_at<Shape> places) {
  return Shape::vectors > 1 && n == Shape::vectors - 1 ? places.last : n * Shape::lanes;
}

template <class Stored, class Places = ptrdiff_t>
struct panels_view { // where the vectors of a step stand: at + place_of(n, next) + k * step
  const Stored* at;
  Places next;
  ptrdiff_t step;
};
template <class Stored, class Places>
panels_view(const Stored*, Places, ptrdiff_t) -> panels_view<Stored, Places>;
template <class Stored>
panels_view(const Stored*, int, ptrdiff_t) -> panels_view<Stored>;

struct load_whole {
  static constexpr bool whole = true, pins_sums = false;
  static FOVEA_INLINE void fetch(const float*) {} // before a load
  template <class Vector>
  static FOVEA_INLINE Vector load(const float* p) {
    return Vector::load(p);
  }
};

// What a load leaves out of order, sums become when they are complete: most loads leave nothing.
template <class Load, class Sums>
FOVEA_INLINE void put_in_order(Load, Sums&) {}

// Few registers are left beside the sums, the vectors of a step and one number: compilers would move sums
// from one to another, and through memory, so each product is told to stay where its sum is. With one row or
// two, products may take vectors from memory instead.
template <class Isa, class Shape>
constexpr bool is_crowded =
    Shape::rows > 2 &&
    (Shape::rows + 1) * Shape::vectors* accumulator<Isa, Shape>::vector::regs + 1 >= Isa::pin_sums_from;

template <class Rows, class Stored, class Places, class Load, class Isa, class Shape>
FOVEA_INLINE void tile_step(const Rows& a, int k, const Stored* b, Places next, Load from,
                            accumulator<Isa, Shape>& acc) {
  using vector = floats<Isa, Shape::lanes>;
  if constexpr (Shape::rows == 1 && !std::is_same_v<Stored, float>) {
    // Each vector is used once: converted ones would only take registers if all of them came first.
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n) {
      if constexpr (Load::whole) from.fetch(b + place_of(n, next));
      if constexpr (Load::pins_sums)
        add_product(acc.at[0][n], a(0, k), from.template load<vector>(b + place_of(n, next)));
      else
        acc.at[0][n] = fma_by(a(0, k), from.template load<vector>(b + place_of(n, next)), acc.at[0][n]);
    }
    return;
  }
  vector y[Shape::vectors];
#pragma GCC unroll 16
  for (int n = 0; n < Shape::vectors; ++n) {
    if constexpr (Load::whole) from.fetch(b + place_of(n, next));
    y[n] = from.template load<vector>(b + place_of(n, next));
  }
#pragma GCC unroll 16
  for (int m = 0; m < Shape::rows; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < Shape::vectors; ++n)
      if constexpr (is_crowded<Isa, Shape>)
        add_product(acc.at[m][n], a(m, k), y[n]);
      else
        acc.at[m][n] = fma_by(a(m, k), y[n], acc.at[m][n]);
}

// Where the ISA multiplies by any lane of a register, eight numbers of a come with one load, and a vector of
// b with one instruction that also moves on to the next step.
template <class Isa, class Shape, class Stored>
struct vectors_of_b {
  const Stored* at[Shape::vectors];
  ptrdiff_t step;

  template <class Places>
  explicit FOVEA_INLINE vectors_of_b(const panels_view<Stored, Places>& b) : step(b.step) {
#pragma GCC unroll 4
    for (int n = 0; n < Shape::vectors; ++n) at[n] = b.at + place_of(n, b.next);
  }
  template <class Load>
  FOVEA_INLINE auto next(int n, Load from) {
    from.fetch(at[n]);
    if constexpr (std::is_same_v<Stored, float>) {
      return Isa::load_sixteen(at[n], step);
    } else {
      const auto x = from.template load<f32x16<Isa>>(at[n]);
      at[n] += step;
      return typename Isa::sixteen{{x.r[0], x.r[1], x.r[2], x.r[3]}};
    }
  }
};

// Eight numbers of each row of a.
template <class Isa, int Rows>
struct eights_of_a {
  const float* at[Rows];
  typename Isa::reg x[Rows][2];

  template <class View>
  explicit FOVEA_INLINE eights_of_a(const View& a) {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) at[m] = a.row(m);
  }
  FOVEA_INLINE void load() {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) Isa::load_pair(at[m], x[m][0], x[m][1]);
  }
  FOVEA_INLINE typename Isa::reg fma(int step, int row, typename Isa::reg y, typename Isa::reg z) const {
    return Isa::fma_by_lane(x[row][step / 4], step % 4, y, z);
  }
};

// From load `From` of a turn on, each vector is loaded before the one before it is used, for cores that do
// nothing out of order.
template <int From, int End, class Numbers, class Vector, class Stored, class Load, class Isa, class Shape>
FOVEA_INLINE void rest_of_turn(const Numbers& x, const Vector& y, vectors_of_b<Isa, Shape, Stored>& columns,
                               Load from, accumulator<Isa, Shape>& acc) {
  constexpr int step = From / Shape::vectors, n = From % Shape::vectors;
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

// Eight steps at a time, as often as depth allows. Leaves a, b and depth at the steps that remain.
template <class Rows, class Stored, class Places, class Load, class Isa, class Shape>
FOVEA_INLINE void tile_by_lane(Rows& a, panels_view<Stored, Places>& b, int& depth, Load from,
                               accumulator<Isa, Shape>& acc) {
  vectors_of_b<Isa, Shape, Stored> columns(b);
  eights_of_a<Isa, Shape::rows> x(a);
  for (int turns = depth >> 3; turns > 0; --turns) {
    x.load();
    rest_of_turn<0, 8 * Shape::vectors>(x, columns.next(0, from), columns, from, acc);
  }
  a.move(depth & -8);
  depth &= 7;
  b.at = columns.at[0];
}

// One row by one vector, where the ISA has a loop for that.
template <class Isa, class Shape>
constexpr bool is_sixteen = Isa::by_row && Isa::lanes > 1 && Shape::rows* Shape::vectors* Shape::lanes == 16;

// Two steps a turn: one more and compilers spill accumulators. Cores without vectors have few registers for
// pointers to many rows, and move them less.
template <class Rows, class Stored, class Places, class Load, class Isa, class Shape>
FOVEA_INLINE void tile(Rows a, panels_view<Stored, Places> b, int depth, Load from,
                       accumulator<Isa, Shape>& acc) {
  if constexpr (Isa::by_lane && Load::whole) tile_by_lane(a, b, depth, from, acc);
  if constexpr (is_sixteen<Isa, Shape> && std::is_same_v<Stored, float> && Load::whole)
    return Isa::add_sixteens(a.row(0), depth, b.at, b.step, acc.at[0][0].r);
  constexpr int turn = Isa::lanes > 1 || Shape::rows < 4 ? 2 : 4;
  for (; depth >= turn; depth -= turn, a.move(turn), b.at += turn * b.step)
#pragma GCC unroll 4
    for (int k = 0; k < turn; ++k) tile_step(a, k, b.at + k * b.step, b.next, from, acc);
  for (; depth > 0; --depth, a.move(1), b.at += b.step) tile_step(a, 0, b.at, b.next, from, acc);
}

} // namespace fovea::f32
