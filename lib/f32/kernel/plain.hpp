// fovea_attend_plain on microcontrollers: a row sees one run of keys, of floats, and no option.
#pragma once
#include "f32/kernel/row_run.hpp"
#include "f32/plain.hpp"

namespace fovea::f32 {

template <class Isa>
class plain_attention : row_of_run<Isa> {
  using of_run = row_of_run<Isa>;
  using of_run::p_;

 public:
  explicit plain_attention(const plain_job& job) : of_run(*job.p, job.q, job.s, job.all_o, job.o) {
    this->in_panels_ = p_.packed_keys;
  }

  void attend() {
    const int32_t first = static_cast<int32_t>(p_.see.first_key);
    for (int32_t query = 0; query < p_.queries; ++query) {
      const seen keys = seen_by(p_.see, query);
      const float* q = p_.q.data + query * p_.q.token;
      float* out = p_.out.data + query * p_.out.token;
      for (int32_t kv_head = 0; kv_head < p_.kv_heads; ++kv_head) {
        this->k_ = {p_.k.data + kv_head * p_.k.head, p_.packed_keys ? p_.dim : p_.k.token, first};
        this->v_ = {p_.v.data + kv_head * p_.v.head, p_.v.token, first};
        for (int32_t n = 0; n < p_.group; ++n) {
          attend_row(q, keys, out);
          q += p_.q.head;
          out += p_.out.head;
        }
      }
    }
  }

 private:
  void attend_row(const float* q, const seen& keys, float* out) {
    if (keys.from < keys.to) return this->attend_run(q, keys.from, keys.to, out);
    for (int c = 0; c < p_.v_dim; ++c) out[c] = 0;
  }
};

// Not where attention takes tiles: there fovea_attend's kernels serve these calls.
template <class Isa>
void attend_plain(const plain_job& job) {
  if constexpr (Isa::lanes == 1 || Isa::by_row) plain_attention<Isa>(job).attend();
}

} // namespace fovea::f32
