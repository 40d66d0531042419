// Weights of a block of keys from the scores of a group of rows: what rows do not see is hidden, references
// rise where they must.
#pragma once
#include "fixed/finish.hpp"
#include "fixed/octaves.hpp"
#include "fixed/score.hpp"

namespace fovea::fixed {

// An unseen key gets the score whose octaves are -multiplier / 2: weight 0, like every absent one.
static inline int32_t absent_score(const fixed_row& x) { return -(1 << (x.scale->score_shift - 1)); }

// Weights of unseen keys are 0, but the memory behind their numbers must not be read.
template <class Form>
const int16_t* value_weights_in(tile_state<Form>& t, int64_t block) {
  const int16_t* all = t.job.panels->value_weights(static_cast<int32_t>(block));
  if (!all) return nullptr;
  const int64_t at = block * fixed_block, end = t.job.panels->end_of_tables(static_cast<int32_t>(block));
  if (t.p.see.first_key <= at && at + fixed_block <= end) return all;
  for (int j = 0; j < fixed_block; ++j)
    t.value_weights[j] = t.p.see.first_key <= at + j && at + j < end ? all[j] : int16_t{0};
  return t.value_weights;
}

// The first n scores of row r, rounded up to two registers, become distances: in place, so all of them are
// loaded first.
template <class Form, bool Octaves, int Keys>
FOVEA_INLINE void measure(const typename Form::weigher& w, const tile_state<Form>& t, int r, int n) {
  constexpr int pairs = Keys / Form::lanes / 2;
  int32_t* const s = t.scores(r);
  const auto scale = Form::weigher::scale_of(*t.rows[r].scale);
  typename Form::reg x[pairs][2];
#pragma GCC unroll 16
  for (int i = 0; i < 2 * pairs; ++i) x[i / 2][i % 2] = Form::load(s + i * Form::lanes);
#pragma GCC unroll 16
  for (int i = 0; i < pairs; ++i)
    if (2 * i * Form::lanes < n)
      w.template measure<Octaves>(x[i], scale, t.rows[r].reference, distances_in(s) + 2 * i * Form::lanes);
}

// The multipliers of the keys of a block where nothing else touches single keys; 0 for keys that the call
// does not give, which no row sees. Null: there are none, or more than they.
template <class Form>
const int32_t* multipliers_in(const tile_state<Form>& t, int64_t block, int32_t (&room)[fixed_block]) {
  const fixed_plan& p = t.p;
  if constexpr (!measures<Form>) return nullptr;
  if (!p.multipliers.data || p.sums.data || p.bias.data || p.alibi.data) return nullptr;
  const int64_t at = block * fixed_block, from = larger(at, p.see.first_key),
                to = smaller(at + fixed_block, t.job.panels->end_of_tables(static_cast<int32_t>(block)));
  if (from >= to) return nullptr;
  const int32_t* const all = t.job.panels->multipliers(static_cast<int32_t>(block));
  if (to - from == fixed_block) return all;
  for (int j = 0; j < fixed_block; ++j) room[j] = from <= at + j && at + j < to ? all[j] : 0;
  return room;
}
template <class Form, int Keys>
void multiply_scores(const tile_state<Form>& t, int r) {
  int32_t* const s = t.scores(r);
#pragma GCC unroll 16
  for (int i = 0; i < Keys; i += Form::lanes)
    Form::store(s + i, octaves_by<Form>(t.multipliers + i, t.rows[r], Form::load(s + i)));
}

// By how many octaves the reference of row r rises.
template <class Form, bool Octaves, int Keys>
FOVEA_INLINE int weigh(const typename Form::weigher& w, const tile_state<Form>& t, int b, int r,
                       const int16_t* value_weights) {
  const fixed_row& x = t.rows[r];
  int32_t *const s = t.scores(r), *const sum = t.sum + r * Form::lanes;
  if constexpr (measures<Form>) {
    measure<Form, Octaves, Keys>(w, t, r, Keys);
    return w.template weigh<Keys>(distances_in(s), t.weights_of(r, b), sum, value_weights);
  } else {
    return w.template weigh<Octaves, Keys>(s, *x.scale, x.reference, t.weights_of(r, b), sum, value_weights);
  }
}

// The reference of row r has risen before its weights of block b were summed.
template <class Form>
FOVEA_INLINE void raise_reference(tile_state<Form>& t, fixed_row& x, int b, int r, int by) {
  const bool first = x.reference == fixed_lowest_reference; // nothing to shift yet
  x.reference += by;
  if (first) return;
  *t.rise_of(r, b) = static_cast<uint8_t>(by > 30 ? 32 : by);
  t.risen[b] |= uint64_t{1} << r;
}

// Rows that see less of the block than others, or have options that touch single keys: bit r of `which` is
// row r.
template <class Form, int Keys>
__attribute__((noinline)) void weigh_unusual(tile_state<Form>& t, int64_t block, int b, uint64_t which,
                                             const int16_t* value_weights) {
  const typename Form::weigher w;
  const int32_t* const all = t.job.panels->multipliers(static_cast<int32_t>(block));
  for (; which; which &= which - 1) {
    const int r = __builtin_ctzll(which);
    fixed_row& x = t.rows[r];
    int32_t* const s = t.scores(r);
    const seen_of_block seen = seen_in(t.p, x, block);
    path_in_block path;
    const key_options options = options_in(t.p, x, t.job.kv_head, block, all, seen, path);
    if (x.by_key)
      octaves_in_block(options, t.p, x, seen, s);
    else if (options.mask)
      hide_masked(options, seen, s, absent_score(x));
    hide_unseen(seen, s, Keys, x.by_key ? fixed_absent : absent_score(x));
    const int by = x.by_key ? weigh<Form, true, Keys>(w, t, b, r, value_weights)
                            : weigh<Form, false, Keys>(w, t, b, r, value_weights);
    if (by) raise_reference(t, x, b, r, by);
  }
}

// Rows that see the first n keys of the block, as all may, and have no option that touches single keys but
// multipliers. No row sees more.
template <class Form>
uint64_t usual_rows(const tile_state<Form>& t, int64_t at, int n, bool all) {
  if (t.p.mask.data || t.p.in_tree(at, fixed_block)) return 0;
  const bool by_key = t.by_key && !t.multipliers;
  if (!by_key && all) return rows_from(0, t.job.rows);
  uint64_t usual = 0;
  for (int r = 0; r < t.job.rows; ++r) {
    const fixed_row& x = t.rows[r];
    usual |= uint64_t{!(by_key && x.by_key) && x.from <= at && at + n <= x.to} << r;
  }
  return usual;
}

template <class Form, int Keys>
void measure_rows(const tile_state<Form>& t, uint64_t which, int n) {
  const typename Form::weigher w;
  for (; which; which &= which - 1) {
    const int r = __builtin_ctzll(which);
    if (!t.multipliers) {
      measure<Form, false, Keys>(w, t, r, n);
      continue;
    }
    multiply_scores<Form, Keys>(t, r);
    measure<Form, true, Keys>(w, t, r, n);
  }
}

// Usual rows do not see the keys from n on.
template <class Form, int Keys>
void hide_rest(const tile_state<Form>& t, uint64_t which, int n) {
  const typename Form::weigher w;
  for (; which; which &= which - 1) {
    const int r = __builtin_ctzll(which);
    int32_t* const s = t.scores(r);
    if constexpr (measures<Form>)
      w.hide(distances_in(s), n, Keys);
    else
      fill(s + n, Keys - n, absent_score(t.rows[r]));
  }
}

// A loop without calls, so that constants stay in registers. Weighers of distances find these in scratch.
template <class Form, int Keys, bool Weighted>
__attribute__((noinline)) void weigh_rows(tile_state<Form>& t, int b, uint64_t which,
                                          const int16_t* value_weights) {
  const int16_t* const factors = Weighted ? value_weights : nullptr;
  const typename Form::weigher w;
  fixed_row* x = t.rows; // what a store might change is read once
  int32_t* s = t.s;
  int32_t* sum = t.sum;
  auto* to = t.weights_of(0, b);
  using state = tile_state<Form>;
  constexpr int last_in_group = state::side - 1, next_group = state::p_step - last_in_group * state::p_chunk;
  for (int r = 0; which; ++r, ++x, which >>= 1, s += score_step, sum += Form::lanes,
           to += (r & last_in_group) ? state::p_chunk : next_group) {
    if (!(which & 1)) continue;
    int by;
    if constexpr (measures<Form>)
      by = w.template weigh<Keys>(distances_in(s), to, sum, factors);
    else
      by = w.template weigh<false, Keys>(s, *x->scale, x->reference, to, sum, factors);
    if (by) raise_reference(t, *x, b, r, by);
  }
}

// Bit r of `usual` and `scored`: row r is one of usual_rows, has scores; of `measured`: it has distances
// instead.
struct rows_of_block {
  uint64_t usual = 0, scored = 0, measured = 0;
};

// Weights of the first Keys keys of the block, of which rows see n at most.
template <class Form, int Keys>
void weigh_keys(tile_state<Form>& t, int64_t block, int b, int n, const rows_of_block& rows) {
  const int16_t* const value_weights = value_weights_in(t, block);
  if constexpr (measures<Form>) measure_rows<Form, Keys>(t, rows.usual & ~rows.measured, n);
  if (n < Keys) hide_rest<Form, Keys>(t, rows.usual, n);
  value_weights ? weigh_rows<Form, Keys, true>(t, b, rows.usual, value_weights)
                : weigh_rows<Form, Keys, false>(t, b, rows.usual, nullptr);
  const uint64_t unusual = rows.scored & ~rows.usual;
  if (unusual) weigh_unusual<Form, Keys>(t, block, b, unusual, value_weights);
}

template <class Form>
void weigh_block(tile_state<Form>& t, int64_t block, int b, int n, const rows_of_block& rows) {
  constexpr int half = fixed_block / 2;
  n <= half ? weigh_keys<Form, half>(t, block, b, n, rows)
            : weigh_keys<Form, fixed_block>(t, block, b, n, rows);
}

} // namespace fovea::fixed
