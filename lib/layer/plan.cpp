// Validation of a layer: its shape, its sequences, and the memory that the caller gave.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "layer/integers.hpp"

namespace fovea::layer {
namespace {

constexpr int32_t heads_of_products(int32_t n) {
  return n % 16 == 0 ? 1 : n % 8 == 0 ? 2 : n % 4 == 0 ? 4 : n % 2 == 0 ? 8 : 16;
}

bool is_empty(const fovea_linear& w) { return !w.packed && !w.bias && !w.in && !w.out && !w.dtype; }

int32_t check_reserved(const fovea_layer_call& c) {
  const fovea_layer& w = *c.layer;
  return f32::all_zero(c.reserved, sizeof c.reserved / sizeof *c.reserved) &&
                 f32::all_zero(w.reserved, sizeof w.reserved / sizeof *w.reserved)
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
}

// Heads, and outputs of W_Q, W_K, W_V that belong to them.
int32_t check_weights(const fovea_layer& w, layer_plan& p) {
  struct {
    int32_t q_heads, kv_heads, dim, v_dim, queries, keys, first_key;
  } shape = {w.q_heads, w.kv_heads, w.dim, w.v_dim, 0, 0, 0};
  if (const int32_t s = check_shape(shape, f32::greatest_dim, FOVEA_LINEAR_MAX, p)) return s;
  p.q_heads = w.q_heads;
  const int64_t q = int64_t{w.q_heads} * p.dim, k = int64_t{p.kv_heads} * p.dim,
                v = int64_t{p.kv_heads} * p.v_dim, heads = int64_t{w.q_heads} * p.v_dim;
  if (q > FOVEA_LINEAR_MAX || heads > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.q_width = static_cast<int32_t>(q);
  p.k_width = static_cast<int32_t>(k);
  p.v_width = static_cast<int32_t>(v);
  p.out_width = static_cast<int32_t>(heads);
  p.joined = is_empty(w.k) && is_empty(w.v);
  if (w.q.out != (p.joined ? q + k + v : q)) return refusal(FOVEA_SIZE, FOVEA_ARG_Q);
  if (!p.joined && w.k.out != k) return refusal(FOVEA_SIZE, FOVEA_ARG_K);
  if (!p.joined && w.v.out != v) return refusal(FOVEA_SIZE, FOVEA_ARG_V);
  if (w.out.in != heads) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  p.unit = heads_of_products(p.dim | p.v_dim);
  const bool cuts = !p.joined || (p.q_width % 16 == 0 && p.k_width % 16 == 0);
  if (!cuts || p.unit > p.kv_heads) p.unit = p.kv_heads;
  p.divides = cuts;
  if (p.cross && !cuts) return refusal(FOVEA_ALIGN, FOVEA_ARG_Q); // W_K cannot be taken out of the matrix
  if (w.attention != FOVEA_F32 && w.attention != FOVEA_I8)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION);
  p.in_integers = w.attention == FOVEA_I8;
  if (w.token_scales != 0 && !(w.token_scales == 1 && p.in_integers))
    return refusal(FOVEA_RANGE, FOVEA_ARG_ATTENTION);
  return FOVEA_OK;
}

int32_t check_norms(const fovea_layer& w, layer_plan& p) {
  byte_range* in = p.bytes.in;
  if (const int32_t s = f32::check_list(w.q_norm, p.dim, FOVEA_ARG_NORM, in[footprint::q_norm])) return s;
  if (const int32_t s = f32::check_list(w.k_norm, p.dim, FOVEA_ARG_NORM, in[footprint::k_norm])) return s;
  if (w.norm_plus_one & ~1) return refusal(FOVEA_RANGE, FOVEA_ARG_NORM);
  if (!is_finite(w.norm_epsilon)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_EPSILON);
  if (w.norm_epsilon < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_EPSILON);
  p.norm_epsilon = is_zero(w.norm_epsilon) ? 1e-6f : w.norm_epsilon;
  return FOVEA_OK;
}

// The starts of sequences: from 0 to all tokens, never falling. Without them all have the same length.
int32_t check_starts(const int32_t* starts, int32_t sequences, int32_t tokens, int32_t argument,
                     byte_range& bytes) {
  if (const int32_t s = f32::check_list(starts, sequences + 1, argument, bytes)) return s;
  if (!starts) return tokens % sequences ? refusal(FOVEA_SIZE, argument) : int32_t{FOVEA_OK};
  bool right = starts[0] == 0 && starts[sequences] == tokens;
  for (int32_t s = 0; s < sequences; ++s) right = right && starts[s] <= starts[s + 1];
  return right ? int32_t{FOVEA_OK} : refusal(FOVEA_RANGE, argument);
}

int32_t check_sequences(const fovea_layer_call& c, layer_plan& p) {
  byte_range* in = p.bytes.in;
  p.tokens = c.tokens;
  p.context_tokens = p.cross ? c.context_tokens : c.tokens;
  p.sequences = c.sequences ? c.sequences : 1;
  if (c.tokens < 0 || c.tokens > f32::greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_TOKENS);
  if (p.context_tokens < 0 || p.context_tokens > f32::greatest_count || (!p.cross && c.context_tokens))
    return refusal(FOVEA_SIZE, FOVEA_ARG_CONTEXT);
  if (p.sequences < 0 || p.sequences > f32::greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_SEQUENCES);
  if (const int32_t s = check_starts(c.starts, p.sequences, p.tokens, FOVEA_ARG_STARTS,
                                     in[footprint::starts]))
    return s;
  if (!p.cross && c.context_starts) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_CONTEXT);
  if (p.cross)
    if (const int32_t s = check_starts(c.context_starts, p.sequences, p.context_tokens, FOVEA_ARG_CONTEXT,
                                       in[footprint::context_starts]))
      return s;
  if (const int32_t s = f32::check_list(c.lengths, p.sequences, FOVEA_ARG_LENGTHS, in[footprint::lengths]))
    return s;
  for (int32_t s = 0; s < p.sequences && c.lengths; ++s)
    if (c.lengths[s] < 0 || c.lengths[s] > p.context_of(s).count)
      return refusal(FOVEA_RANGE, FOVEA_ARG_LENGTHS);
  return FOVEA_OK;
}

// Queries and keys of self-attention have the same positions; a context counts its own.
int32_t check_rotation(const fovea_layer_call& c, layer_plan& p) {
  const fovea_rope& rope = p.weights->rope;
  p.rotates = rope.cos || rope.sin;
  if (!p.rotates) return FOVEA_OK;
  byte_range tables[2];
  if (const int32_t s = f32::check_rope(rope, p.dim, p.rotate, tables)) return s;
  p.bytes.in[footprint::cosine] = tables[0];
  p.bytes.in[footprint::sine] = tables[1];
  if (c.positions)
    if (const int32_t s = f32::check_positions(rope, c.positions, 0, p.tokens,
                                               p.bytes.in[footprint::positions]))
      return s;
  byte_range none;
  for (int32_t s = 0; s < p.sequences; ++s) {
    if (!c.positions)
      if (const int32_t status = f32::check_positions(rope, nullptr, c.first_position, p.queries_of(s).count,
                                                      none))
        return status;
    if (p.cross)
      if (const int32_t status = f32::check_positions(rope, nullptr, 0, p.context_of(s).count, none))
        return status;
  }
  return FOVEA_OK;
}

int32_t check_float_rows(const fovea_rows_in& given, int32_t rows, int32_t columns, int32_t argument,
                         byte_range& bytes) {
  if (given.dtype != FOVEA_F32 || given.reserved) return refusal(FOVEA_UNSUPPORTED, argument);
  return f32::check_floats({given.data, given.stride ? given.stride : columns, rows, columns}, argument,
                           bytes);
}

int32_t check_stage(const fovea_layer_call& c, layer_plan& p) {
  if (c.stage < 0 || c.stage >= FOVEA_LAYER_END) return refusal(FOVEA_RANGE, FOVEA_ARG_STAGE);
  if (const int32_t s = check_part(c.part, p)) return s;
  if (!c.stage) {
    if (p.parts > 1) return refusal(FOVEA_RANGE, FOVEA_ARG_STAGE); // workers go stage by stage
    return c.shared || c.shared_size ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SHARED) : int32_t{FOVEA_OK};
  }
  return FOVEA_OK;
}

