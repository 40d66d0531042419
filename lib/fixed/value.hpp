// Values of a run of blocks, times the weights of a group of rows. Sums of int32 are exact, so values may run
// over many blocks at once; only rounding shifts cut the run: a reference that rises, a spill. Dots that can
// resume from sums shift them in registers as they go.
#pragma once
#include "fixed/state.hpp"

namespace fovea::fixed {

template <class Form>
FOVEA_INLINE void clear(int32_t* o, ptrdiff_t count) {
  for (ptrdiff_t i = 0; i < count; i += Form::lanes) Form::store(o + i, Form::spread(0));
}

// Registers of one row and column.
template <class Form>
struct sum_registers {
  static constexpr int count = 16 / Form::values_dot::slices / Form::lanes;
  typename Form::reg x[count];

  FOVEA_INLINE void load(const int32_t* from) {
#pragma GCC unroll 16
    for (int j = 0; j < count; ++j) x[j] = Form::load(from + j * Form::lanes);
  }
  FOVEA_INLINE void store(int32_t* to) const {
#pragma GCC unroll 16
    for (int j = 0; j < count; ++j) Form::store(to + j * Form::lanes, x[j]);
  }
  FOVEA_INLINE void shift_round(int by) {
#pragma GCC unroll 16
    for (int j = 0; j < count; ++j) x[j] = by > 30 ? Form::spread(0) : Form::shift_round(x[j], by);
  }
};

template <class Form>
static void shift_output(const tile_state<Form>& t, int r, int count, int b) {
  const ptrdiff_t width = t.p.width;
  for (int m = r; m < r + count; ++m) {
    const int by = *t.rise_of(m, b);
    if (!by) continue;
    sum_registers<Form> sums;
    int32_t *o = t.output(m), *const end = o + width;
    for (; o != end; o += sums.count * Form::lanes) {
      sums.load(o);
      sums.shift_round(by);
      sums.store(o);
    }
  }
}

template <class Form, bool Spill, int M, int N>
FOVEA_INLINE void add_sums(const tile_state<Form>& t, const tile_sums<typename Form::values_dot, M, N>& acc,
                           int32_t* o) {
  using dot = typename Form::values_dot;
  constexpr int lanes = 16 / dot::slices;
  const ptrdiff_t width = t.p.width; // what a store might change is read once
  const int spill = t.p.spill;
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m, o += width)
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) {
      typename Form::reg x[lanes / Form::lanes];
      dot::fold(acc.row[m][i].at, 0, x);
#pragma GCC unroll 16
      for (int j = 0; j < lanes / Form::lanes; ++j) {
        int32_t* to = o + i * lanes + j * Form::lanes;
        Form::store(to, Form::add(Form::load(to), Spill ? Form::shift_round(x[j], spill) : x[j]));
      }
    }
}

// Rows r .. r + M - 1 and N columns of values from lane c on, over `blocks` blocks; `depth` keys of the last
// one are seen.
template <class Form, int M, int N, int Ahead>
__attribute__((noinline)) void add_columns(const tile_state<Form>& t, const typename Form::value_byte* values,
                                           int r, int b, int blocks, int depth, int c) {
  using dot = typename Form::values_dot;
  constexpr ptrdiff_t panel = 16 * fixed_block;
  using state = tile_state<Form>;
  tile_sums<dot, M, N> acc;
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) dot::begin(acc.row[m][i].at, [](int) { return 0; });
  const auto* a = t.weights_of(r, b);
  values += column_at<dot>(c * dot::slices / 16, panel);
  for (int k = 0; k < blocks;
       ++k, a += state::side * dot::block_step, values += fixed_block * static_cast<ptrdiff_t>(t.p.width))
    multiply<dot, state::row_step, Ahead>(a, state::chunk_step, values, panel,
                                          k + 1 < blocks ? fixed_block : depth, acc);
  int32_t* o = t.output(r) + c;
  if (t.p.spill)
    add_sums<Form, true, M, N>(t, acc, o);
  else
    add_sums<Form, false, M, N>(t, acc, o);
}

template <class Form, int M, int N>
FOVEA_INLINE void load_sums(const int32_t* o, ptrdiff_t width,
                            tile_sums<typename Form::values_dot, M, N>& acc) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m, o += width)
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) {
      Form::values_dot::resume(acc.row[m][i].at, o + i * 16 / Form::values_dot::slices);
    }
}

template <class Form, int M, int N>
FOVEA_INLINE void store_sums(const tile_sums<typename Form::values_dot, M, N>& acc, int32_t* o,
                             ptrdiff_t width) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m, o += width)
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) {
      sum_registers<Form> sums;
      Form::values_dot::fold(acc.row[m][i].at, 0, sums.x);
      sums.store(o + i * sums.count * Form::lanes);
    }
}

template <class Form, int M, int N>
FOVEA_INLINE void shift_sums(const tile_state<Form>& t, int r, int b,
                             tile_sums<typename Form::values_dot, M, N>& acc) {
#pragma GCC unroll 16
  for (int m = 0; m < M; ++m)
    if (const int by = *t.rise_of(r + m, b))
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        sum_registers<Form> sums;
        Form::values_dot::fold(acc.row[m][i].at, 0, sums.x);
        sums.shift_round(by);
        Form::values_dot::resume(acc.row[m][i].at, sums.x);
      }
}

// Whether sums begin at nothing by themselves. Narrow registers would take more instructions to choose than
// to clear output first.
template <class Form>
constexpr bool begins_sums = Form::values_dot::resumes && Form::lanes >= 8;

static constexpr int32_t unwritten_sums[64] = {}; // sums of a row whose output is unwritten

