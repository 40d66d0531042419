// Rows of bytes times panels of weights, by the dot that multiplies queries and keys. Functions are static:
// each ISA has copies of its own.
#pragma once
#include "fixed/layer.hpp"
#include "fixed/scaling.hpp"
#include "fixed/score.hpp"

namespace fovea::fixed {

// The starts of the sums of `rows` rows, then their chunks, group by group.
template <class Form>
struct byte_tile {
  using dot = typename Form::keys_dot;
  using element = typename dot::element;

  static constexpr ptrdiff_t starts_of(int32_t rows) { return (rows + 3) / 4 * 4; }
  static size_t bytes(int32_t rows, int32_t depth) {
    const size_t elements = static_cast<size_t>(rows + dot::rows - 1) * static_cast<size_t>(depth);
    return sizeof(int32_t) * static_cast<size_t>(starts_of(rows)) + sizeof(element) * elements;
  }
  byte_tile(const void* at, int32_t rows)
      : starts(static_cast<int32_t*>(const_cast<void*>(at))), // `take` alone writes
        chunks(reinterpret_cast<element*>(starts + starts_of(rows))) {}

  int32_t* starts;
  element* chunks;
};

template <class Form>
static void take_bytes(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* to) {
  const byte_tile<Form> tile(to, rows);
  const auto take = [&](auto shape, int r) {
    constexpr int M = decltype(shape)::rows;
    const int8_t* q[M];
    int32_t starts[M] = {};
    for (int m = 0; m < M; ++m) q[m] = x + (r + m) * step;
    take_group<typename Form::keys_dot, M>(q, dim, depth, tile.chunks + static_cast<ptrdiff_t>(r) * depth,
                                           starts);
    for (int m = 0; m < M; ++m) tile.starts[r + m] = starts[m];
  };
  by_groups_of(rows, take, typename Form::shapes{});
}

// M rows by N columns side by side, from `column` on: sums[row][sums_step].
template <class Form, int M, int N, int Ahead>
FOVEA_INLINE void multiply_columns(const byte_tile<Form>& tile, int r, const int8_t* panels, ptrdiff_t apart,
                                   int depth, int column, int32_t* sums) {
  using dot = typename Form::keys_dot;
  constexpr int C = chunks<dot, M>, R = dot::rows, step = R * dot::deep, lanes = 16 / dot::slices;
  const auto* const x = tile.chunks + static_cast<ptrdiff_t>(r) * depth;
  const int32_t* const starts = tile.starts + r;
  tile_sums<dot, C, N> acc;
#pragma GCC unroll 16
  for (int m = 0; m < C; ++m)
#pragma GCC unroll 16
    for (int n = 0; n < N; ++n)
      dot::begin(acc.row[m][n].at, [&](int row) { return m * R + row < M ? starts[m * R + row] : 0; });
  multiply<dot, step, Ahead>(x, C * step, panels + column_at<dot>(column, apart), apart, depth, acc);
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m) {
    const row_scores<Form, N> of_row(acc.row[m / R], m % R);
#pragma GCC unroll 16
    for (int i = 0; i < N * row_scores<Form, N>::each; ++i)
      Form::store(sums + m * sums_step + column * lanes + i * Form::lanes, of_row.x[i]);
  }
}

template <class Form, class Shape>
__attribute__((noinline)) static void multiply_group(const byte_tile<Form>& tile, int r, const int8_t* panels,
                                                     ptrdiff_t apart, int depth, int count, int32_t* sums) {
  using dot = typename Form::keys_dot;
  constexpr int M = Shape::rows, N = Shape::key_columns;
  if constexpr (dot::scores_panels && M == 4)
    if (depth % 64 == 0) {
      int32_t starts[64];
      const int32_t* const x = tile.starts + r;
      dot::store_starts({x[0], x[1], x[2], x[3]}, starts);
      for (int n = 0; n < count; ++n) {
        const int8_t* panel = panels + n * apart;
        dot::score_panel(tile.chunks + static_cast<ptrdiff_t>(r) * depth, panel, depth, starts, sums + 16 * n,
                         sums_step);
      }
      return;
    }
  const int columns = count * dot::slices;
  int n = 0;
  for (; n + N <= columns; n += N)
    multiply_columns<Form, M, N, Shape::ahead>(tile, r, panels, apart, depth, n, sums);
  for (; n < columns; ++n) multiply_columns<Form, M, 1, Shape::ahead>(tile, r, panels, apart, depth, n, sums);
}

// One row by a panel of each stream. Steps join Chains sums in turn, so that no product waits for the one
// before it. Each takes its numbers of the row from memory: the fewer instructions, the more of the streams
// fits into the window in which a core looks ahead.
template <class Form, int Chains, int Streams>
FOVEA_INLINE void multiply_row_by_panel(const typename Form::keys_dot::element* x, int32_t start, int depth,
                                        const int8_t* (&panels)[Streams],
                                        typename Form::reg (&total)[Streams][16 / Form::lanes]) {
  using dot = typename Form::keys_dot;
  constexpr int S = dot::slices, deep = dot::deep, each = row_scores<Form, 1>::each;
  static_assert(dot::rows == 1 && deep == 4 && dot::group == 4 && 4 % Chains == 0,
                "depths are multiples of 16");
  tile_sums<dot, Chains, S> acc[Streams];
#pragma GCC unroll 2
  for (int s = 0; s < Streams; ++s)
#pragma GCC unroll 4
    for (int t = 0; t < Chains; ++t)
#pragma GCC unroll 4
      for (int i = 0; i < S; ++i) dot::begin(acc[s].row[t][i].at, [&](int) { return t ? 0 : start; });
  for (int k = 0; k < depth; k += 16)
#pragma GCC unroll 4
    for (int t = 0; t < 4; ++t) {
      const auto chunk = dot::take(x + k + t * deep);
#pragma GCC unroll 2
      for (int s = 0; s < Streams; ++s) {
#pragma GCC unroll 4
        for (int i = 0; i < S; ++i) {
          typename dot::piece y[dot::regs];
          dot::load_column(panels[s] + column_at<dot>(i, 0), y);
#pragma GCC unroll 4
          for (int j = 0; j < dot::regs; ++j) dot::add_once(acc[s].row[t % Chains][i].at[j], y[j], chunk);
        }
        panels[s] += 16 * deep;
      }
    }
#pragma GCC unroll 2
  for (int s = 0; s < Streams; ++s)
#pragma GCC unroll 4
    for (int i = 0; i < S; ++i) {
      typename Form::reg of_slice[each];
      fold_chains<Form, dot, Chains>([&](int t) FOVEA_LAMBDA_INLINE -> auto& { return acc[s].row[t][i].at; },
                                     of_slice);
#pragma GCC unroll 4
      for (int j = 0; j < each; ++j) total[s][i * each + j] = of_slice[j];
    }
}