int32_t check_memory(const fovea_layer_call& c, layer_plan& p) {
  byte_range* in = p.bytes.in;
  const fovea_layer& w = *c.layer;
  if (const int32_t s = check_float_rows(c.x, p.tokens, w.q.in, FOVEA_ARG_X, in[footprint::x])) return s;
  p.x = p.context = p.values = c.x;
  if (c.context.data) p.context = p.values = c.context;
  if (c.values.data) p.values = c.values;
  if (c.context.data || c.values.data) {
    if (const int32_t s = check_float_rows(p.context, p.context_tokens, (p.joined ? w.q : w.k).in,
                                           FOVEA_ARG_CONTEXT, in[footprint::context]))
      return s;
    if (const int32_t s = check_float_rows(p.values, p.context_tokens, (p.joined ? w.q : w.v).in,
                                           FOVEA_ARG_VALUES, in[footprint::values]))
      return s;
  }
  if (!p.joined && !p.cross && w.k.in != w.q.in) return refusal(FOVEA_SIZE, FOVEA_ARG_K);
  if (!p.joined && !c.kv && !c.values.data && w.v.in != w.k.in) return refusal(FOVEA_SIZE, FOVEA_ARG_V);
  if (c.kv)
    if (const int32_t s = f32::check_rows({c.kv, 1, 1, 1}, sizeof(float), FOVEA_ARG_KV, in[footprint::kv]))
      return s;
  if (c.kv &&
      !range_of(c.kv,
                static_cast<size_t>(panel_floats(p) + int64_t{p.v_width} * p.context_tokens) * sizeof(float),
                in[footprint::kv]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_KV);
  const fovea_rows_in y{c.y.data, c.y.stride, c.y.dtype, c.y.reserved};
  if (const int32_t s = check_float_rows(y, p.tokens, w.out.out, FOVEA_ARG_Y, p.bytes.to[footprint::y]))
    return s;
  if (y.stride && y.stride < w.out.out && p.tokens > 1) return refusal(FOVEA_STRIDE, FOVEA_ARG_Y);
  return c.residual.data
             ? check_float_rows(c.residual, p.tokens, w.out.out, FOVEA_ARG_RESIDUAL, in[footprint::residual])
             : int32_t{FOVEA_OK};
}

bool is_empty(const fovea_in& in) {
  return !in.data && !in.scales && !in.head_stride && !in.token_stride && !in.scale_head_stride &&
         !in.scale_token_stride && !in.dtype && !in.layout && !in.zero_point && is_zero(in.scale_unit);
}

// The attention's options come from the caller; its tensors and sizes are the layer's.
int32_t check_options(const fovea_layer_call& c, layer_plan& p) {
  const fovea_attention& a = c.how;
  const fovea_out& o = a.out;
  const bool no_tensors = is_empty(a.q) && is_empty(a.k) && is_empty(a.v) && !o.data && !o.head_stride &&
                          !o.token_stride && is_zero(o.scale) && !o.dtype && !o.zero_point && !o.reserved;
  const bool no_sizes = !a.q_heads && !a.kv_heads && !a.dim && !a.v_dim && !a.queries && !a.keys &&
                        !a.first_key;
  const bool empty = no_tensors && no_sizes && !a.part.index && !a.part.count && !a.partials &&
                     !a.partials_size && !a.segments && !(a.pattern && a.pattern->parents);
  if (!empty) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ATTENTION);
  const bool counts_on = a.flags & FOVEA_POSITION && a.position > 1 << 30; // positions could overflow
  if (a.lse || a.weights.data || p.in_integers || c.stage || counts_on) p.divides = false;
  const bool some_queries = a.weights.first_query || a.weights.queries;
  if (c.sequences > 1 && a.weights.data && some_queries) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  return FOVEA_OK;
}

