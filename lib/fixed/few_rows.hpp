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

// How M rows are multiplied by panels of keys.
//
// panels: read side by side. One after the other, cores prefetch them better from memory; side by side, rows
// load each number of queries or weights once for all of them.
// chains: sums that the steps of a panel join in turn, so that no product waits for the one before it. One
// row has as many registers of sums as the columns of its shape would take.
// row_step, step: elements of `a` from one row to the next, and from one chunk of all rows to the next.
template <class Form, int M>
struct few_rows_by_keys {
  using dot = typename Form::keys_dot;
  static constexpr int panels_of_shape = one_row_shape<Form>::key_columns / dot::slices;
  static constexpr int measured = M == 1 ? panels_of_shape : 2; // panels whose scores are measured at once
  static constexpr int panels = M == 4 ? 2 : 1, chains = (M == 1 ? panels_of_shape : 4) / panels;
  static constexpr int row_step = dot::deep, step = M * dot::deep;
};
// By panels of values: so many side by side, or one that is left.
template <int M>
constexpr int value_panels = M == 1 ? 1 : 2;
template <class Form, int M, int Panels>
struct few_rows_by_values {
  using dot = typename Form::values_dot;
  static constexpr int panels = Panels;
  static constexpr int chains = (M == 1 ? one_row_shape<Form>::value_columns / dot::slices : 2) /
                                value_panels<M>;
  static constexpr int row_step = tile_state<Form>::row_step, step = tile_state<Form>::chunk_step;
};

// Several rows take so long for a panel that cores do not prefetch the next ones in time. One row prefetches
// nothing.
struct panel_prefetch {
  const bool zen5 = is_zen5();
  // The line of panels that is some KB ahead.
  template <bool Zen5>
  static FOVEA_INLINE void line(const void* p) {
    const char* const at = static_cast<const char*>(p);
    Zen5 ? __builtin_prefetch(at + 6144, 0, 3) : __builtin_prefetch(at + 8192, 0, 2);
  }
  // Tables of the next block of keys: few lines, which cores do not prefetch between those of K and V.
  template <class T>
  FOVEA_INLINE void block_behind(const T* table) const {
    if (!zen5) return;
#pragma GCC unroll 4
    for (int i = fixed_block; i < 2 * fixed_block; i += 64 / sizeof(T)) __builtin_prefetch(table + i);
  }
};

// M rows times the lanes of panels side by side, which lie `panel` bytes apart. start(m) begins the sums of
// row m.
template <class Form, class Product, int M, class Byte, class Start>
FOVEA_INLINE void multiply_few_rows(const typename Product::dot::element* a, const Byte* b, ptrdiff_t panel,
                                    int depth, Start start, const panel_prefetch& prefetch,
                                    typename Form::reg (&x)[M][Product::panels * 16 / Form::lanes]) {
  using dot = typename Product::dot;
  constexpr int P = Product::panels, S = P * dot::slices, each = 16 / dot::slices / Form::lanes;
  constexpr int chains = Product::chains, steps = chains < 2 ? 2 : chains;
  static_assert(16 % (steps * dot::deep) == 0, "depths are multiples of 16");
  tile_sums<dot, M, S> acc[chains];
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int i = 0; i < S; ++i) {
      dot::begin(acc[0].row[m][i].at, [&](int) { return start(m); });
#pragma GCC unroll 4
      for (int c = 1; c < chains; ++c) dot::begin(acc[c].row[m][i].at, [](int) { return 0; });
    }
  // A loop for each kind of core: a choice at each line takes a branch, around which gcc copies all sums.
  const auto add_steps = [&](auto zen5) FOVEA_LAMBDA_INLINE {
    const typename dot::element* row = a;
    const Byte *at = b, *ahead = b; // in the order of memory
    for (int k = 0; k < depth; k += steps * dot::deep)
#pragma GCC unroll 4
      for (int i = 0; i < steps; ++i, row += Product::step, at += 16 * dot::deep) {
        column_cursor<dot, Byte, S> here(at, panel);
#pragma GCC unroll 2
        for (int n = 0; M > 1 && n < P; ++n, ahead += 64)
          prefetch.template line<decltype(zen5)::value>(ahead);
        multiply_chunk<dot, Product::row_step, 0, Byte>(row, here, acc[i % chains]);
      }
  };
  M > 1 && !prefetch.zen5 ? add_steps(std::false_type{}) : add_steps(std::true_type{});
#pragma GCC unroll 4
  for (int m = 0; m < M; ++m)
#pragma GCC unroll 4
    for (int i = 0; i < S; ++i) {
      typename Form::reg total[each];
      fold_chains<Form, dot, chains>([&](int c) FOVEA_LAMBDA_INLINE -> auto& { return acc[c].row[m][i].at; },
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
  using product = few_rows_by_keys<Form, M>;
  constexpr int P = product::panels, panels = product::measured, each = 16 / Form::lanes;
  const int depth = t.p.depth;
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(depth);
  for (int key = 0; key < n; key += 16 * panels) {
    typename Form::reg scores[M][panels * each];
#pragma GCC unroll 4
    for (int i = 0; i < panels; i += P, keys += P * panel) {
      typename Form::reg x[M][P * each];
      multiply_few_rows<Form, product>(
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
    multiply_few_rows<Form, few_rows_by_values<Form, M, N>>(
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
