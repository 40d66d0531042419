// Rows that are alone in their tile and see the same keys, as in a decode: one row, with AVX-512 up to four.
// They read K and V once, so reading is the limit. One loop over the blocks keeps scores in registers. The
// scores of a block come before the values of the block before it: the weights, a chain of dependent
// operations, are computed while products run.
#pragma once
#include "fixed/value.hpp"
#include "fixed/weigh.hpp"

namespace fovea::fixed {

// The shape of one row is the last one.
template <class Shapes>
struct last_shape;
template <class First, class... Rest>
struct last_shape<fixed_shapes<First, Rest...>> : last_shape<fixed_shapes<Rest...>> {};
template <class Last>
struct last_shape<fixed_shapes<Last>> {
  static_assert(Last::rows == 1, "a row may be alone");
  using type = Last;
};
template <class Form>
using one_row_shape = typename last_shape<typename Form::shapes>::type;

// Panels that are arranged serve many rows.
template <class Form>
constexpr bool attends_few_rows = measures<Form> && sizeof(typename Form::value_byte) == 1;
template <class Form>
constexpr int most_few_rows = Form::lanes == 16 ? 4 : 1; // sixteen registers hold the sums of one row

// How many sums the steps of a panel join in turn, so that no product waits for the one before it. One row
// has as many registers of sums as the columns of its shape would take.
template <class Form, int M>
constexpr int key_chains = M == 1 ? one_row_shape<Form>::key_columns / Form::keys_dot::slices : 4;
template <class Form, int M>
constexpr int value_chains = M == 1 ? one_row_shape<Form>::value_columns / Form::values_dot::slices : 2;
// Panels whose scores are measured at once.
template <class Form, int M>
constexpr int measured_panels = M == 1 ? one_row_shape<Form>::key_columns / Form::keys_dot::slices : 2;
// Panels that are read side by side. One after the other, cores prefetch them better from memory; side by
// side, rows load each number of queries or weights once for both.
template <int M>
constexpr int key_panels = M == 4 ? 2 : 1;
template <int M>
constexpr int value_panels = M == 1 ? 1 : 2;

// Several rows take so long for a panel that cores do not prefetch the next ones in time. One row prefetches
// nothing.
struct panel_prefetch {
  const bool zen5 = is_zen5();
  FOVEA_INLINE void operator()(const void* p) const {
    const char* const at = static_cast<const char*>(p);
    zen5 ? __builtin_prefetch(at + 6144, 0, 3) : __builtin_prefetch(at + 8192, 0, 2);
  }
  // Tables of the next block of keys: few lines, which cores do not prefetch between those of K and V.
  template <class T>
  FOVEA_INLINE void block_behind(const T* table) const {
    if (!zen5) return;
#pragma GCC unroll 4
    for (int i = fixed_block; i < 2 * fixed_block; i += 64 / sizeof(T)) __builtin_prefetch(table + i);
  }
};

// M rows times the lanes of P panels side by side.
template <class Form, class Dot, int M, int P, int RowStep, int Step, int Chains, class Byte, class Start>
FOVEA_INLINE void multiply_few_rows(const typename Dot::element* a, const Byte* b, ptrdiff_t panel, int depth,
                                    Start start, const panel_prefetch& prefetch,
                                    typename Form::reg (&x)[M][P * 16 / Form::lanes]) {
  constexpr int S = P * Dot::slices, each = 16 / Dot::slices / Form::lanes, steps = Chains < 2 ? 2 : Chains;
  static_assert(16 % (steps * Dot::deep) == 0, "depths are multiples of 16");
  tile_sums<Dot, M, S> acc[Chains];
#pragma GCC unroll 4
  for (int c = 0; c < Chains; ++c)
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int i = 0; i < S; ++i) Dot::begin(acc[c].row[m][i].at, [&](int) { return c ? 0 : start(m); });
  const Byte* ahead = b; // in the order of memory
  for (int k = 0; k < depth; k += steps * Dot::deep)
#pragma GCC unroll 4
    for (int i = 0; i < steps; ++i, a += Step, b += 16 * Dot::deep) {
      column_cursor<Dot, Byte, S> here(b, panel);
#pragma GCC unroll 2
      for (int n = 0; M > 1 && n < P; ++n, ahead += 64) prefetch(ahead);
      multiply_chunk<Dot, RowStep, 0, Byte>(a, here, acc[i % Chains]);
    }
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int i = 0; i < S; ++i) {
      typename Form::reg total[each];
      fold_chains<Form, Dot, Chains>([&](int c) FOVEA_LAMBDA_INLINE -> auto& { return acc[c].row[m][i].at; },
                                     total);
#pragma GCC unroll 4
      for (int j = 0; j < each; ++j) x[m][i * each + j] = total[j];
    }
}

