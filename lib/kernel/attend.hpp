// A tile of queries goes over all keys it sees: spans, blocks, and in each block the three phases.
#pragma once
#include "kernel.hpp"
#include "kernel/dot.hpp"
#include "kernel/merge.hpp"
#include "kernel/panels.hpp"
#include "kernel/quads.hpp"
#include "kernel/queries.hpp"
#include "kernel/row_softmax.hpp"
#include "kernel/scores.hpp"
#include "kernel/softmax.hpp"
#include "kernel/straight.hpp"
#include "kernel/values.hpp"

namespace fovea {

template <class Isa>
class tile_of_queries {
 public:
  explicit tile_of_queries(const tile_job& job) : job_(job), p_(*job.p), w_(*job.w), rows_(job), panels_(job) {}

  void attend() {
    const int32_t one_past = first_span() + 1;
    const bool alone = rows_.any.to <= span_keys * static_cast<int64_t>(one_past);
    if (job_.span >= 0) {
      attend_span(p_.first_span + job_.span, false);
      leave_partials();
    } else if (alone) {
      attend_span(first_span(), true);
    } else {
      attend_spans();
    }
    if (p_.modify.weights.data) tell_weights(alone ? w_.top : w_.total_top, alone ? w_.sum : w_.total_sum);
  }

 private:
  // Where registers are short, one step serves all modifiers: there code counts for more than the last tenth of speed.
  using biased = std::conditional_t<(Isa::lanes < 8), general_step, biased_step>;
  static constexpr void (*softmax_steps[])(const visit&) = {softmax_step<Isa, plain_step>, softmax_step<Isa, biased>,
                                                            softmax_step<Isa, general_step>};
  static constexpr float (*modify_steps[])(const visit&, int) = {nullptr, peak_of<Isa, biased>, peak_of<Isa, general_step>};
  const tile_job& job_;
  const plan& p_;
  const workspace& w_;
  const rows_of_tile<Isa> rows_;
  const panels_of_keys<Isa> panels_;
  const bool few_ = takes_shapes_for_few(), by_quads_ = takes_quads_here();
  visit z_; // set by begin_span and visit_block

  // The shapes for four rows ask for what is wanted soon. Where a whole block ahead can be asked for, as on AMD's cores, the usual shapes,
  // which do that, are better.
  bool takes_shapes_for_few() const { return Isa::shapes_for_few && rows_.per_head_in_groups == 4 && !core_of_amd(); }

  // Three or four queries a head, and scratch for quads of their keys?
  bool takes_quads_here() const {
    return Isa::has_quarters && !panels_.shared() && takes_quads(p_, rows_.per_head_in_groups) && w_.panel_room >= quads_panels(p_.dim);
  }

  int32_t first_span() const {
    const int64_t first = rows_.any.head > p_.see.first_key ? p_.see.first_key : rows_.any.from;
    return static_cast<int32_t>(first / span_keys);
  }

  __attribute__((noinline)) void attend_spans() {
    const int width = up16(p_.v_dim);
    clear(w_.total_top, w_.total_sum, w_.total_o, width);
    for (int32_t span = first_span(); span * static_cast<int64_t>(span_keys) < rows_.end(); ++span) {
      if (!sees(span * static_cast<int64_t>(span_keys), span_keys)) span = rows_.any.from / span_keys; // between kept keys and window
      attend_span(span, false);
      join_span<Isa>(w_, job_.rows, width);
    }
    write_results<Isa>(job_);
  }

  // Does any row see one of the keys at .. at + count - 1?
  bool sees(int64_t at, int count) const {
    const bool in_head = rows_.any.head > p_.see.first_key && at < rows_.any.head && at + count > p_.see.first_key;
    return in_head || (at < rows_.any.to && at + count > rows_.any.from && rows_.any.to > rows_.any.from);
  }

  void clear(float* top, float* sum, float* o, int width) const {
    for (int r = 0; r < job_.rows; ++r) top[r] = lowest;
    for (int i = 0; i < job_.rows * 16; ++i) sum[i] = 0;
    for (ptrdiff_t i = 0; i < job_.rows * static_cast<ptrdiff_t>(width); ++i) o[i] = 0;
  }

