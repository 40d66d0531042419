// fovea_attend_plain on cores without vectors: a row sees one run of keys, of floats, and no option.
#pragma once
#include "f32/kernel/row_steps.hpp"
#include "f32/plain.hpp"

namespace fovea::f32 {

template <class Isa>
class plain_attention : row_steps<Isa> {
  using steps = row_steps<Isa>;
  using gathered = typename steps::gathered;
  using factors = typename steps::factors;

 public:
  explicit plain_attention(const plain_job& job) : p_(*job.p), q_(job.q), s_(job.s), o_{job.o, job.all_o} {}

  void attend() {
    const int32_t queries = static_cast<int32_t>(p_.rows / p_.group);
    for (int32_t query = 0; query < queries; ++query) {
      const seen keys = seen_by(p_.see, query);
      for (int32_t kv_head = 0, head = 0; kv_head < p_.kv_heads; ++kv_head)
        for (int32_t end = head + p_.group; head < end; ++head) attend_row(kv_head, head, query, keys);
    }
  }

 private:
  const plan& p_;
  float *q_, *s_, *o_[2];
  bool stretched_ = false;

  void attend_row(int32_t kv_head, int32_t head, int32_t query, const seen& keys) {
    float* out = p_.out.data + head * p_.out.head + query * p_.out.token;
    if (keys.from >= keys.to) {
      for (int c = 0; c < p_.v_dim; ++c) out[c] = 0;
      return;
    }
    stretched_ = steps::scale_query(p_, p_.q.data + head * p_.q.head + query * p_.q.token, q_);
    gathered all = add_span(kv_head, keys, keys.from, o_[0]);
    for (int32_t from = (keys.from | (span_keys - 1)) + 1; from < keys.to; from += span_keys)
      steps::join(all, add_span(kv_head, keys, from, o_[1]), p_.v_dim);
    const float total = steps::sum_of_lanes(all.sum),
                factor = Isa::inside(total, 1e-33f, __builtin_inff(), 1 / total, 0);
    steps::write_output(all.o, factor, p_.v_dim, out);
  }

  // The keys of a span from `from` on, which the row sees.
  __attribute__((noinline)) gathered add_span(int32_t kv_head, const seen& keys, int32_t from, float* o) {
    gathered span;
    span.o = o;
    add_block(kv_head, keys, from & -block_keys, span, true);
    for (int32_t first = (from | (block_keys - 1)) + 1; first < keys.to && first % span_keys;
         first += block_keys)
      add_block(kv_head, keys, first, span, false);
    return span;
  }

  // The keys of a block join the sums of its span.
  void add_block(int32_t kv_head, const seen& keys, int32_t first, gathered& span, bool opens) {
    const int from = keys.from > first ? keys.from - first : 0,
              to = keys.to - first < block_keys ? keys.to - first : block_keys;
    const float* k = p_.k.data + kv_head * p_.k.head;
    const ptrdiff_t key = first + from - static_cast<ptrdiff_t>(p_.see.first_key);
    if (p_.packed_keys)
      steps::score_panels(q_, p_.dim, k + (key & ~ptrdiff_t{15}) * p_.dim, s_, from, to);
    else
      steps::score_rows(q_, p_.dim, k + key * p_.k.token, p_.k.token, s_ + from, to - from);
    if (stretched_) steps::stretch_scores(p_, s_, from, to);
    float of_block[16];
    const float reference = steps::weigh_run(s_, from, to, opens ? span.sum : of_block);
    const factors f = steps::join_block(span, reference, of_block, opens);
    const float* v = p_.v.data + kv_head * p_.v.head + key * p_.v.token;
    steps::add_rows(s_ + from, to - from, v, p_.v.token, p_.v_dim, span.o, opens, f);
  }
};

// Only for plain floats: where there are vectors, fovea_attend's kernels serve these calls.
template <class Isa>
void attend_plain(const plain_job& job) {
  if constexpr (Isa::lanes == 1) plain_attention<Isa>(job).attend();
}

} // namespace fovea::f32