// Distances of the first n keys of a block, rounded up to the panels that are measured at once.
template <class Form, int M, bool Multiplied>
FOVEA_INLINE void measure_few_rows(const tile_state<Form>& t, const typename Form::weigher& w,
                                   const panel_prefetch& prefetch, const typename Form::key_byte* keys,
                                   const int32_t* multipliers, int n,
                                   int16_t (&distances)[M][2 * fixed_block]) {
  using dot = typename Form::keys_dot;
  constexpr int P = key_panels<M>, panels = measured_panels<Form, M>, each = 16 / Form::lanes;
  const int depth = t.p.depth;
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(depth);
  for (int key = 0; key < n; key += 16 * panels) {
    typename Form::reg scores[M][panels * each];
#pragma GCC unroll 4
    for (int i = 0; i < panels; i += P, keys += P * panel) {
      typename Form::reg x[M][P * each];
      multiply_few_rows<Form, dot, M, P, dot::deep, M * dot::deep, key_chains<Form, M> / P>(
          t.q, keys, panel, depth, [&](int m) { return t.rows[m].start; }, prefetch, x);
#pragma GCC unroll 4
      for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
        for (int j = 0; j < P * each; ++j) scores[m][i * each + j] = x[m][j];
    }
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m) {
      const fixed_row& row = t.rows[m];
#pragma GCC unroll 16
      for (int i = 0; Multiplied && i < panels * each; ++i)
        scores[m][i] = octaves_by<Form>(multipliers + key + i * Form::lanes, row, scores[m][i]);
      w.template measure<Multiplied>(scores[m], Form::weigher::scale_of(*row.scale), row.reference,
                                     distances[m] + key);
    }
  }
}

// Values of a block times weights join the sums of rows; rounded where the plan says so. `depth` is a
// multiple of 16.
template <class Form, int M>
FOVEA_INLINE void add_few_rows(const tile_state<Form>& t, const panel_prefetch& prefetch,
                               const typename Form::value_byte* values, int depth) {
  using state = tile_state<Form>;
  constexpr int P = value_panels<M>;
  const ptrdiff_t width = t.p.width;
  const int spill = t.p.spill;
  const typename Form::reg half = Form::spread(spill ? 1 << (spill - 1) : 0);
  const auto by = Form::by(spill);
  const auto* const weights = t.weights_of(0, 0);
  int32_t *o = t.o, *const end = o + width;
  const auto add = [&](auto panels) FOVEA_LAMBDA_INLINE {
    constexpr int N = decltype(panels)::value, regs = N * 16 / Form::lanes;
    typename Form::reg sums[M][regs];
    multiply_few_rows<Form, typename Form::values_dot, M, N, state::row_step, state::chunk_step,
                      value_chains<Form, M> / P>(
        weights, values, 16 * fixed_block, depth, [](int) { return 0; }, prefetch, sums);
#pragma GCC unroll 4
    for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
      for (int j = 0; j < regs; ++j) {
        int32_t* const to = o + m * width + j * Form::lanes;
        Form::store(to, Form::add(Form::load(to), Form::shift_right(Form::add(sums[m][j], half), by)));
      }
    o += 16 * N;
    values += 16 * fixed_block * N;
  };
  while (end - o >= 16 * P) add(std::integral_constant<int, P>{});
  if (P > 1 && o != end) add(std::integral_constant<int, 1>{});
}

