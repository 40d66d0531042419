// The plan of a layer: which products and attentions a call is made of, and where their rows stand. make_plan
// is the only place that validates options; each product and attention is checked before the first is made.
#pragma once
#include "common/validate.hpp"
#include "f32/rope.hpp"
#include "fovea/layer.h"

namespace fovea::layer {

struct tokens_of { // of one sequence, or of several that follow each other
  int32_t first, count;
};

// What a call touches, except its scratch.
struct footprint {
  enum input {
    x,
    context,
    values,
    kv,
    residual,
    starts,
    context_starts,
    lengths,
    positions,
    cosine,
    sine,
    q_norm,
    k_norm,
    packed,
    biases = packed + 4,
    alibi = biases + 4,
    sinks,
    mask,
    inputs
  };
  enum output { y, lse, weights, shared, outputs };
  byte_range in[inputs], to[outputs];
};

struct layer_plan {
  const fovea_layer_call* call;
  const fovea_layer* weights;
  int32_t q_heads, kv_heads, group, dim, v_dim;
  int32_t q_width, k_width, v_width, out_width; // outputs of W_Q, W_K, W_V; inputs of W_O
  int32_t unit; // KV heads that products can be cut into: their first output is a multiple of 16
  bool joined;  // W_Q, W_K and W_V are one matrix
  bool divides; // queries may be projected some at a time
  bool cross;   // keys and values come from a context, or were computed before
  bool rotates;
  bool in_integers;                 // the attention
  fovea_rows_in x, context, values; // both others are x in self-attention
  int32_t sequences, tokens, context_tokens;
  int32_t part, parts;
  int32_t place; // of the float kernels
  float norm_epsilon;
  f32::rotate_job rotate; // its tables
  footprint bytes;

  tokens_of queries_of(int32_t s) const { return of(call->starts, tokens, s); }
  tokens_of context_of(int32_t s) const {
    return cross ? of(call->context_starts, context_tokens, s) : queries_of(s);
  }
  int32_t keys_of(int32_t s) const { return call->lengths ? call->lengths[s] : context_of(s).count; }

 private:
  tokens_of of(const int32_t* starts, int32_t all, int32_t s) const {
    if (starts) return {starts[s], starts[s + 1] - starts[s]};
    const int32_t each = quotient(all, sequences);
    return {s * each, each};
  }
};

enum class purpose { run, project_context };
int32_t make_plan(const fovea_layer_call* call, purpose why, layer_plan& p);

// Parts of make_plan: weights and options take their place in the footprint, and outputs meet nothing else.
int32_t place_memory(layer_plan& p);
int32_t check_overlap(const layer_plan& p);
int32_t most_tokens(const layer_plan& p, bool keys); // of a sequence: keys that count, or queries

// Where rows stand that a call makes on its way: in scratch, or in what workers share.
struct layer_rows {
  float *q, *k, *v, *heads; // heads: what attention writes, all heads of a token one after another
  ptrdiff_t q_stride, k_stride, heads_stride; // v as k
  bool side_by_side;                          // q, k and v of a token: one product may write them
};

// What is done at a time: KV heads of rows that the scratch has room for. Of their queries all, or some.
struct portion {
  int32_t kv_heads; // a multiple of the plan's unit, or all
  int32_t tokens, context_tokens, queries;
  bool spread; // rows have a gap, so that they do not share cache sets
};

portion whole_of(const layer_plan& p);
portion least_of(const layer_plan& p);
portion fitting(const layer_plan& p, int64_t room); // the whole, or what fits; at least least_of
portion addressable(const layer_plan& p);           // the whole, if any memory could hold it
int64_t bytes_of_rows(const layer_plan& p, const portion& n);
layer_rows cut_rows(const layer_plan& p, const portion& n, void* at);
int64_t least_of_products(const layer_plan& p);         // scratch of one product
int64_t least_of_context_products(const layer_plan& p); // of keys and values alone
int64_t least_inner(const layer_plan& p);               // of one product or attention

// Panels of K of a context; rows of V follow them.
constexpr int64_t panel_floats(const layer_plan& p) {
  return static_cast<int64_t>(p.k_width) * (p.context_tokens + int64_t{15} * p.sequences);
}
// Where those of a sequence begin.
int64_t panels_before(const layer_plan& p, int32_t sequence);

} // namespace fovea::layer
