// What a layer touches, except its scratch: weights, and what the options of its attention point at; and what
// of it must not overlap.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "layer/plan.hpp"

namespace fovea::layer {
namespace {

// Weights and biases; what is wrong with them, their products tell.
void place_weights(layer_plan& p) {
  const fovea_layer& w = *p.weights;
  const fovea_linear* const all[] = {&w.q, &w.k, &w.v, &w.out};
  for (int i = 0; i < 4; ++i) {
    range_of(all[i]->packed, fovea_linear_size(all[i]->in, all[i]->out, all[i]->dtype),
             p.bytes.in[footprint::packed + i]);
    const size_t bias = all[i]->bias && all[i]->out > 0 ? static_cast<size_t>(all[i]->out) * sizeof(float)
                                                        : 0;
    range_of(all[i]->bias, bias, p.bytes.in[footprint::biases + i]);
  }
}

// What the attention reads and writes in addition to its tensors.
int32_t place_options(layer_plan& p) {
  const fovea_layer_call& c = *p.call;
  const fovea_attention& a = c.how;
  byte_range* in = p.bytes.in;
  if (const int32_t s = f32::check_list(a.alibi, p.q_heads, FOVEA_ARG_ALIBI, in[footprint::alibi])) return s;
  if (const int32_t s = f32::check_list(a.sinks, p.q_heads, FOVEA_ARG_SINKS, in[footprint::sinks])) return s;
  const int32_t queries = most_tokens(p, false), keys = most_tokens(p, true);
  if (a.mask.data) {
    if (a.mask.head_stride < 0 || a.mask.query_stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_MASK);
    if (a.mask.keys < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_MASK);
    const int32_t columns = a.mask.keys && a.mask.keys < keys ? a.mask.keys : keys;
    size_t size;
    if (!bytes_of({p.q_heads, queries, a.mask.head_stride, a.mask.query_stride, columns},
                  a.mask.is_bias ? sizeof(float) : 1, size) ||
        !range_of(a.mask.data, size, in[footprint::mask]))
      return refusal(FOVEA_OVERFLOW, FOVEA_ARG_MASK);
  }
  if (a.lse &&
      !range_of(a.lse, static_cast<size_t>(p.q_heads) * static_cast<size_t>(p.tokens) * sizeof(float),
                p.bytes.to[footprint::lse]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_LSE);
  if (!a.weights.data) return FOVEA_OK;
  const fovea_weights& w = a.weights;
  if (w.first_head < 0 || w.first_head > p.q_heads || w.heads < 0 || w.heads > p.q_heads - w.first_head)
    return refusal(FOVEA_RANGE, FOVEA_ARG_WEIGHTS);
  int64_t rows = 0;
  for (int32_t s = 0; s < p.sequences; ++s)
    rows += int64_t{w.queries ? w.queries : p.queries_of(s).count - w.first_query} * p.keys_of(s);
  const int64_t heads = w.heads ? w.heads : p.q_heads - w.first_head;
  int64_t size;
  if (__builtin_mul_overflow(rows, heads * int64_t{sizeof(float)}, &size) || size > PTRDIFF_MAX ||
      !range_of(w.data, size < 0 ? 0 : static_cast<size_t>(size), p.bytes.to[footprint::weights]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_WEIGHTS);
  return FOVEA_OK;
}

} // namespace

int32_t most_tokens(const layer_plan& p, bool keys) {
  int32_t most = 0;
  for (int32_t s = 0; s < p.sequences; ++s) {
    const int32_t count = keys ? p.keys_of(s) : p.queries_of(s).count;
    most = most < count ? count : most;
  }
  return most;
}

int32_t place_memory(layer_plan& p) {
  place_weights(p);
  return place_options(p);
}

// Whether rows that a call reads are those that it writes, so that each is read before it is written.
bool same_rows(const layer_plan& p, const fovea_rows_in& in, int32_t columns) {
  const fovea_rows_out& y = p.call->y;
  const int32_t out = p.weights->out.out;
  return in.data == y.data && columns == out &&
         (p.tokens < 2 || stride_or(in.stride, columns) == stride_or(y.stride, out));
}

// y may be x, or the residual. That is judged here for all tokens, because scratch decides how many of them
// go through one product.
int32_t check_overlap(const layer_plan& p) {
  constexpr int32_t argument[] = {FOVEA_ARG_Y, FOVEA_ARG_LSE, FOVEA_ARG_WEIGHTS, FOVEA_ARG_SHARED};
  const fovea_layer_call& c = *p.call;
  const bool in_place = same_rows(p, c.x, p.weights->q.in);
  const bool adds_in_place = same_rows(p, c.residual, p.weights->out.out);
  if (!adds_in_place && meet(p.bytes.in[footprint::residual], p.bytes.to[footprint::y]))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL);
  for (int o = 0; o < footprint::outputs; ++o) {
    for (int i = 0; i < footprint::inputs; ++i) {
      if (o == footprint::y && (i == footprint::residual || (i == footprint::x && in_place))) continue;
      if (meet(p.bytes.in[i], p.bytes.to[o])) return refusal(FOVEA_OVERLAP, argument[o]);
    }
    for (int before = 0; before < o; ++before)
      if (meet(p.bytes.to[before], p.bytes.to[o])) return refusal(FOVEA_OVERLAP, argument[o]);
  }
  return FOVEA_OK;
}

} // namespace fovea::layer