// Blocks first .. end - 1, of which rows see the keys before their `to`. Keys with multipliers have a loop of
// their own: a branch around the scores costs 3 to 7 %, a function for scores with multipliers 10 %.
template <class Form, int M, bool Multiplied>
__attribute__((noinline)) void attend_few_rows_of(tile_state<Form>& t, int32_t first, int32_t end) {
  const typename Form::weigher w;
  const panel_prefetch prefetch;
  fixed_panels& panels = *t.job.panels;
  int seen = 0;
  for (int32_t block = first;; ++block) {
    alignas(64) int16_t distances[M][2 * fixed_block];
    int32_t room[fixed_block];
    const int before = seen;
    if (block < end) {
      seen = smaller(t.rows[0].to - block * fixed_block, fixed_block);
      const auto* const keys = reinterpret_cast<const typename Form::key_byte*>(panels.keys(block));
      const int32_t* multipliers = nullptr;
      if (Multiplied)
        multipliers = seen == fixed_block ? panels.multipliers(block) : multipliers_in(t, block, room);
      if (Multiplied && M > 1) prefetch.block_behind(multipliers);
      measure_few_rows<Form, M, Multiplied>(t, w, prefetch, keys, multipliers, seen, distances);
    }
    if (before)
      add_few_rows<Form, M>(t, prefetch,
                            reinterpret_cast<const typename Form::value_byte*>(panels.values(block - 1)),
                            up_to(before, 16));
    if (block == end) return;
    const int16_t* const factors = t.p.value_weights.data ? value_weights_in(t, block) : nullptr;
    if (factors && M > 1) prefetch.block_behind(factors);
    for (int m = 0; m < M; ++m) {
      if (seen < fixed_block) w.hide(distances[m], seen, fixed_block);
      const int by = w.template weigh<fixed_block>(distances[m], t.weights_of(m, 0), t.sum + m * Form::lanes,
                                                   factors);
      if (__builtin_expect(by == 0, 1)) continue;
      raise_reference(t, t.rows[m], 0, m, by);
      if (t.risen[0]) shift_output(t, m, 1, 0);
      t.risen[0] = 0;
    }
  }
}
template <class Form, int M>
void attend_few_rows_of(tile_state<Form>& t, int32_t first, int32_t end) {
  t.p.multipliers.data ? attend_few_rows_of<Form, M, true>(t, first, end)
                       : attend_few_rows_of<Form, M, false>(t, first, end);
}

// Blocks first .. end - 1 of a tile that takes_few_rows.
template <class Form>
void attend_few_rows_from(tile_state<Form>& t, int32_t first, int32_t end) {
  if constexpr (begins_sums<Form>) {
    if (t.unwritten) clear<Form>(t.o, static_cast<ptrdiff_t>(t.job.rows) * t.p.width);
    t.unwritten = 0;
  }
  if constexpr (most_few_rows<Form> == 4) {
    if (t.job.rows == 2) return attend_few_rows_of<Form, 2>(t, first, end);
    if (t.job.rows == 3) return attend_few_rows_of<Form, 3>(t, first, end);
    if (t.job.rows == 4) return attend_few_rows_of<Form, 4>(t, first, end);
  }
  attend_few_rows_of<Form, 1>(t, first, end);
}

// Whether this loop takes a tile from this block on: rows that see the same keys, all of them from there up
// to their last, without options that touch single keys but multipliers.
template <class Form>
bool takes_few_rows(const tile_state<Form>& t, int32_t block) {
  const fixed_plan& p = t.p;
  const fixed_row &row = t.rows[0], &last = t.rows[t.job.rows - 1];
  const int32_t at = block * fixed_block;
  if (t.job.rows > most_few_rows<Form> || row.from != last.from || row.to != last.to) return false;
  if (row.from > at || at >= row.to || p.see.first_key > at) return false;
  if (p.mask.data || touches(p.tree, at, row.to - at)) return false;
  return !t.by_key || (p.multipliers.data && !p.sums.data && !p.bias.data && !p.alibi.data);
}

} // namespace fovea::fixed
