// The products, norms and rotations of a layer.
#include "common/build.hpp"

#include "layer/calls.hpp"

#include "f32/kernel.hpp"

namespace fovea::layer {
namespace {

// Some outputs of a matrix, from a multiple of 16 on.
fovea_linear cut_outputs(const fovea_linear& w, outputs_of outputs) {
  fovea_linear cut = w;
  const size_t skipped = static_cast<size_t>(outputs.from / 16) * FOVEA_LINEAR_BYTES(w.in, 1, w.dtype);
  cut.packed = static_cast<const unsigned char*>(w.packed) + skipped;
  cut.bias = w.bias ? w.bias + outputs.from : nullptr;
  cut.out = outputs.count;
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

tokens_of share_of(tokens_of all, int32_t part, int32_t parts) {
  const auto at = [&](int32_t i) { return static_cast<int32_t>(int64_t{all.count} * i / parts); };
  return {all.first + at(part), at(part + 1) - at(part)};
}

} // namespace

int32_t layer_calls::multiply(const fovea_product& product, int32_t argument) {
  if (!only_checks) return named(fovea_multiply(&product, scratch, scratch_size), argument);
  if (measures) most_scratch = larger(most_scratch, static_cast<int64_t>(fovea_multiply_scratch(&product)));
  return named(fovea_check_product(&product), argument);
}

// y = x W^T + b for some outputs of w.
int32_t layer_calls::multiply_part(const fovea_linear& w, outputs_of outputs, const fovea_rows_in& x,
                                   tokens_of tokens, rows_to y, int32_t argument) {
  const bool whole = outputs.from == 0 && outputs.count == w.out;
  if (!whole && !w.packed) return refusal(FOVEA_NULL, argument);
  const fovea_linear cut = whole ? w : cut_outputs(w, outputs);
  fovea_product product = {};
  product.w = &cut;
  product.x = x;
  const ptrdiff_t x_stride = x.stride ? x.stride : w.in;
  if (tokens.count) product.x.data = static_cast<const float*>(x.data) + tokens.first * x_stride;
  product.y.data = y.at;
  product.y.stride = y.stride;
  product.rows = tokens.count;
  product.isa = p.call->how.isa;
  product.fixed_isa = p.call->fixed_isa;
  return multiply(product, argument);
}

// RMS norm of each head.
void layer_calls::normalise_heads(rows_to to, int32_t heads, const float* weight, int32_t tokens) const {
  f32::norm_job job = {};
  job.weight = weight;
  job.in_stride = to.stride;
  job.out_stride = to.stride;
  job.rows = tokens;
  job.columns = p.dim;
  job.epsilon = p.norm_epsilon;
  job.weight_plus_one = p.weights->norm_plus_one != 0;
  for (int32_t h = 0; h < heads; ++h) {
    job.out = to.at + static_cast<ptrdiff_t>(h) * p.dim;
    job.in = job.out;
    f32::run_at(p.place, job);
  }
}

// Norm of each head, if there is one, then its rotation, for tokens of a block.
void layer_calls::finish_heads(rows_to to, int32_t heads, const float* weight, tokens_of tokens,
                               const block& b, bool of_context) const {
  if (only_checks) return;
  if (weight) normalise_heads(to, heads, weight, tokens.count);
  if (!p.rotates) return;
  f32::rotate_job job = p.rotate;
  job.heads = heads;
  for (int32_t s = b.first_sequence; s < b.end_sequence; ++s) {
    const tokens_of all = of_context ? p.context_of(s) : p.queries_of(s), some = overlap(all, tokens);
    float* row = to.at + (some.first - tokens.first) * to.stride;
    job.in = {row, p.dim, to.stride};
    job.out = {row, p.dim, to.stride};
    job.tokens = some.count;
    const bool given = p.call->positions && !of_context;
    job.positions = given ? p.call->positions + some.first : nullptr;
    job.first = some.first - all.first + (of_context ? 0 : p.call->first_position);
    if (job.tokens > 0) f32::run_at(p.place, job);
  }
}

int32_t layer_calls::project_queries(const block& b, tokens_of tokens) {
  const rows_to q{rows.q + (tokens.first - b.queries.first) * rows.q_stride, rows.q_stride};
  const int32_t heads = b.heads() * p.group, first = b.first_head * p.group * p.dim;
  const bool all_at_once = p.joined && rows.side_by_side && b.heads() == p.kv_heads;
  const int32_t count = all_at_once ? p.weights->q.out : heads * p.dim;
  if (const int32_t s = multiply_part(p.weights->q, {first, count}, p.x, tokens, q, FOVEA_ARG_Q)) return s;
  finish_heads(q, heads, p.weights->q_norm, tokens, b, false);
  return FOVEA_OK;
}

int32_t layer_calls::project_keys(const block& b, tokens_of tokens) {
  const ptrdiff_t skip = (tokens.first - b.context.first) * rows.k_stride;
  const rows_to k{rows.k + skip, rows.k_stride}, v{rows.v + skip, rows.k_stride};
  const fovea_layer& w = *p.weights;
  const int32_t first_k = p.joined ? p.q_width : 0, first_v = p.joined ? p.q_width + p.k_width : 0;
  const bool is_there = p.joined && rows.side_by_side && b.heads() == p.kv_heads; // the product of q made it
  if (!is_there) {
    const outputs_of keys{first_k + b.first_head * p.dim, b.heads() * p.dim},
        values{first_v + b.first_head * p.v_dim, b.heads() * p.v_dim};
    if (const int32_t s = multiply_part(p.joined ? w.q : w.k, keys, p.context, tokens, k, FOVEA_ARG_K))
      return s;
    if (const int32_t s = multiply_part(p.joined ? w.q : w.v, values, p.values, tokens, v, FOVEA_ARG_V))
      return s;
  }
  finish_heads(k, b.heads(), w.k_norm, tokens, b, p.cross);
  return FOVEA_OK;
}

int32_t layer_calls::project_values(tokens_of tokens, float* to) {
  const int32_t first = p.joined ? p.q_width + p.k_width : 0;
  return multiply_part(p.joined ? p.weights->q : p.weights->v, {first, p.v_width}, p.values, tokens,
                       {to, p.v_width}, FOVEA_ARG_V);
}

int32_t layer_calls::project_keys_of(int32_t sequence, tokens_of tokens) {
  const block b{sequence, sequence + 1, 0, p.kv_heads, {0, 0}, tokens, 0};
  const rows_to k{rows.k, rows.k_stride};
  if (const int32_t s = multiply_part(p.joined ? p.weights->q : p.weights->k,
                                      {p.joined ? p.q_width : 0, p.k_width}, p.context, tokens, k,
                                      FOVEA_ARG_K))
    return s;
  finish_heads(k, p.kv_heads, p.weights->k_norm, tokens, b, true);
  return FOVEA_OK;
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