  void attend_span(int32_t span, bool direct) {
    begin_span(direct);
    const int64_t begin = span * static_cast<int64_t>(span_keys), end = smaller(begin + span_keys, rows_.any.to);
    for (int64_t block = begin; block < end; block += block_keys)
      if (sees(block, block_keys)) visit_block(block);
    if (!direct && z_.start) clear(w_.top, w_.sum, w_.o, z_.width);
    if (direct && z_.start) end_empty_rows();
  }

  void begin_span(bool direct) {
    z_.dim = p_.dim, z_.v_dim = p_.v_dim, z_.width = up16(p_.v_dim), z_.rows = job_.rows;
    z_.q = w_.q, z_.s = w_.s, z_.o = w_.o, z_.sum = w_.sum;
    z_.top = w_.top, z_.rescale = w_.rescale, z_.inverse = w_.inverse, z_.out = w_.out_rows;
    z_.v_stride = p_.v.token;
    z_.shared = &z_, z_.job = &job_, z_.unbiased = false;
    z_.masked = p_.modify.mask.bias || p_.modify.mask.shown;
    for (int run = 0; run < 2; ++run) {
      z_.from[run] = w_.runs + 2 * run * w_.rows;
      z_.to[run] = z_.from[run] + w_.rows;
    }
    const int64_t left = p_.rows - job_.row - job_.rows;
    z_.next_rows = p_.group == 1 && left > 0 ? static_cast<int>(smaller(left, job_.rows)) : 0;
    z_.next_q = rows_.first_q + (z_.next_rows ? job_.rows * p_.q.token : 0), z_.q_stride = p_.q.token;
    z_.start = true, z_.direct = direct, z_.done = 0;
    for (int r = 0; r < job_.rows; r += 16) f32x16<Isa>::all(lowest).store(w_.top + r);
  }

  void visit_block(int64_t block) {
    z_.block = block;
    find_runs(block);
    const int64_t first = larger(block, p_.see.first_key);
    z_.v_first = static_cast<int>(first - block);
    if (by_quads_) {
      for (int run = z_.first_run; run < 2; ++run) score_run_by_quads(block, run);
    } else {
      for (int h = 0; h < heads_of<Isa>(job_); ++h)
        for (int run = z_.first_run; run < 2; ++run) score_run(block, run, h);
    }
    if (rows_.stretched) stretch_scores();
    softmax_steps[p_.modify.step](z_);
    if (z_.direct && z_.done > z_.was_done) end_rows<Isa>(job_, z_.top, z_.was_done, z_.done < z_.rows ? z_.done : z_.rows);
    for (int h = 0; h < heads_of<Isa>(job_); ++h) {
      const float* v = p_.v.data + (job_.kv_head + h) * p_.v.head;
      z_.v = v + static_cast<ptrdiff_t>(first - p_.see.first_key) * p_.v.token;
      add_values(h * rows_.per_head);
    }
    z_.start = false;
  }

  __attribute__((noinline)) void stretch_scores() const {
    for (int r = 0; r < job_.rows; ++r)
      for (int run = z_.first_run; run < 2; ++run) rows_.stretch_scores(r, z_.s + r * score_stride, z_.from[run][r], z_.to[run][r]);
  }

  // The rows of one head, from `row` on. Its last group may compute rows of the next head, too, but none behind z_.rows leaves.
  void add_values(int row) {
    z_.rows = row + rows_.per_head;
    value_rows<Isa>(z_, {row, rows_.per_head, rows_.alike, few_});
  }

