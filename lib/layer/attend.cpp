// The attentions of a layer: one call for each sequence, in floats; in integers one for each KV head, too.
#include "common/build.hpp"

#include "layer/calls.hpp"
#include "layer/integers.hpp"

namespace fovea::layer {
namespace {

// Of the chosen heads those that these heads have; `before` floats were written for earlier sequences.
int64_t choose_weights(fovea_weights& w, int32_t all_heads, int32_t first, int32_t heads, int32_t queries,
                       int32_t keys, int64_t before) {
  if (!w.data) return 0;
  const int32_t chosen = w.heads ? w.heads : all_heads - w.first_head;
  const int32_t from = static_cast<int32_t>(larger(w.first_head, first)),
                to = static_cast<int32_t>(smaller(w.first_head + chosen, first + heads));
  const int64_t of_head = int64_t{w.queries ? w.queries : queries - w.first_query} * keys;
  w.data = from < to ? w.data + before + (from - w.first_head) * of_head : nullptr;
  w.first_head = from - first;
  w.heads = to - from;
  if (!w.data) w = {};
  return chosen * of_head;
}

} // namespace

// The options of the caller for some heads of one sequence, and the layer's tensors.
fovea_attention layer_calls::attention_of(const block& b, int32_t s) const {
  fovea_attention a = p.call->how;
  const tokens_of all = p.queries_of(s), context = p.context_of(s), queries = overlap(all, b.queries);
  const int32_t skipped = queries.first - all.first;
  const int32_t first = b.first_head * p.group, heads = b.heads() * p.group;
  a.q_heads = heads;
  a.kv_heads = b.heads();
  a.dim = p.dim;
  a.v_dim = p.v_dim;
  a.queries = queries.count;
  a.keys = p.keys_of(s);
  if (!(a.flags & FOVEA_POSITION)) {
    a.flags |= FOVEA_POSITION;
    a.position = p.cross ? a.keys - all.count : 0;
  }
  a.position += skipped;
  a.q.data = rows.q + (queries.first - b.queries.first) * rows.q_stride;
  a.q.head_stride = p.dim;
  a.q.token_stride = rows.q_stride;
  a.out.data = rows.heads + (queries.first - b.first_token) * rows.heads_stride +
               static_cast<ptrdiff_t>(first) * p.v_dim;
  a.out.head_stride = p.v_dim;
  a.out.token_stride = rows.heads_stride;
  a.k.head_stride = p.dim;
  a.v.head_stride = p.v_dim;
  if (p.call->kv) {
    const float* kv = static_cast<const float*>(p.call->kv);
    const ptrdiff_t panels = static_cast<ptrdiff_t>(FOVEA_UP16(context.count)) * p.dim;
    a.k.data = kv + panels_before(p, s) + b.first_head * panels;
    a.k.layout = FOVEA_PANELS;
    a.k.head_stride = panels;
    a.v.data = kv + panel_floats(p) + static_cast<ptrdiff_t>(context.first) * p.v_width +
               b.first_head * p.v_dim;
    a.v.token_stride = p.v_width;
  } else {
    a.k.data = rows.k + (context.first - b.context.first) * rows.k_stride;
    a.v.data = rows.v + (context.first - b.context.first) * rows.k_stride;
    a.k.token_stride = a.v.token_stride = rows.k_stride;
  }
  if (a.alibi) a.alibi += first;
  if (a.sinks) a.sinks += first;
  if (a.mask.data)
    a.mask.data = static_cast<const unsigned char*>(a.mask.data) +
                  (first * a.mask.head_stride + skipped * a.mask.query_stride) *
                      static_cast<ptrdiff_t>(a.mask.is_bias ? sizeof(float) : 1);
  if (a.lse)
    a.lse += static_cast<ptrdiff_t>(p.q_heads) * queries.first +
             static_cast<ptrdiff_t>(first) * queries.count;
  a.part = {p.part, p.parts};
  return a;
}

// A worker takes whole heads: each is quantised once.
int32_t layer_calls::attend_integers(const block& b) {
  int32_t unit = 0;
  for (int32_t s = b.first_sequence; s < b.end_sequence; ++s)
    for (int32_t h = b.first_head; h < b.end_head; ++h) {
      if (unit++ % p.parts != p.part) continue;
      if (only_checks && h > b.first_head) continue; // heads differ in nothing that is checked
      const block one{s, s + 1, h, h + 1, b.queries, b.context, b.first_token};
      integer_head head{p, attention_of(one, s), 0};
      const ptrdiff_t skipped = h - b.first_head;
      head.a.q.data = static_cast<const float*>(head.a.q.data) + skipped * p.group * p.dim;
      head.a.k.data = static_cast<const float*>(head.a.k.data) + skipped * p.dim;
      head.a.v.data = static_cast<const float*>(head.a.v.data) + skipped * p.v_dim;
      head.a.part = {};
      head.counting = p.cross ? head.a.queries : head.a.keys; // padding of queries is that of keys
      if (measures) most_scratch = larger(most_scratch, best_integer_scratch(head));
      if (const int32_t status = only_checks ? check_integers(head)
                                             : attend_in_integers(head, scratch, scratch_size))
        return status;
    }
  return FOVEA_OK;
}

int32_t layer_calls::attend(const block& b) {
  if (p.in_integers) return attend_integers(b);
  int64_t before = weights_before;
  for (int32_t s = b.first_sequence; s < b.end_sequence; ++s) {
    fovea_attention a = attention_of(b, s);
    if (!a.queries) continue;
    before += choose_weights(a.weights, p.q_heads, b.first_head * p.group, a.q_heads, a.queries, a.keys,
                             before);
    if (measures) most_scratch = larger(most_scratch, static_cast<int64_t>(fovea_scratch_best(&a)));
    if (const int32_t status = only_checks ? fovea_check(&a) : fovea_attend_f32(&a, scratch, scratch_size))
      return status;
  }
  if (b.end_head == p.kv_heads) weights_before = before;
  return FOVEA_OK;
}

} // namespace fovea::layer
