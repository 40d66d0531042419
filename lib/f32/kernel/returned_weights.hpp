// Returned weights: a second pass over rows whose weights or scores the call asks for. Scores are computed
// again, for the first pass did not keep them.
#pragma once
#include "f32/kernel/panels.hpp"
#include "f32/kernel/queries.hpp"
#include "f32/kernel/scores.hpp"
#include "f32/kernel/softmax.hpp"

namespace fovea::f32 {

template <class Isa, class Element>
class weights_of_rows {
 public:
  // `top` and `sum`: of each row when it ended.
  weights_of_rows(const tile_job& job, const rows_of_tile<Isa>& rows, const float* top, const float* sum)
      : job_(job),
        p_(*job.p),
        w_(*job.w),
        rows_(rows),
        panels_(job),
        top_(top),
        sum_(sum),
        wanted_(job.p->modify.weights) {}

  void write() const {
    for (int r = 0; r < job_.rows; ++r) {
      const row_place place = place_of(job_, r);
      const int64_t head = int64_t{place.head} - wanted_.first_head,
                    query = int64_t{place.query} - wanted_.first_query;
      if (head < 0 || head >= wanted_.heads || query < 0 || query >= wanted_.queries) continue;
      write_row(r, wanted_.data + static_cast<ptrdiff_t>(head * wanted_.queries + query) * keys());
    }
  }

 private:
  using softmax_modifier = float (*)(const tile_job&, const key_runs&, int, const row_bias&);
  const tile_job& job_;
  const plan& p_;
  const workspace& w_;
  const rows_of_tile<Isa>& rows_;
  const panels_of_keys<Isa, Element> panels_;
  const float *top_, *sum_;
  const fovea_weights& wanted_;

  ptrdiff_t keys() const { return static_cast<ptrdiff_t>(p_.keys_end - p_.see.first_key); }
  returned stage() const { return p_.modify.stage(); }

  void write_row(int row, float* out) const {
    const float nothing = stage() == returned::biased_scores ? minus_infinity : 0;
    for (ptrdiff_t j = 0; j < keys(); ++j) out[j] = nothing;
    for (int64_t first = p_.see.first_key / block_keys * block_keys; first < p_.keys_end;
         first += block_keys) {
      const block b = block_of_row(first, row);
      if (score_row(b, row)) write_block(b, row, out + static_cast<ptrdiff_t>(first - p_.see.first_key));
    }
  }

  // The block as this row sees it; of every key, if those are asked for.
  block block_of_row(int64_t first, int row) const {
    block b = rows_.block_at(first);
    if (!p_.modify.returns_every_score()) return b;
    b.runs.first = 1;
    b.runs.from[1][row] = static_cast<int32_t>(larger(first, p_.see.first_key) - first);
    b.runs.to[1][row] = static_cast<int32_t>(smaller(first + block_keys, p_.keys_end) - first);
    return b;
  }

  // False where there is no key to score. The scores of a run fill whole panels, also over the end of the run
  // before it: scores are stretched when all of them are there.
  bool score_row(const block& b, int row) const {
    bool any = false;
    const score_rows z{w_.q, p_.dim, w_.s};
    for (int run = b.runs.first; run < 2; ++run) {
      const int32_t *from = b.runs.from[run], *to = b.runs.to[run];
      if (from[row] >= to[row]) continue;
      any = true;
      panels_.each(kv_view<Element>(p_, job_.kv_head), b.first_key, from[row] & -16, up16(to[row]),
                   [&](const key_panels& k) {
                     with_shape(typename Isa::shapes{}, 1, [&](auto s) {
                       score_groups<Isa, decltype(s)>(z, k, from, to, row, row + 1);
                     });
                   });
    }
    if (any && p_.stored.k.scales.given) p_.stored.as.tiles->scale_keys(job_, b, job_.kv_head, row, 1);
    if (rows_.stretched)
      for (int run = b.runs.first; run < 2; ++run)
        rows_.stretch_scores(row, w_.s + row * score_stride, b.runs.from[run][row], b.runs.to[run][row]);
    return any;
  }

  // In a row whose sum is NaN all that is seen is NaN, whichever scores were, but minus infinity; what is
  // hidden stays 0, even if the factor is NaN.
  void write_block(const block& b, int row, float* out) const {
    const float* s = w_.s + row * score_stride;
    modify_scores(b, row);
    const bool weights = stage() == returned::weights;
    const float total = sum_tree(f32x16<Isa>::load(sum_ + row * 16));
    const bool broken = weights && total != total;
    if (weights && !broken) weigh_for(b, row, top_[row]);
    const float by = weights ? w_.factor[row] : ln_2;
    for (int run = b.runs.first; run < 2; ++run)
      for (int j = b.runs.from[run][row]; j < b.runs.to[run][row]; ++j)
        out[j] = !broken ? s[j] * by : s[j] != minus_infinity ? __builtin_nanf("") : 0;
  }

  void modify_scores(const block& b, int row) const {
    if (!(p_.modify.any || b.in_tree) || stage() == returned::scaled_scores) return;
    if (stage() == returned::capped_scores && p_.modify.cap == 0) return;
    tree_path<block_keys> path;
    const row_bias bias = stage() == returned::capped_scores ? row_bias{} : bias_of(job_, b, row, path);
    modify_row<Isa>(job_.p->modify, b.runs, job_.w->s, row, bias);
  }

  // The weights of one row for its final reference.
  void weigh_for(const block& b, int row, float top) const {
    const bool moves = !exact(top);
    if (moves) move_to_reference<Isa>(b.runs, w_.s, row, top);
    const float from = moves ? 0 : top;
    weigh_masked_row<Isa>(b.runs, w_.s, row, shift_of<Isa> - from, from + deepest);
  }
};

} // namespace fovea::f32