  // The runs of the block, and how many rows need no block behind it.
  void find_runs(int64_t block) {
    const int32_t at = static_cast<int32_t>(block), first = static_cast<int32_t>(larger(block, p_.see.first_key));
    const int32_t end = static_cast<int32_t>(smaller(block + block_keys, p_.see.end));
    const auto within = [=](int32_t key) { return (key < first ? first : key < end ? key : end) - at; };
    z_.first_run = rows_.any.head > first ? 0 : 1;
    z_.was_done = z_.done;
    const int rows = rows_.in_groups;
    int32_t from = within(w_.sees[0].from), to = within(w_.sees[0].to);
    if (rows_.alike)
      for (int r = 0; r < rows; ++r) z_.from[1][r] = from, z_.to[1][r] = to;
    else
      for (int r = 0; r < rows; ++r) {
        from = within(rows_.seen_of(r).from), to = within(rows_.seen_of(r).to);
        z_.from[1][r] = from, z_.to[1][r] = to;
      }
    for (int r = 0; r < rows && z_.first_run == 0; ++r) z_.from[0][r] = first - at, z_.to[0][r] = within(rows_.seen_of(r).head);
    const bool begins = z_.first_run == 1 && z_.from[1][0] == from && from % 16 == 0; // as in the last row: so do all between
    z_.runs = !begins ? alike::nothing : z_.to[1][0] == to ? alike::all : alike::begin;
    z_.alike_from = from, z_.alike_to = to;
    if (rows_.alike && w_.sees[0].to <= end) z_.done = job_.rows;
    while (z_.done < job_.rows && rows_.seen_of(z_.done).to <= end) ++z_.done;
    if (z_.done == job_.rows || block + block_keys >= rows_.end()) z_.done = rows_.in_groups;
  }

  // Scores of one run of keys for the rows of one head. Its last group may write rows of the next head, too, whose turn comes later.
  void score_run(int64_t block, int run, int head) {
    const int row = head * rows_.per_head, begin = z_.from[run][row], end = z_.to[run][row + rows_.per_head - 1];
    if (begin >= end) return;
    if (score_from_rows(head, block, begin, end)) return;
    panels_.each(job_.kv_head + head, block, begin & -16, up16(end), [&](const packed_keys_view& k) FOVEA_LAMBDA_INLINE {
      score_rows<Isa>(z_, k, run, {row, rows_.per_head, rows_.alike, few_});
    });
  }

  // All heads at once, which see the same keys.
  void score_run_by_quads(int64_t block, int run) {
    const int begin = z_.from[run][0], end = z_.to[run][rows_.per_head - 1], heads = heads_of<Isa>(job_);
    if constexpr (Isa::has_quarters)
      if (begin < end && score_by_quads<Isa>(z_, keys_of(0, block, begin, end), {heads, p_.k.head, rows_.per_head}, w_.panels)) return;
    for (int h = 0; h < heads; ++h) score_run(block, run, h);
  }

  // Few queries whose keys nobody else wants as panels take them as they stand, if there are enough.
  bool score_from_rows(int head, int64_t block, int begin, int end) const {
    const int rows = rows_.per_head_in_groups;
    if (panels_.shared() || !takes_rows(p_, rows)) return false;
    return score_straight<Isa>(z_, keys_of(head, block, begin, end), head * rows_.per_head, rows);
  }

  // Rows of K for keys begin .. end-1 of the block.
  key_rows keys_of(int head, int64_t block, int begin, int end) const {
    const int past = static_cast<int>(smaller(up16(end), p_.keys_end - block));
    const float* k = p_.k.data + (job_.kv_head + head) * p_.k.head;
    const float* at = k + static_cast<ptrdiff_t>(block + begin - p_.see.first_key) * p_.k.token;
    return {at, p_.k.token, begin, end, past};
  }

  __attribute__((noinline)) void end_empty_rows() const {
    for (int r = 0; r < job_.rows; ++r) {
      w_.inverse[r] = 0;
      for (int c = 0; c < p_.v_dim; ++c) w_.out_rows[r][c] = 0;
    }
    end_rows<Isa>(job_, w_.top, 0, job_.rows);
  }

  // The second pass over rows whose weights or scores are asked for. Their scores are computed again: the first pass did not keep them.
  __attribute__((noinline)) void tell_weights(const float* top, const float* sum) {
    const fovea_weights& wanted = p_.modify.weights;
    for (int r = 0; r < job_.rows; ++r) {
      const row_place place = place_of(job_, r);
      const int64_t head = int64_t{place.head} - wanted.first_head, query = int64_t{place.query} - wanted.first_query;
      if (head < 0 || head >= wanted.heads || query < 0 || query >= wanted.queries) continue;
      const ptrdiff_t keys = static_cast<ptrdiff_t>(p_.keys_end - p_.see.first_key);
      float* out = wanted.data + static_cast<ptrdiff_t>(head * wanted.queries + query) * keys;
      const float total = sum_tree(f32x16<Isa>::load(sum + r * 16));
      for (ptrdiff_t j = 0; j < keys; ++j) out[j] = wanted.stage == 3 ? minus_infinity : 0;
      for (int64_t block = p_.see.first_key / block_keys * block_keys; block < p_.keys_end; block += block_keys)
        if (scores_of_row(block, r)) tell_block(r, top[r], total, out);
    }
  }

