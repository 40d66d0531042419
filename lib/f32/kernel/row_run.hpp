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
    gathered all;
    all.o = o_[0];
    add_span(from, to, all);
    for (from = (from | (span_keys - 1)) + 1; from < to; from += span_keys) {
      gathered span;
      span.o = o_[1];
      add_span(from, to, span);
      steps::join(all, span, p_.v_dim);
    }
    const float total = steps::sum_of_lanes(all.sum);
    steps::write_output(all.o, inverse_of<plain_of<Isa>>({{total}}).r[0], p_.v_dim, out);
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
  // Keys of a block join the sums of its span.
  FOVEA_INLINE void add_block(int32_t key, int32_t end, gathered& span, bool opens) {
    const int from = key & (block_keys - 1), to = from + (end - key);
    float* const s = s_ + from;
    if (in_panels_)
      steps::score_panels(q_, p_.dim, k_.row(key & -16), s_, from, to);
    else
      steps::score_rows(q_, p_.dim, k_.row(key), k_.stride, s, to - from);
    if (stretched_) steps::stretch_scores(p_, s_, from, to);
    float of_block[16];
    const float reference = steps::weigh_run(s_, from, to, opens ? span.sum : of_block);
    const factors f = steps::join_block(span, reference, of_block, opens);
    steps::add_rows(s, to - from, v_.row(key), v_.stride, p_.v_dim, span.o, opens, f);
  }
};

} // namespace fovea::f32
