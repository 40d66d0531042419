// The one product of integer attention: acc[m][n] += a[m][.] * column[n][.][lanes]. Scores: a = q, lanes are
// keys. Output: a = weights, lanes are elements of values. What multiplies is the dot of an ISA
// (lib/fixed/dot).
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fixed/dot/contract.hpp"

#define FOVEA_INLINE inline __attribute__((always_inline))
#define FOVEA_LAMBDA_INLINE __attribute__((always_inline))

namespace fovea::fixed {

// Weights of linear layers that one row or two read are prefetched into L2, as far ahead as memory under load
// takes to answer; also beyond a panel, where the next one follows.
FOVEA_INLINE void prefetch_weights(const void* p) {
  __builtin_prefetch(static_cast<const char*>(p) + 8192, 0, 2);
}

// What a dot is made of, dot/contract.hpp says. M counts chunks of a, N columns side by side.
template <class Dot>
struct column_sums {
  typename Dot::acc at[Dot::regs];
};

template <class Dot, int M, int N>
struct tile_sums {
  column_sums<Dot> row[M][N];
};

// The sum of so many sums of one column, which its steps have joined in turn; at(t) gives sum t.
template <class Form, class Dot, int Chains, class At>
FOVEA_INLINE void fold_chains(At at, typename Form::reg (&total)[16 / Dot::slices / Form::lanes]) {
  constexpr int each = 16 / Dot::slices / Form::lanes;
  Dot::fold(at(0), 0, total);
#pragma GCC unroll 4
  for (int t = 1; t < Chains; ++t) {
    typename Form::reg more[each];
    Dot::fold(at(t), 0, more);
#pragma GCC unroll 4
    for (int j = 0; j < each; ++j) total[j] = Form::add(total[j], more[j]);
  }
}

// From the first element of a panel to that of its column n, when panels are `panel` apart.
template <class Dot>
constexpr ptrdiff_t column_at(ptrdiff_t n, ptrdiff_t panel) {
  return n / Dot::slices * panel + n % Dot::slices * (Dot::regs * Dot::piece_step);
}

// Where N columns side by side stand in panels that are `panel` apart, and which step of them comes next.
#if defined(__ARM_NEON)
// A pointer for each column, which loads move at no cost. Slices of one panel share a pointer; without the
// asm gcc would compute the address of each step from the first.
template <class Dot, class Byte, int N, bool Sliced = Dot::slices != 1>
struct column_cursor {
  static constexpr bool moves = true;
  const Byte* at[N];

  FOVEA_INLINE column_cursor(const Byte* b, ptrdiff_t panel) {
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n) at[n] = b + n * panel;
  }
  template <int Step>
  FOVEA_INLINE void load(int n, typename Dot::piece (&y)[Dot::regs]) {
    Dot::load_column(at[n], y);
  }
  FOVEA_INLINE void end_step() {}
};
template <class Dot, class Byte, int N>
struct column_cursor<Dot, Byte, N, true> {
  static constexpr bool moves = true;
  const Byte* b;
  const ptrdiff_t panel;

  FOVEA_INLINE column_cursor(const Byte* first, ptrdiff_t apart) : b(first), panel(apart) {}
  template <int Step>
  FOVEA_INLINE void load(int n, typename Dot::piece (&y)[Dot::regs]) {
    Dot::load_column(b + column_at<Dot>(n, panel), y);
  }
  FOVEA_INLINE void end_step() {
    b += 16 * Dot::group;
    asm("" : "+r"(b));
  }
};
#else
template <class Dot, class Byte, int N>
struct column_cursor {
  static constexpr bool moves = false; // one for each chunk
  const Byte* const b;
  const ptrdiff_t panel;

  FOVEA_INLINE column_cursor(const Byte* first, ptrdiff_t apart) : b(first), panel(apart) {}
  template <int Step>
  FOVEA_INLINE void load(int n, typename Dot::piece (&y)[Dot::regs]) {
    Dot::load_column(b + Step * 16 * Dot::group + column_at<Dot>(n, panel), y);
  }
  FOVEA_INLINE void end_step() {}
  FOVEA_INLINE void prefetch(int n, int ahead) const {
#pragma GCC unroll 16
    for (int i = 0; i < Dot::deep * 16; i += 64) __builtin_prefetch(b + n * panel + i + ahead, 0, 2);
  }
};
#endif

template <class Dot, int Step, class Byte, int M, int N>
FOVEA_INLINE void tile_step(const typename Dot::chunk (&x)[M], column_cursor<Dot, Byte, N>& b,
                            tile_sums<Dot, M, N>& acc) {
  // Registers hold all columns of a step, or one column and all rows, whichever takes fewer of them.
  constexpr int together = M >= N * Dot::regs ? N : 1;
#pragma GCC unroll 16
  for (int first = 0; first < N; first += together) {
    typename Dot::piece y[together][Dot::regs];
#pragma GCC unroll 16
    for (int n = 0; n < together; ++n) b.template load<Step>(first + n, y[n]);
#pragma GCC unroll 16
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
      for (int n = 0; n < together; ++n)
#pragma GCC unroll 16
        for (int i = 0; i < Dot::regs; ++i)
          Dot::template add<Step>(acc.row[m][first + n].at[i], y[n][i], x[m]);
  }
  b.end_step();
}

template <class Dot, class Byte, int M, int N, int... Step>
FOVEA_INLINE void tile_steps(const typename Dot::chunk (&x)[M], column_cursor<Dot, Byte, N>& b,
                             tile_sums<Dot, M, N>& acc, std::integer_sequence<int, Step...>) {
  (tile_step<Dot, Step, Byte>(x, b, acc), ...);
}

// RowStep is a constant, so that all rows of a need one pointer. Ahead: how many bytes ahead of its use a
// panel is prefetched into L2; 0: not at all.
template <class Dot, int RowStep, int Ahead, class Byte, int M, int N>
FOVEA_INLINE void multiply_chunk(const typename Dot::element* a, column_cursor<Dot, Byte, N>& b,
                                 tile_sums<Dot, M, N>& acc) {
  typename Dot::chunk x[M];
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) x[m] = Dot::take(a + m * RowStep);
  if constexpr (Ahead != 0)
#pragma GCC unroll 16
    for (int n = 0; n < (N + Dot::slices - 1) / Dot::slices; ++n) b.prefetch(n, Ahead);
  tile_steps<Dot, Byte>(x, b, acc, std::make_integer_sequence<int, Dot::deep / Dot::group>());
}

template <class Dot, int RowStep, int Ahead, class Byte, int M, int N>
FOVEA_INLINE void multiply(const typename Dot::element* a, int a_step, const Byte* b, ptrdiff_t panel,
                           int depth, tile_sums<Dot, M, N>& acc) {
  constexpr int turn = Dot::deep < 8 ? 8 : Dot::deep; // divides depth, which is a multiple of 16
  using cursor = column_cursor<Dot, Byte, N>;
  cursor all(b, panel);
  const typename Dot::element* const end = a + depth / Dot::deep * a_step;
  for (int k = 0; cursor::moves ? a != end : k < depth; k += turn) // one counter is enough
#pragma GCC unroll 4
    for (int i = 0; i < turn; i += Dot::deep, a += a_step, b += 16 * Dot::deep) {
      cursor here(b, panel);
      multiply_chunk<Dot, RowStep, Ahead, Byte>(a, cursor::moves ? all : here, acc);
    }
}

} // namespace fovea::fixed