// The same where sums go on from those in memory, and are shifted in registers before a block at which the
// reference of their row rises.
template <class Form, int M, int N, int Ahead>
FOVEA_INLINE void resume_columns(const tile_state<Form>& t, const typename Form::value_byte* values, int r,
                                 int b, int blocks, int depth, int c) {
  using dot = typename Form::values_dot;
  constexpr ptrdiff_t panel = 16 * fixed_block;
  using state = tile_state<Form>;
  tile_sums<dot, M, N> acc;
  static_assert(!begins_sums<Form> || N * 16 / dot::slices <= 64);
  const bool unwritten = begins_sums<Form> && (t.unwritten >> r & 1);
  load_sums<Form, M, N>(unwritten ? unwritten_sums : t.output(r) + c, unwritten ? 0 : t.p.width, acc);
  const auto* a = t.weights_of(r, b);
  values += column_at<dot>(c * dot::slices / 16, panel);
  for (int k = 0; k < blocks;
       ++k, a += state::side * dot::block_step, values += fixed_block * static_cast<ptrdiff_t>(t.p.width)) {
    if (t.risen[b + k] & rows_from(r, M)) shift_sums<Form, M, N>(t, r, b + k, acc);
    multiply<dot, state::row_step, Ahead>(a, state::chunk_step, values, panel,
                                          k + 1 < blocks ? fixed_block : depth, acc);
  }
  store_sums<Form, M, N>(acc, t.output(r) + c, t.p.width);
}

template <class Form, bool Spill, int M, int N, int Ahead>
FOVEA_INLINE void choose_columns(const tile_state<Form>& t, const typename Form::value_byte* values, int r,
                                 int b, int blocks, int depth, int c) {
  using dot = typename Form::values_dot;
  if constexpr (dot::resumes && !Spill && !(dot::adds_blocks && M == 2))
    return resume_columns<Form, M, N, Ahead>(t, values, r, b, blocks, depth, c);
  add_columns<Form, M, N, Ahead>(t, values, r, b, blocks, depth, c);
}

template <class Form, int M>
void add_blocks(const tile_state<Form>& t, const typename Form::value_byte* values, int r, int b,
                int blocks) {
  using dot = typename Form::values_dot;
  constexpr int lanes = 32 / M;
  const ptrdiff_t width = t.p.width, next = fixed_block * width;
  const auto* const a = t.weights_of(r, b);
  const uint8_t* const rise = t.rise_of(r, b);
  int32_t *o = t.output(r), *const end = o + width;
  for (; o != end; o += lanes, values += lanes * fixed_block) {
    if constexpr (M == 1)
      dot::add_blocks_of_one_row(a, values, next, blocks, rise, o);
    else
      dot::add_blocks(a, values, next, blocks, rise, o, width);
  }
}

template <class Form, class Shape, bool Spill>
__attribute__((noinline)) void add_group(const tile_state<Form>& t, const typename Form::value_byte* values,
                                         int r, int b, int blocks, int depth) {
  constexpr int M = Shape::value_rows, N = Shape::value_columns, lanes = 16 / Form::values_dot::slices,
                tile_lanes = N * lanes;
  if constexpr (Form::values_dot::adds_blocks && !Spill && 32 / M <= tile_lanes)
    if (t.p.width % (32 / M) == 0) {
      const int whole = depth == fixed_block ? blocks : blocks - 1;
      if (whole) add_blocks<Form, M>(t, values, r, b, whole);
      if (whole == blocks) return;
      values += whole * fixed_block * static_cast<ptrdiff_t>(t.p.width);
      b += whole;
      blocks = 1;
      if (M > 1 && (t.risen[b] & rows_from(r, M))) shift_output(t, r, M, b);
    }
  int c = 0;
  for (; c + tile_lanes <= t.p.width; c += tile_lanes)
    choose_columns<Form, Spill, M, N, Shape::ahead>(t, values, r, b, blocks, depth, c);
  if constexpr (tile_lanes > 16)
    for (; c < t.p.width; c += lanes)
      choose_columns<Form, Spill, M, 1, Shape::ahead>(t, values, r, b, blocks, depth, c);
}

// Blocks b .. end-1 of the run that begins at block `first`; `values` are those of block b.
template <class Form>
static void add_values(tile_state<Form>& t, const typename Form::value_byte* values, int64_t first, int b,
                       int end) {
  const bool all = t.all_see((first + b) * fixed_block, (first + end) * fixed_block);
  t.by_groups([&](auto shape, int row) {
    using Shape = decltype(shape);
    constexpr int M = Shape::value_rows;
    for (int r = row; r < row + Shape::rows; r += M) {
      const uint64_t mine = rows_from(r, M);
      const bool cuts = !Form::values_dot::resumes || t.p.spill; // a rising reference ends a pass
      const auto seen = [&](int block) {
        return all ? fixed_block : t.seen_keys(r, M, (first + block) * fixed_block);
      };
      for (int from = b, to; from < end; from = to) {
        to = from + 1;
        int depth = seen(from);
        if (!depth) continue;
        if (cuts && t.risen[from] & mine) shift_output(t, r, M, from);
        // Nothing is known of weights behind the last key that is seen of a block: it ends a pass.
        for (int next; to < end && depth == fixed_block && !t.p.spill && !(cuts && t.risen[to] & mine) &&
                       (next = seen(to)) != 0;
             ++to)
          depth = next;
        const auto add = t.p.spill ? add_group<Form, Shape, true> : add_group<Form, Shape, false>;
        add(t, values + static_cast<ptrdiff_t>(from - b) * fixed_block * t.p.width, r, from, to - from,
            up_to(depth, 16));
        if constexpr (begins_sums<Form>) t.unwritten &= ~mine;
      }
    }
  });
}

} // namespace fovea::fixed
