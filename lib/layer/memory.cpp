// Memory of a layer: rows of queries, keys, values and heads, and how many of them are there at a time.
#include "common/build.hpp"

#include "fovea/fixed.h"
#include "layer/integers.hpp"

namespace fovea::layer {
namespace {

constexpr int64_t up16(int64_t n) { return (n + 15) / 16 * 16; }

// An odd number of cache lines: rows of a power of two would share few cache sets.
int64_t stride_of(const portion& n, int64_t columns) {
  const int64_t stride = up16(columns);
  return n.spread && stride / 16 % 2 == 0 ? stride + 16 : stride;
}

struct strides {
  int64_t q, kv, heads; // kv: 0 if keys and values stand in the rows of queries, or were computed before
};
bool side_by_side(const layer_plan& p, const portion& n) { return !p.cross && n.queries == n.tokens; }
strides strides_of(const layer_plan& p, const portion& n) {
  const int64_t q = int64_t{n.kv_heads} * p.group * p.dim, kv = int64_t{n.kv_heads} * (p.dim + p.v_dim);
  const bool beside = side_by_side(p, n);
  return {stride_of(n, beside ? q + kv : q), beside || p.call->kv ? 0 : stride_of(n, kv),
          stride_of(n, p.out_width)};
}

template <class Of>
int32_t longest(const layer_plan& p, Of of) {
  int32_t most = 0;
  for (int32_t s = 0; s < p.sequences; ++s) most = most < of(s).count ? of(s).count : most;
  return most;
}

} // namespace

portion whole_of(const layer_plan& p) { return {p.kv_heads, p.tokens, p.context_tokens, p.tokens, true}; }

portion least_of(const layer_plan& p) {
  constexpr int32_t fewest_queries = 8;
  const int32_t tokens = longest(p, [&](int32_t s) { return p.queries_of(s); }),
                context = longest(p, [&](int32_t s) { return p.context_of(s); });
  const auto queries = static_cast<int32_t>(p.divides ? smaller(tokens, fewest_queries) : tokens);
  return {p.unit, tokens, context, queries, false};
}

portion addressable(const layer_plan& p) {
  return bytes_of_rows(p, whole_of(p)) <= PTRDIFF_MAX / 2 ? whole_of(p) : least_of(p);
}

// All heads of some sequences, some heads of one sequence, or of these some queries at a time.
portion fitting(const layer_plan& p, int64_t room) {
  portion n = whole_of(p);
  if (bytes_of_rows(p, n) <= room) return n;
  const portion least = least_of(p);
  n = {p.kv_heads, least.tokens, least.context_tokens, least.tokens, true};
  n.spread = bytes_of_rows(p, n) <= room;
  while (n.kv_heads > p.unit && bytes_of_rows(p, n) > room)
    n.kv_heads = static_cast<int32_t>(larger(p.unit, n.kv_heads / 2 / p.unit * p.unit));
  const int64_t bytes = larger(1, bytes_of_rows(p, n));
  if (bytes > room) {
    const int64_t of_queries = bytes_of_rows(p, {p.unit, 0, 0, 1, false});
    n.queries = static_cast<int32_t>(
        clamp(least.queries + (room - bytes_of_rows(p, least)) / of_queries, least.queries, n.tokens - 1));
  } else if (n.kv_heads == p.kv_heads && bytes <= room / 2) {
    n.tokens = static_cast<int32_t>(smaller(n.tokens * (room / bytes), p.tokens));
    n.context_tokens = static_cast<int32_t>(smaller(n.context_tokens * (room / bytes), p.context_tokens));
    n.queries = n.tokens;
  }
  return n;
}

int64_t bytes_of_rows(const layer_plan& p, const portion& n) {
  const strides s = strides_of(p, n);
  return static_cast<int64_t>(sizeof(float)) *
         (n.queries * s.q + n.tokens * s.heads + n.context_tokens * s.kv);
}

layer_rows cut_rows(const layer_plan& p, const portion& n, void* at) {
  const strides s = strides_of(p, n);
  layer_rows rows = {};
  rows.q = static_cast<float*>(at);
  rows.q_stride = static_cast<ptrdiff_t>(s.q);
  rows.heads = rows.q + n.queries * rows.q_stride;
  rows.heads_stride = static_cast<ptrdiff_t>(s.heads);
  rows.side_by_side = side_by_side(p, n);
  rows.k = rows.side_by_side ? rows.q + static_cast<ptrdiff_t>(n.kv_heads) * p.group * p.dim
                             : rows.heads + n.tokens * rows.heads_stride;
  rows.k_stride = static_cast<ptrdiff_t>(rows.side_by_side ? s.q : s.kv);
  rows.v = rows.k + static_cast<ptrdiff_t>(n.kv_heads) * p.dim;
  return rows;
}

static int64_t least_of(const fovea_linear& w) {
  return w.packed ? static_cast<int64_t>(FOVEA_MULTIPLY_SCRATCH(w.in, 1, w.dtype)) : 0;
}

int64_t least_of_context_products(const layer_plan& p) {
  const fovea_layer& w = *p.weights;
  return p.joined ? least_of(w.q) : larger(least_of(w.k), least_of(w.v));
}

int64_t least_of_products(const layer_plan& p) {
  const fovea_layer& w = *p.weights;
  return larger(larger(least_of(w.q), least_of(w.out)), larger(least_of(w.k), least_of(w.v)));
}

int64_t least_inner(const layer_plan& p) {
  const int64_t most = larger(least_of_products(p), static_cast<int64_t>(FOVEA_SCRATCH(p.dim, p.v_dim)));
  if (!p.in_integers) return most;
  int64_t integers = 0;
  for (int32_t s = 0; s < p.sequences; ++s)
    integers = larger(integers, bytes_of_integers(p, p.queries_of(s).count, p.keys_of(s)));
  return larger(most, integers + larger(static_cast<int64_t>(FOVEA_SCRATCH(p.dim, p.v_dim)),
                                        static_cast<int64_t>(FOVEA_FIXED_SCRATCH_ROWS(p.dim, p.v_dim))));
}

int64_t panels_before(const layer_plan& p, int32_t sequence) {
  int64_t tokens = 0;
  if (!p.call->context_starts) return up16(p.context_of(0).count) * sequence * p.k_width;
  for (int32_t s = 0; s < sequence; ++s) tokens += up16(p.context_of(s).count);
  return tokens * p.k_width;
}

} // namespace fovea::layer