int32_t check_shared(const fovea_layer_call& c, layer_plan& p) {
  if (!c.stage || !c.shared) return FOVEA_OK; // fovea_layer_shared asks before there is any
  const int64_t needed = 63 + bytes_of_rows(p, whole_of(p));
  if (c.shared_size < static_cast<uint64_t>(needed)) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SHARED);
  return range_of(c.shared, c.shared_size, p.bytes.to[footprint::shared])
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_OVERFLOW, FOVEA_ARG_SHARED);
}

} // namespace

int32_t make_plan(const fovea_layer_call* call, purpose why, layer_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!call->layer) return refusal(FOVEA_NULL, FOVEA_ARG_LAYER);
  const fovea_layer_call& c = *call;
  p = {};
  p.call = call;
  p.weights = c.layer;
  if (const int32_t s = check_reserved(c)) return s;
  if (c.cache) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_CACHE);
  if ((c.context.data || c.values.data) && c.kv) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_KV);
  if (c.values.data && !c.context.data) return refusal(FOVEA_NULL, FOVEA_ARG_CONTEXT);
  p.cross = why == purpose::project_context || c.context.data || c.kv || c.context_tokens || c.context_starts;
  if (p.cross && !c.context.data && !c.kv && c.context_tokens) return refusal(FOVEA_NULL, FOVEA_ARG_CONTEXT);
  if (const int32_t s = check_weights(*c.layer, p)) return s;
  if (const int32_t s = check_norms(*c.layer, p)) return s;
  if (const int32_t s = check_sequences(c, p)) return s;
  if (const int32_t s = check_rotation(c, p)) return s;
  if (const int32_t s = check_stage(c, p)) return s;
  if (const int32_t s = check_options(c, p)) return s;
  if (p.in_integers) {
    if (const int32_t s = check_integer_options(c.how, most_tokens(p, true))) return s;
    if (c.kv || why == purpose::project_context)
      return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_KV); // panels of floats
  }
  if (const int32_t s = check_memory(c, p)) return s;
  if (const int32_t s = place_memory(p)) return s;
  if (bytes_of_rows(p, least_of(p)) > PTRDIFF_MAX / 2) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_TOKENS);
  if (const int32_t s = check_shared(c, p)) return s;
  if (const int32_t s = check_overlap(p)) return s;
  p.place = f32::find_isa(c.how.isa);
  return p.place < 0 ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA) : int32_t{FOVEA_OK};
}

} // namespace fovea::layer