  // Scores of one row and block: of all keys, or of those it sees.
  bool scores_of_row(int64_t block, int row) {
    z_.block = block;
    find_runs(block);
    const int stage = p_.modify.weights.stage;
    if (stage == 1 || stage == 2) {
      z_.first_run = 1;
      z_.from[1][row] = static_cast<int32_t>(larger(block, p_.see.first_key) - block);
      z_.to[1][row] = static_cast<int32_t>(smaller(block + block_keys, p_.keys_end) - block);
    }
    bool any = false;
    for (int run = z_.first_run; run < 2; ++run) {
      const int from = z_.from[run][row], to = z_.to[run][row];
      any |= from < to;
      const auto score = [&](const packed_keys_view& k) {
        with_shape(typename Isa::shapes{}, 1, [&](auto s, int) { score_groups<Isa, decltype(s)>(z_, k, run, row, row + 1); });
      };
      if (from < to) panels_.each(job_.kv_head, block, from & -16, up16(to), score);
      if (rows_.stretched) rows_.stretch_scores(row, z_.s + row * score_stride, from, to);
    }
    return any;
  }

  // In a row whose sum is NaN all that is seen is NaN, whichever scores were, but minus infinity; what is hidden stays 0, even if the
  // factor is NaN.
  void tell_block(int row, float top, float total, float* out) {
    const int stage = p_.modify.weights.stage;
    const float* s = z_.s + row * score_stride;
    const int step = stage == 1 ? 0 : stage == 2 && p_.modify.step == 1 ? 0 : p_.modify.step;
    z_.unbiased = stage == 2;
    if (step) modify_steps[step](z_, row);
    const bool broken = stage == 0 && total != total;
    if (stage == 0 && !broken) weights_of_row<Isa>(z_, row, top);
    const float by = stage == 0 ? w_.inverse[row] : ln_2;
    out += static_cast<ptrdiff_t>(z_.block - p_.see.first_key);
    for (int run = z_.first_run; run < 2; ++run)
      for (int j = z_.from[run][row]; j < z_.to[run][row]; ++j)
        out[j] = !broken ? s[j] * by : s[j] != minus_infinity ? __builtin_nanf("") : 0;
  }

  __attribute__((noinline)) void leave_partials() const {
    const int width = up16(p_.v_dim);
    for (int r = 0; r < job_.rows; ++r) {
      float* out = slot(p_, job_.kv_head, job_.row + r, job_.span);
      f32x16<Isa>::load(w_.sum + r * 16).store(out);
      f32x16<Isa>::all(w_.top[r]).store(out + 16);
      for (int c = 0; c < width; c += 16) f32x16<Isa>::load(w_.o + static_cast<ptrdiff_t>(r) * width + c).store(out + 32 + c);
    }
  }
};

template <class Isa>
void attend_tile(const tile_job& job) {
  tile_of_queries<Isa>(job).attend();
}

template <class Isa>
void pack_one_panel(const float* rows, ptrdiff_t stride, int dim, float* panel) {
  pack_panel<Isa>(rows, stride, 0, 0, 16, dim, panel);
}

template <class Isa, class... Shapes>
constexpr kernel kernel_with(int32_t isa, shape_list<Shapes...>) {
  return {isa,
          {Shapes::rows...},
          Isa::rows,
          Isa::rows_beside,
          Isa::has_quarters,
          attend_tile<Isa>,
          merge_partials<Isa>,
          pack_one_panel<Isa>,
          softmax_rows<Isa>,
          matvec_rows<Isa>};
}
template <class Isa>
constexpr kernel kernel_of(int32_t isa) {
  return kernel_with<Isa>(isa, typename Isa::shapes{});
}

} // namespace fovea
