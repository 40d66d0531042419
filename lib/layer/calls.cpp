// The products, norms, rotations and attentions of a layer.
#include "common/build.hpp"

#include "layer/calls.hpp"

#include "f32/kernel.hpp"
#include "layer/integers.hpp"

namespace fovea::layer {
namespace {

// Some outputs of a matrix, from a multiple of 16 on.
fovea_linear cut_outputs(const fovea_linear& w, int32_t from, int32_t count) {
  fovea_linear cut = w;
  const size_t skipped = static_cast<size_t>(from / 16) * FOVEA_LINEAR_BYTES(w.in, 1, w.dtype);
  cut.packed = static_cast<const unsigned char*>(w.packed) + skipped;
  cut.bias = w.bias ? w.bias + from : nullptr;
  cut.out = count;
  return cut;
}

// The argument that the caller knows: of W_Q and so on, not of one product among others.
int32_t named(int32_t status, int32_t argument) {
  if (!status) return status;
  switch (FOVEA_ARGUMENT(status)) {
    case FOVEA_ARG_W:
    case FOVEA_ARG_PACKED:
    case FOVEA_ARG_BIAS:
    case FOVEA_ARG_IN:
    case FOVEA_ARG_OUT:
      return refusal(FOVEA_REASON(status), argument);
    default:
      return status;
  }
}

tokens_of overlap(tokens_of a, tokens_of b) {
  const auto from = static_cast<int32_t>(clamp(b.first, a.first, a.first + a.count)),
             to = static_cast<int32_t>(clamp(b.first + b.count, from, a.first + a.count));
  return {from, to - from};
}

tokens_of share_of(tokens_of all, int32_t part, int32_t parts) {
  const auto at = [&](int32_t i) { return static_cast<int32_t>(int64_t{all.count} * i / parts); };
  return {all.first + at(part), at(part + 1) - at(part)};
}

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

int32_t layer_calls::multiply(const fovea_product& product, int32_t argument) {
  if (!only_checks) return named(fovea_multiply(&product, scratch, scratch_size), argument);
  if (measures) most_scratch = larger(most_scratch, static_cast<int64_t>(fovea_multiply_scratch(&product)));
  return named(fovea_check_product(&product), argument);
}

// y = x W^T + b for outputs from .. from + count - 1 of w.
int32_t layer_calls::multiply_part(const fovea_linear& w, int32_t from, int32_t count, const fovea_rows_in& x,
                                   tokens_of tokens, float* y, ptrdiff_t stride, int32_t argument) {
  const bool whole = from == 0 && count == w.out;
  if (!whole && !w.packed) return refusal(FOVEA_NULL, argument);
  const fovea_linear cut = whole ? w : cut_outputs(w, from, count);
  fovea_product product = {};
  product.w = &cut;
  product.x = x;
  const ptrdiff_t x_stride = x.stride ? x.stride : w.in;
  if (tokens.count) product.x.data = static_cast<const float*>(x.data) + tokens.first * x_stride;
  product.y.data = y;
  product.y.stride = stride;
  product.rows = tokens.count;
  product.isa = p.call->how.isa;
  product.fixed_isa = p.call->fixed_isa;
  return multiply(product, argument);
}

// RMS norm of each head, then its rotation, for tokens of a block.
void layer_calls::finish_heads(float* at, ptrdiff_t stride, int32_t heads, const float* weight,
                               tokens_of tokens, const block& b, bool of_context) const {
  if (only_checks) return;
  if (weight)
    for (int32_t h = 0; h < heads; ++h) {
      float* head = at + static_cast<ptrdiff_t>(h) * p.dim;
      f32::run_at(p.place,
                  f32::norm_job{head, nullptr, weight, nullptr, nullptr, head, stride, 0, 0, stride,
                                tokens.count, p.dim, p.norm_epsilon, false, p.weights->norm_plus_one != 0});
    }
  if (!p.rotates) return;
  f32::rotate_job job = p.rotate;
  job.heads = heads;
  for (int32_t s = b.first_sequence; s < b.end_sequence; ++s) {
    const tokens_of all = of_context ? p.context_of(s) : p.queries_of(s), some = overlap(all, tokens);
    float* row = at + (some.first - tokens.first) * stride;
    job.in = {row, p.dim, stride};
    job.out = {row, p.dim, stride};
    job.tokens = some.count;
    const bool given = p.call->positions && !of_context;
    job.positions = given ? p.call->positions + some.first : nullptr;
    job.first = some.first - all.first + (of_context ? 0 : p.call->first_position);
    if (job.tokens > 0) f32::run_at(p.place, job);
  }
}

int32_t layer_calls::project_queries(const block& b, tokens_of tokens) {
  float* q = rows.q + (tokens.first - b.queries.first) * rows.q_stride;
  const int32_t heads = b.heads() * p.group, first = b.first_head * p.group * p.dim;
  const bool all_at_once = p.joined && rows.side_by_side && b.heads() == p.kv_heads;
  const int32_t count = all_at_once ? p.weights->q.out : heads * p.dim;
  if (const int32_t s = multiply_part(p.weights->q, first, count, p.x, tokens, q, rows.q_stride, FOVEA_ARG_Q))
    return s;
  finish_heads(q, rows.q_stride, heads, p.weights->q_norm, tokens, b, false);
  return FOVEA_OK;
}

int32_t layer_calls::project_keys(const block& b, tokens_of tokens) {
  const ptrdiff_t skip = (tokens.first - b.context.first) * rows.k_stride;
  float *k = rows.k + skip, *v = rows.v + skip;
  const fovea_layer& w = *p.weights;
  const int32_t first_k = p.joined ? p.q_width : 0, first_v = p.joined ? p.q_width + p.k_width : 0;
  const bool is_there = p.joined && rows.side_by_side && b.heads() == p.kv_heads; // the product of q made it
  if (!is_there) {
    if (const int32_t s = multiply_part(p.joined ? w.q : w.k, first_k + b.first_head * p.dim,
                                        b.heads() * p.dim, p.context, tokens, k, rows.k_stride, FOVEA_ARG_K))
      return s;
    if (const int32_t s = multiply_part(p.joined ? w.q : w.v, first_v + b.first_head * p.v_dim,
                                        b.heads() * p.v_dim, p.values, tokens, v, rows.k_stride, FOVEA_ARG_V))
      return s;
  }
  finish_heads(k, rows.k_stride, b.heads(), w.k_norm, tokens, b, p.cross);
  return FOVEA_OK;
}

int32_t layer_calls::project_values(tokens_of tokens, float* to) {
  const int32_t first = p.joined ? p.q_width + p.k_width : 0;
  return multiply_part(p.joined ? p.weights->q : p.weights->v, first, p.v_width, p.values, tokens, to,
                       p.v_width, FOVEA_ARG_V);
}

int32_t layer_calls::project_keys_of(int32_t sequence, tokens_of tokens) {
  const block b{sequence, sequence + 1, 0, p.kv_heads, {0, 0}, tokens, 0};
  const int32_t status = multiply_part(p.joined ? p.weights->q : p.weights->k, p.joined ? p.q_width : 0,
                                       p.k_width, p.context, tokens, rows.k, rows.k_stride, FOVEA_ARG_K);
  if (!status) finish_heads(rows.k, rows.k_stride, p.kv_heads, p.weights->k_norm, tokens, b, true);
  return status;
}

// A worker projects some rows for all heads; or, where rows are few, all rows for some heads.
int32_t layer_calls::project(const block& given) {
  block b = given;
  tokens_of queries = b.queries, context = b.context;
  const layer_rows all = rows;
  const int32_t units = quotient(b.heads() + p.unit - 1, p.unit);
  if (p.parts > 1 && (b.queries.count >= 16 * int64_t{p.parts} || units == 1)) {
    queries = share_of(queries, p.part, p.parts);
    context = share_of(context, p.part, p.parts);
  } else if (p.parts > 1) {
    const tokens_of heads = share_of({0, units}, p.part, p.parts);
    b.first_head = heads.first * p.unit;
    b.end_head = static_cast<int32_t>(smaller((heads.first + heads.count) * int64_t{p.unit}, given.end_head));
    if (b.heads() <= 0) return FOVEA_OK;
    rows.q += static_cast<ptrdiff_t>(b.first_head) * p.group * p.dim;
    rows.k += static_cast<ptrdiff_t>(b.first_head) * p.dim;
    rows.v += static_cast<ptrdiff_t>(b.first_head) * p.v_dim;
  }
  int32_t status = project_queries(b, queries);
  if (!status && !p.call->kv) status = project_keys(b, context);
  rows = all;
  return status;
}

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

int32_t layer_calls::multiply_heads(const block& b) {
  const fovea_linear& w = p.weights->out;
  fovea_product product = {};
  product.w = &w;
  product.x.data = rows.heads;
  product.x.stride = rows.heads_stride;
  product.y = p.call->y;
  product.residual = p.call->residual;
  const ptrdiff_t y_stride = product.y.stride ? product.y.stride : w.out,
                  residual_stride = product.residual.stride ? product.residual.stride : w.out;
  if (b.queries.count) {
    product.y.data = static_cast<float*>(product.y.data) + b.queries.first * y_stride;
    if (product.residual.data)
      product.residual.data = static_cast<const float*>(product.residual.data) +
                              b.queries.first * residual_stride;
  }
  product.rows = b.queries.count;
  product.part = {p.part, p.parts};
  product.isa = p.call->how.isa;
  product.fixed_isa = p.call->fixed_isa;
  return multiply(product, FOVEA_ARG_OUT);
}

} // namespace fovea::layer
