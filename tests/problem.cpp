// The memory of a problem, and how it is solved.
#include "problem.hpp"

static ptrdiff_t extent(const data::tensor& t) {
  if (t.heads == 0 || t.tokens == 0) return 0;
  return (t.heads - 1) * t.head_stride + (t.tokens - 1) * t.token_stride + t.dim;
}

static void own(data::tensor& t, data::guarded<float>& memory) {
  memory = data::guarded<float>(static_cast<size_t>(extent(t)));
  t.data = memory.data();
}

problem::problem(const shape& s, uint32_t seed)
    : modifiers(s.options, s.wish, seed), stored_(s.stored), call_(s.options) {
  place(s);
  data::fill(q, 7 * seed + 1, s.score_size);
  data::fill(k, 7 * seed + 2, 1);
  data::fill(v, 7 * seed + 3, 1);
}
problem::~problem() = default;

fovea_attention problem::call(int32_t isa) const {
  fovea_attention a = call_;
  a.isa = isa;
  view(q, a.q);
  view(k, a.k);
  view(v, a.v);
  a.out.data = out.data;
  if (stored_ != storage::heads_first)
    a.out.head_stride = out.head_stride, a.out.token_stride = out.token_stride;
  modifiers.enter(a);
  return a;
}

std::vector<float> problem::results() const {
  std::vector<float> all;
  all.reserve(static_cast<size_t>(out.heads) * static_cast<size_t>(out.tokens) *
              static_cast<size_t>(out.dim));
  for (int32_t h = 0; h < out.heads; ++h)
    for (int32_t i = 0; i < out.tokens; ++i) all.insert(all.end(), out.row(h, i), out.row(h, i) + out.dim);
  modifiers.append_to(all);
  return all;
}

bool problem::only_results_written() const {
  data::guarded<float> rest = out_memory;
  const ptrdiff_t shift = rest.data() - out_memory.data();
  for (int32_t h = 0; h < out.heads; ++h)
    for (int32_t i = 0; i < out.tokens; ++i)
      std::memset(out.row(h, i) + shift, data::untouched, static_cast<size_t>(out.dim) * sizeof(float));
  return rest.nothing_written() && modifiers.guards_hold();
}

void problem::view(const data::tensor& t, fovea_in& in) const {
  in.data = t.data;
  if (stored_ != storage::heads_first) in.head_stride = t.head_stride, in.token_stride = t.token_stride;
}

void problem::stride(data::tensor& t, int32_t heads, int32_t tokens, int32_t dim) const {
  t.heads = heads, t.tokens = tokens, t.dim = dim;
  const ptrdiff_t gap = stored_ == storage::padded_rows ? 5 : 0;
  t.token_stride = dim + gap;
  t.head_stride = tokens * t.token_stride + gap;
  if (stored_ == storage::tokens_first || stored_ == storage::packed_qkv)
    t.head_stride = dim, t.token_stride = ptrdiff_t{heads} * dim;
}

void problem::place(const shape& s) {
  stride(q, s.options.q_heads, s.options.queries, s.options.dim);
  stride(k, s.kv_heads(), s.options.keys, s.options.dim);
  stride(v, s.kv_heads(), s.options.keys, s.v_dim());
  stride(out, s.options.q_heads, s.options.queries, s.v_dim());
  own(out, out_memory);
  if (stored_ == storage::packed_qkv) return pack_qkv();
  own(q, q_memory);
  own(k, k_memory);
  own(v, v_memory);
}

// One row a token: all heads of q, then of k, then of v.
void problem::pack_qkv() {
  const ptrdiff_t q_part = q.token_stride, k_part = k.token_stride, token = q_part + k_part + v.token_stride;
  const int32_t tokens = q.tokens > k.tokens ? q.tokens : k.tokens;
  q_memory = data::guarded<float>(static_cast<size_t>(token * tokens));
  q.token_stride = k.token_stride = v.token_stride = token;
  q.data = q_memory.data(), k.data = q.data + q_part, v.data = k.data + k_part;
}

doctest::String status_text(int32_t status) {
  return doctest::String(fovea_reason_text(status)) + ": " + fovea_argument_text(status);
}

int32_t attend_in(const fovea_attention& a, size_t scratch_size) {
  data::guarded<unsigned char> scratch(scratch_size);
  const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
  CHECK(scratch.guards_hold());
  return status;
}

std::vector<float> solve(problem& p, const fovea_attention& a, size_t scratch_size) {
  p.wipe_results();
  const int32_t status = attend_in(a, scratch_size);
  CHECK_MESSAGE(status == FOVEA_OK, status_text(status));
  CHECK(p.only_results_written());
  return p.results();
}

std::vector<float> solve(problem& p, const fovea_attention& a) { return solve(p, a, fovea_scratch_best(&a)); }
