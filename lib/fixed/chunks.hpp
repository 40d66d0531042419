// Rows of bytes, queries or activations, in the order in which a dot multiplies them:
// [depth / deep][rows][deep], a chunk of every row, then the next chunk of every row.
#pragma once
#include <cstring>

#include "fixed/tile.hpp"

namespace fovea::fixed {

template <class Dot, int M>
constexpr int chunks = (M + Dot::rows - 1) / Dot::rows; // that hold M rows

template <class Dot>
static inline void put_query(const int8_t* q, int dim, int depth, typename Dot::element* to, int lead) {
  int c = 0;
  for (; c + Dot::deep <= dim; c += Dot::deep, to += lead) Dot::put(q + c, to);
  for (; c < depth; c += Dot::deep, to += lead) {
    int8_t rest[Dot::deep] = {};
    for (int i = 0; c + i < dim; ++i) rest[i] = q[c + i];
    Dot::put(rest, to);
  }
}

// A row of bytes becomes chunks that lie `lead` elements apart, zeros behind its end.
template <class Dot>
static inline void take_query(const int8_t* q, int dim, int depth, typename Dot::element* to, int lead) {
  using element = typename Dot::element;
  constexpr int deep = Dot::deep;
  int c = 0;
  for (; c + deep <= dim; c += deep, to += lead) {
    if constexpr (sizeof(element) == 1) {
      std::memcpy(to, q + c, deep);
    } else {
      for (int i = 0; i < deep; ++i) to[i] = q[c + i];
    }
  }
  for (; c < depth; c += deep, to += lead)
    for (int i = 0; i < deep; ++i) to[i] = static_cast<element>(c + i < dim ? q[c + i] : 0);
}

template <class Dot, int M>
static inline void take_rows(const int8_t* const (&q)[M], int dim, int depth, typename Dot::element* to,
                             int32_t (&starts)[M]) {
  int32_t sums[M];
  Dot::take_rows(q, dim, depth, to, sums);
  for (int m = 0; m < M; ++m) starts[m] += Dot::key_offset * sums[m];
}

// M rows, and what the offset of the dot's keys adds to the starts of their sums.
template <class Dot, int M>
static void take_group(const int8_t* const (&q)[M], int dim, int depth, typename Dot::element* to,
                       int32_t (&starts)[M]) {
  if constexpr (M >= Dot::rows_at_once) return take_rows<Dot, M>(q, dim, depth, to, starts);
  constexpr int lead = chunks<Dot, M> * Dot::rows * Dot::deep;
  if constexpr (Dot::scores_panels && M == 4)
    if (dim == depth) return Dot::put_four_queries(q[0], q[1], q[2], q[3], depth, to);
  for (int m = 0; m < lead / Dot::deep; ++m) {
    const int8_t* const row = m < M ? q[m] : nullptr; // none: only fills a chunk
    if constexpr (Dot::puts_queries)
      put_query<Dot>(row, row ? dim : 0, depth, to + Dot::place(m), lead);
    else
      take_query<Dot>(row, row ? dim : 0, depth, to + m * Dot::deep, lead);
    if constexpr (Dot::key_offset != 0 && M < Dot::rows_at_once)
      if (row) starts[m] += Dot::key_offset * Dot::sum(row, dim);
  }
}

} // namespace fovea::fixed
