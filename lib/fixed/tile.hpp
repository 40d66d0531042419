// The one product of integer attention: acc[m][n] += a[m][.] * panel[n][.][sixteen lanes]. Scores: a = q, lanes are keys.
// Output: a = weights, lanes are elements of values. What multiplies is the dot of an ISA (lib/dot).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#define FOVEA_INLINE inline __attribute__((always_inline))
#define FOVEA_LAMBDA_INLINE __attribute__((always_inline))

namespace fovea {

// A dot knows: `element` of a, and a `chunk` of it: `rows` rows, `deep` elements each; a step of a panel, sixteen lanes `group` deep,
// as `regs` pieces; and how a piece and step I of a chunk are multiplied into one `acc`. M counts chunks side by side.
template <class Dot>
struct panel_sums {
  typename Dot::acc at[Dot::regs];
};

template <class Dot, int M, int N>
struct tile_sums {
  panel_sums<Dot> row[M][N];
};

// From piece to piece: a panel of bytes is four deep, whatever a step takes; a panel that a kernel arranged is as deep as its steps.
template <class Dot>
constexpr int step_of(const int8_t*) {
  return 64 / Dot::regs;
}
template <class Dot, class Arranged>
constexpr int step_of(const Arranged*) {
  return 16 * Dot::group / Dot::regs;
}

template <class Dot, int Step, class Byte, int M, int N>
FOVEA_INLINE void tile_step(const typename Dot::chunk (&x)[M], const Byte* b, ptrdiff_t next, tile_sums<Dot, M, N>& acc) {
#pragma GCC unroll 16
  for (int i = 0; i < Dot::regs; ++i) {
    typename Dot::piece y[N];
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) y[n] = Dot::load(b + n * next + i * step_of<Dot>(b));
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
      for (int n = 0; n < N; ++n) Dot::template add<Step>(acc.row[m][n].at[i], y[n], x[m]);
  }
}

template <class Dot, class Byte, int M, int N, int... Step>
FOVEA_INLINE void tile_steps(const typename Dot::chunk (&x)[M], const Byte* b, ptrdiff_t next, tile_sums<Dot, M, N>& acc,
                             std::integer_sequence<int, Step...>) {
  (tile_step<Dot, Step>(x, b + Step * 16 * Dot::group, next, acc), ...);
}

// RowStep is a constant so that all rows of a need one pointer; `next` is the way from a panel to the one beside it.
template <class Dot, int RowStep, class Byte, int M, int N>
FOVEA_INLINE void multiply(const typename Dot::element* a, int a_step, const Byte* b, ptrdiff_t next, int depth,
                           tile_sums<Dot, M, N>& acc) {
  for (int k = 0; k < depth; k += Dot::deep, a += a_step, b += Dot::deep * 16) {
    typename Dot::chunk x[M];
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m) x[m] = Dot::take(a + m * RowStep);
    tile_steps<Dot>(x, b, next, acc, std::make_integer_sequence<int, Dot::deep / Dot::group>());
  }
}

} // namespace fovea
