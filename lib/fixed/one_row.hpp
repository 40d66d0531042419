// A row alone in its tile, as in a decode with one query per KV head. It reads K and V once, so reading is
// the limit. One loop over the blocks keeps scores in registers. The scores of a block come before the values
// of the block before it: the weights, a chain of dependent operations, are computed while products run.
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

// One row times the sixteen lanes of a panel. Panels are read one after the other, because cores prefetch one
// stream of memory better than four. Steps join Chains sums in turn, so that no product waits for the one
// before it: as many registers of sums as the columns of the shape would take.
template <class Form, class Dot, int Step, int Chains, class Byte>
FOVEA_INLINE void multiply_one_row(const typename Dot::element* a, const Byte* b, int depth, int32_t start,
                                   typename Form::reg (&x)[16 / Form::lanes]) {
  constexpr int S = Dot::slices, each = 16 / S / Form::lanes, steps = Chains < 2 ? 2 : Chains;
  static_assert(16 % (steps * Dot::deep) == 0, "depths are multiples of 16");
  tile_sums<Dot, 1, S> acc[Chains];
#pragma GCC unroll 4
  for (int c = 0; c < Chains; ++c)
#pragma GCC unroll 4
    for (int i = 0; i < S; ++i) Dot::begin(acc[c].row[0][i].at, [&](int) { return c ? 0 : start; });
  for (int k = 0; k < depth; k += steps * Dot::deep)
#pragma GCC unroll 4
    for (int i = 0; i < steps; ++i, a += Step, b += 16 * Dot::deep) {
      column_cursor<Dot, Byte, S> here(b, 0);
      multiply_chunk<Dot, 0, 0, Byte>(a, here, acc[i % Chains]);
    }
#pragma GCC unroll 4
  for (int i = 0; i < S; ++i) {
    typename Form::reg total[each], more[each];
    Dot::fold(acc[0].row[0][i].at, 0, total);
#pragma GCC unroll 4
    for (int c = 1; c < Chains; ++c) {
      Dot::fold(acc[c].row[0][i].at, 0, more);
#pragma GCC unroll 4
      for (int j = 0; j < each; ++j) total[j] = Form::add(total[j], more[j]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < each; ++j) x[i * each + j] = total[j];
  }
}

// Distances of the first n keys of a block, rounded up to a tile.
template <class Form, bool Multiplied>
FOVEA_INLINE void measure_one_row(const tile_state<Form>& t, const typename Form::weigher& w,
                                  const typename Form::weigher::distance_scale& scale,
                                  const typename Form::key_byte* keys, const int32_t* multipliers, int n,
                                  int16_t* distances) {
  using dot = typename Form::keys_dot;
  constexpr int panels = one_row_shape<Form>::key_columns / dot::slices, each = 16 / Form::lanes;
  const fixed_row& row = t.rows[0];
  const int depth = t.p.depth;
  for (int key = 0; key < n; key += 16 * panels) {
    typename Form::reg scores[panels * each];
#pragma GCC unroll 4
    for (int i = 0; i < panels; ++i, keys += 16 * static_cast<ptrdiff_t>(depth)) {
      typename Form::reg x[each];
      multiply_one_row<Form, dot, dot::deep, panels>(t.q, keys, depth, row.start, x);
#pragma GCC unroll 4
      for (int j = 0; j < each; ++j) scores[i * each + j] = x[j];
    }
#pragma GCC unroll 16
    for (int i = 0; Multiplied && i < panels * each; ++i)
      scores[i] = octaves_by<Form>(multipliers + key + i * Form::lanes, row, scores[i]);
    w.template measure<Multiplied>(scores, scale, row.reference, distances + key);
  }
}

// Values of a block times weights; rounded where the plan says so. `depth` is a multiple of 16.
template <class Form>
FOVEA_INLINE void add_one_row(const tile_state<Form>& t, const typename Form::value_byte* values, int depth) {
  using dot = typename Form::values_dot;
  constexpr int chains = one_row_shape<Form>::value_columns / dot::slices;
  const int width = t.p.width, spill = t.p.spill;
  const typename Form::reg half = Form::spread(spill ? 1 << (spill - 1) : 0);
  const auto by = Form::by(spill);
  const auto* const weights = t.weights_of(0, 0);
  int32_t *o = t.o, *const end = o + width;
  for (; o != end; values += 16 * fixed_block) {
    typename Form::reg sums[16 / Form::lanes];
    multiply_one_row<Form, dot, tile_state<Form>::chunk_step, chains>(weights, values, depth, 0, sums);
#pragma GCC unroll 4
    for (int j = 0; j < 16 / Form::lanes; ++j, o += Form::lanes)
      Form::store(o, Form::add(Form::load(o), Form::shift_right(Form::add(sums[j], half), by)));
  }
}

// Panels that are arranged serve many rows.
template <class Form>
constexpr bool attends_one_row = measures<Form> && sizeof(typename Form::value_byte) == 1;

// Blocks first .. end - 1, of which the row sees the keys before row.to. Keys with multipliers have a loop of
// their own: a branch around the scores costs 3 to 7 %, a function for scores with multipliers 10 %.
template <class Form, bool Multiplied>
__attribute__((noinline)) void attend_one_row(tile_state<Form>& t, int32_t first, int32_t end) {
  const typename Form::weigher w;
  fixed_row& row = t.rows[0];
  fixed_panels& panels = *t.job.panels;
  const auto scale = Form::weigher::scale_of(*row.scale);
  int seen = 0;
  for (int32_t block = first;; ++block) {
    alignas(64) int16_t distances[2 * fixed_block];
    int32_t room[fixed_block];
    const int before = seen;
    if (block < end) {
      seen = smaller(row.to - block * fixed_block, fixed_block);
      const auto* const keys = reinterpret_cast<const typename Form::key_byte*>(panels.keys(block));
      const int32_t* multipliers = nullptr;
      if (Multiplied)
        multipliers = seen == fixed_block ? key_multipliers_of(t.p, t.job.kv_head, block * fixed_block)
                                          : multipliers_in(t, block, room);
      measure_one_row<Form, Multiplied>(t, w, scale, keys, multipliers, seen, distances);
    }
    if (before)
      add_one_row(t, reinterpret_cast<const typename Form::value_byte*>(panels.values(block - 1)),
                  up_to(before, 16));
    if (block == end) return;
    if (seen < fixed_block) w.hide(distances, seen, fixed_block);
    const int16_t* const factors = t.p.value_weights.data ? value_weights_in(t, block) : nullptr;
    const int by = w.template weigh<fixed_block>(distances, t.weights_of(0, 0), t.sum, factors);
    if (__builtin_expect(by == 0, 1)) continue;
    raise_reference(t, row, 0, 0, by);
    if (t.risen[0]) shift_output(t, 0, 1, 0);
    t.risen[0] = 0;
  }
}

// Whether attend_one_row takes a tile from this block on: a row that sees all keys from there up to its last,
// without options that touch single keys but multipliers.
template <class Form>
bool takes_one_row(const tile_state<Form>& t, int32_t block) {
  const fixed_plan& p = t.p;
  const fixed_row& row = t.rows[0];
  const int32_t at = block * fixed_block;
  if (t.job.rows != 1) return false;
  if (row.from > at || at >= row.to || p.see.first_key > at) return false;
  if (p.mask.data || touches(p.tree, at, row.to - at)) return false;
  return !t.by_key || (p.multipliers.data && !p.sums.data && !p.bias.data && !p.alibi);
}

} // namespace fovea::fixed