// One row by `count` panels, one after the other: cores prefetch few streams of memory better than many.
template <class Form, int Chains>
__attribute__((noinline)) static void multiply_row(const byte_tile<Form>& tile, int r, const int8_t* panels,
                                                   ptrdiff_t apart, int depth, int count, int32_t* sums) {
  const auto* const x = tile.chunks + static_cast<ptrdiff_t>(r) * depth;
  for (int n = 0; n < count; ++n, panels += apart, sums += 16) {
    const int8_t* at[1] = {panels};
    typename Form::reg total[1][16 / Form::lanes];
    multiply_row_by_panel<Form, Chains, 1>(x, tile.starts[r], depth, at, total);
#pragma GCC unroll 4
    for (int i = 0; i < 16 / Form::lanes; ++i) Form::store(sums + i * Form::lanes, total[0][i]);
  }
}

// Sums of a panel become floats; its scales stand behind its bytes.
template <class Form>
FOVEA_INLINE auto scaled_sums(const typename Form::reg& sums, float row_scale, const int8_t* scales) {
  using vectors = float_vectors<Form::lanes>;
  typename vectors::floats by;
  std::memcpy(&by, scales, sizeof by);
  return __builtin_convertvector(reinterpret_cast<typename vectors::words>(sums), typename vectors::floats) *
         (by * row_scale);
}

// The same by two streams of them, which go on to the outputs.
template <class Form, int Chains>
static void multiply_two_streams(const void* row, int32_t depth, float row_scale, ptrdiff_t apart,
                                 int32_t count, const output_stream& first, const output_stream& second) {
  const byte_tile<Form> tile(row, 1);
  output_stream a = first, b = second;
  for (int32_t n = 0; n < count; ++n, a.panels += apart, b.panels += apart) {
    const int8_t* at[2] = {reinterpret_cast<const int8_t*>(a.panels),
                           reinterpret_cast<const int8_t*>(b.panels)};
    typename Form::reg sums[2][16 / Form::lanes];
    multiply_row_by_panel<Form, Chains, 2>(tile.chunks, tile.starts[0], depth, at, sums);
    write_outputs(scaled_sums<Form>(sums[0][0], row_scale, at[0]), a);
    write_outputs(scaled_sums<Form>(sums[1][0], row_scale, at[1]), b);
  }
}

// What the dot of an ISA makes of them. RowChains: those of multiply_row, which takes a row that is left
// alone; 0: it is a group of rows like others.
template <class Form, int RowChains = 0>
struct form_product {
  static size_t tile_bytes(int32_t rows, int32_t depth) { return byte_tile<Form>::bytes(rows, depth); }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile) {
    take_bytes<Form>(x, step, rows, dim, depth, tile);
  }
  static void multiply(const void* rows_at, int32_t rows, int32_t depth, const int8_t* panels,
                       ptrdiff_t apart, int32_t count, int32_t* sums) {
    const byte_tile<Form> tile(rows_at, rows);
    const auto group = [&](auto shape, int r) FOVEA_LAMBDA_INLINE {
      if constexpr (RowChains != 0 && decltype(shape)::rows == 1)
        multiply_row<Form, RowChains>(tile, r, panels, apart, depth, count, sums + r * sums_step);
      else
        multiply_group<Form, decltype(shape)>(tile, r, panels, apart, depth, count, sums + r * sums_step);
    };
    by_groups_of(rows, group, typename Form::shapes{});
  }

  // One group of a panel, 32 deep, joins the floats of the rows; row_scales lie `step` apart.
  static FOVEA_INLINE void add_group(const void* rows_at, int32_t rows, const int8_t* panel, const float* by,
                                     const float* row_scales, ptrdiff_t step, float* z) {
    const byte_tile<Form> tile(rows_at, rows);
    const auto group = [&](auto shape, int r) FOVEA_LAMBDA_INLINE {
      constexpr int M = decltype(shape)::rows, S = Form::keys_dot::slices;
      int32_t sums[(M - 1) * sums_step + 16];
      multiply_columns<Form, M, S, 0>(tile, r, panel, 0, group_depth, 0, sums);
      for (int m = 0; m < M; ++m)
        add_scaled(sums + m * sums_step, row_scales[(r + m) * step], by, z + (r + m) * sums_step);
    };
    by_groups_of(rows, group, typename Form::shapes{});
  }

  static constexpr fixed_product exact(int32_t isa) {
    fixed_product product{isa, tile_bytes, take, multiply};
    if constexpr (RowChains != 0) product.multiply_two = multiply_two_streams<Form, RowChains>;
    return product;
  }
};

} // namespace fovea::fixed
