// Weights of a block of keys from the scores of a group of rows: what rows do not see is hidden, references rise where they must.
#pragma once
#include <type_traits>
#include <utility>

#include "fixed/octaves.hpp"
#include "fixed/state.hpp"

namespace fovea {

// An unseen key gets the score whose octaves are -multiplier / 2: weight 0, like every absent one.
static inline int32_t absent_score(const fixed_row& x) { return -(1 << (x.scale->score_shift - 1)); }

// Weights of unseen keys are 0, but the memory behind their numbers must not be read.
template <class Form>
const int16_t* value_weights_in(tile_state<Form>& t, int64_t block) {
  const int16_t* all = value_weights_of(t.p, t.job.kv_head, block);
  if (!all) return nullptr;
  const int64_t at = block * fixed_block;
  if (t.p.see.first_key <= at && at + fixed_block <= t.p.see.end) return all;
  for (int j = 0; j < fixed_block; ++j) t.value_weights[j] = t.p.see.first_key <= at + j && at + j < t.p.see.end ? all[j] : int16_t{0};
  return t.value_weights;
}

template <class Form, bool Octaves>
FOVEA_INLINE auto weigh(const typename Form::weigher& w, const tile_state<Form>& t, int b, int r, const int16_t* value_weights) {
  const fixed_row& x = t.rows[r];
  return w.template weigh<Octaves>(t.scores(r), *x.scale, x.reference, t.weights_of(r, b), t.sum + r * Form::lanes, value_weights);
}

// The reference of row r rises before its weights of block b are summed.
template <class Form>
FOVEA_INLINE void raise_reference(tile_state<Form>& t, int b, int r, int by) {
  fixed_row& x = t.rows[r];
  const bool first = x.reference == fixed_lowest_reference; // nothing to shift yet
  x.reference += by;
  if (first) return;
  t.rise[r * fixed_run_blocks + b] = static_cast<uint8_t>(by > 31 ? 31 : by);
  t.risen[b] |= uint64_t{1} << r;
}

// A weigher that returns nothing wants the reference where it must be. Others answer by how many octaves it rises, and have shifted the sum.
template <class Form>
constexpr bool looks_first =
    std::is_void_v<decltype(weigh<Form, false>(typename Form::weigher{}, std::declval<const tile_state<Form>&>(), 0, 0, nullptr))>;

template <class Form, bool Octaves>
FOVEA_INLINE void look_first(tile_state<Form>& t, const fixed_row& x, int b, int r, const int32_t* s) {
  const int32_t top = Form::weigher::greatest_of_block(s);
  const int32_t by = reference_of(Octaves ? top : octaves_of(top, x.scale->score_multiplier, x.scale->score_shift)) - x.reference;
  if (by <= 0) return;
  if (x.reference != fixed_lowest_reference) t.set_sum(r, shift_round_sum(t.sum_of(r), by));
  raise_reference(t, b, r, by);
}

// Rows that do not see the whole block, or have options that touch single keys: bit r of `which` is row r.
template <class Form>
__attribute__((noinline)) void weigh_unusual(tile_state<Form>& t, int64_t block, int b, uint64_t which, const int16_t* value_weights) {
  const typename Form::weigher w;
  for (; which; which &= which - 1) {
    const int r = __builtin_ctzll(which);
    const fixed_row& x = t.rows[r];
    int32_t* const s = t.scores(r);
    const seen_of_block seen = seen_in(t.p, x, block);
    const key_options options = options_of(t.p, x, t.job.kv_head, block * fixed_block + seen.first);
    if (x.by_key)
      octaves_in_block(options, t.p, x, seen, s);
    else if (options.mask)
      hide_masked(options, seen, s, absent_score(x));
    hide_unseen(seen, s, x.by_key ? fixed_absent : absent_score(x));
    const auto weigh_it = [&]() FOVEA_LAMBDA_INLINE {
      return x.by_key ? weigh<Form, true>(w, t, b, r, value_weights) : weigh<Form, false>(w, t, b, r, value_weights);
    };
    if constexpr (looks_first<Form>) {
      x.by_key ? look_first<Form, true>(t, x, b, r, s) : look_first<Form, false>(t, x, b, r, s);
      weigh_it();
    } else if (const int by = weigh_it()) {
      raise_reference(t, b, r, by);
    }
  }
}

// The usual row sees the whole block and has no option that touches single keys. Rows that are not usual wait: in loops without calls,
// constants stay in registers. Bit r of `scored`: row r has scores.
template <class Form, bool Weighted>
__attribute__((noinline)) void weigh_rows(tile_state<Form>& t, int64_t block, int b, uint64_t scored, const int16_t* value_weights) {
  const int64_t at = block * fixed_block;
  const int16_t* const factors = Weighted ? value_weights : nullptr;
  const typename Form::weigher w;
  fixed_row* const rows = t.rows; // what a store might change is read once
  const int32_t* s = t.s;
  auto* to = t.weights_of(0, b);
  int32_t* sum = t.sum;
  const bool masked = t.p.mask.data;
  int by[fixed_unit_rows];
  uint64_t unusual = 0, rising = 0;
  for (int r = 0, count = t.job.rows; r < count; ++r, s += score_step, to += tile_state<Form>::p_step, sum += Form::lanes) {
    fixed_row& x = rows[r];
    if (masked || x.by_key || x.from > at || at + fixed_block > x.to) {
      unusual |= uint64_t{1} << r;
    } else if constexpr (looks_first<Form>) {
      look_first<Form, false>(t, x, b, r, s);
      w.template weigh<false>(s, *x.scale, x.reference, to, sum, factors);
    } else {
      by[r] = w.template weigh<false>(s, *x.scale, x.reference, to, sum, factors);
      rising |= uint64_t{by[r] != 0} << r;
    }
  }
  for (; rising; rising &= rising - 1) {
    const int r = __builtin_ctzll(rising);
    raise_reference(t, b, r, by[r]);
  }
  if (unusual & scored) weigh_unusual(t, block, b, unusual & scored, value_weights);
}

template <class Form>
void weigh_block(tile_state<Form>& t, int64_t block, int b, uint64_t scored) {
  const int16_t* const value_weights = value_weights_in(t, block);
  value_weights ? weigh_rows<Form, true>(t, block, b, scored, value_weights) : weigh_rows<Form, false>(t, block, b, scored, nullptr);
}

} // namespace fovea
