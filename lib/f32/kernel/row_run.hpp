// A row that sees one run of keys, of floats, and no option: all of fovea_attend_plain, and the rows of
// fovea_attend on small cores that are no more than that.
#pragma once
#include "f32/kernel/lane_steps.hpp"
#include "f32/kernel/output.hpp"

namespace fovea::f32 {

// Keys or values of a KV head that stand as floats, in one piece.
struct floats_of_head {
  const float* at; // of key `first`; null: they do not stand so
  ptrdiff_t stride;
  int32_t first;

  FOVEA_INLINE const float* row(int32_t key) const {
    return at + static_cast<ptrdiff_t>(key - first) * stride;
  }
};

template <class Isa>
class row_of_run : protected steps_of<Isa> {
 protected:
  using steps = steps_of<Isa>;
  using gathered = typename steps::gathered;
  using factors = typename steps::factors;

  const plan& p_;
  float *q_, *s_, *o_[2]; // q times the scale, scores of a block, outputs of all spans and of one
  floats_of_head k_, v_;  // of the KV head that is attended
  bool in_panels_ = false, stretched_ = false;

  row_of_run(const plan& p, float* q, float* s, float* all_o, float* o) : p_(p), q_(q), s_(s), o_{all_o, o} {}

  // A row that sees keys from .. to-1, one at least.
  __attribute__((noinline)) void attend_run(const float* q, int32_t from, int32_t to, float* out) {
    stretched_ = steps::scale_query(p_, q, q_);
    if constexpr (steps::writes_rows)
      if ((from | (block_keys - 1)) >= to - 1) return attend_block(from, to, out);
    gathered all;
    all.o = o_[0];
    add_span(from, to, all);
    for (from = (from | (span_keys - 1)) + 1; from < to; from += span_keys) {
      gathered span;
      span.o = o_[1];
      add_span(from, to, span);
      steps::join(all, span, p_.v_dim);
    }
    steps::write_output(all.o, factor_of(all.sum), p_.v_dim, out);
  }

  // The keys of a span from `from` on, one at least.
  __attribute__((noinline)) void add_span(int32_t from, int32_t to, gathered& span) {
    bool opens = true;
    do {
      const int32_t end = (from | (block_keys - 1)) + 1;
      add_block(from, end < to ? end : to, span, opens);
      from = end;
      opens = false;
    } while (from < to && from % span_keys);
  }

 private:
  // What the weights of a row, summed by lanes, multiply its output by.
  static FOVEA_INLINE float factor_of(float* sum) {
    return inverse_of<plain_of<Isa>>({{steps::sum_of_lanes(sum)}}).r[0];
  }
  // Scores of the keys from `key` on, which are from .. to-1 of their block, become weights. Returns their
  // reference.
  FOVEA_INLINE float weigh_keys(int32_t key, int from, int to, float* sum) {
    if (in_panels_)
      steps::score_panels(q_, p_.dim, k_.row(key & -16), s_, from, to);
    else
      steps::score_rows(q_, p_.dim, k_.row(key), k_.stride, s_ + from, to - from);
    if (stretched_) steps::stretch_scores(p_, s_, from, to);
    return steps::weigh_run(s_, from, to, sum);
  }

  // Keys of a block join the sums of its span.
  FOVEA_INLINE void add_block(int32_t key, int32_t end, gathered& span, bool opens) {
    const int from = key & (block_keys - 1), to = from + (end - key);
    float of_block[16];
    const float reference = weigh_keys(key, from, to, opens ? span.sum : of_block);
    const factors f = steps::join_block(span, reference, of_block, opens);
    steps::add_rows(s_ + from, to - from, v_.row(key), v_.stride, p_.v_dim, span.o, opens ? nullptr : &f);
  }
  // All that a row sees is in one block: nothing is joined, and sums become its output in registers.
  FOVEA_INLINE void attend_block(int32_t key, int32_t end, float* out) {
    const int from = key & (block_keys - 1), to = from + (end - key);
    float sum[16];
    weigh_keys(key, from, to, sum);
    steps::write_rows(s_ + from, to - from, v_.row(key), v_.stride, p_.v_dim, out, factor_of(sum));
  }
};

} // namespace fovea::f32
