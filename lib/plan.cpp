// Validation: a call either becomes a plan of plain numbers, or a status that names the argument to blame.
#include "plan.hpp"

#include <cstring>

#include "kernel.hpp"
#include "kernel/exp2.hpp"

namespace fovea {
namespace {

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
// By bits, so that a core without FPU links no float code for it.
bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
bool is_zero(float x) { return (bits_of(x) & 0x7fffffffu) == 0; }

bool all_zero(const int32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (words[i] != 0) return false;
  return true;
}

int32_t check_dims(const fovea_attention& a, plan& p) {
  if (a.q_heads < 1 || a.q_heads > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (a.kv_heads < 0 || a.kv_heads > a.q_heads) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.kv_heads = a.kv_heads ? a.kv_heads : a.q_heads;
  if (a.q_heads % p.kv_heads != 0) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  p.group = a.q_heads / p.kv_heads;
  if (a.dim < 1 || a.dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (a.v_dim < 0 || a.v_dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_V_DIM);
  p.dim = a.dim;
  p.v_dim = a.v_dim ? a.v_dim : a.dim;
  if (a.queries < 0 || a.queries > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  if (a.keys < 0 || a.keys > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.first_key < 0 || a.first_key > greatest_count - a.keys) return refusal(FOVEA_RANGE, FOVEA_ARG_FIRST_KEY);
  p.rows = static_cast<int64_t>(a.queries) * p.group;
  return FOVEA_OK;
}

// What later versions bring is refused by name, never ignored.
int32_t check_offered(const fovea_attention& a) {
  if (!all_zero(a.reserved, sizeof a.reserved / sizeof *a.reserved)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.weights.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (!is_finite(a.softcap)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP);
  if (!is_zero(a.softcap)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SOFTCAP);
  if (a.alibi) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ALIBI);
  if (a.sinks) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SINKS);
  if (a.mask.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_MASK);
  if (a.lse) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_LSE);
  if (a.weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  if (a.ring) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RING);
  constexpr int32_t known = FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW | FOVEA_SCALE;
  if (a.flags & ~known) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  return FOVEA_OK;
}

int32_t check_scale(const fovea_attention& a, plan& p) {
  if (!(a.flags & FOVEA_SCALE)) {
    p.scale = 1 / __builtin_sqrtf(static_cast<float>(p.dim)) * log2_e;
    return FOVEA_OK;
  }
  if (!is_finite(a.scale)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_SCALE);
  p.scale = a.scale * log2_e;
  if (!is_finite(p.scale)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  return FOVEA_OK;
}

int32_t check_visibility(const fovea_attention& a, plan& p) {
  if (a.prefix < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_PREFIX);
  if (a.keep_first < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_KEEP_FIRST);
  const bool causal = a.flags & FOVEA_CAUSAL, window = a.flags & FOVEA_WINDOW;
  visibility& s = p.see;
  s.first_key = a.first_key;
  s.end = static_cast<int64_t>(a.first_key) + a.keys;
  s.position = a.flags & FOVEA_POSITION ? a.position : s.end - a.queries;
  s.left = window && a.window_left >= 0 ? a.window_left : unbounded;
  s.right = window && a.window_right >= 0 ? a.window_right : unbounded;
  if (causal) s.right = smaller(s.right, 0);
  s.prefix = a.prefix;
  s.keep = window ? a.keep_first : 0;
  s.ending = causal ? 1 : unbounded;
  p.first_span = a.first_key / span_keys;
  p.spans = a.keys ? static_cast<int32_t>((s.end - 1) / span_keys) - p.first_span + 1 : 0;
  return FOVEA_OK;
}

int32_t check_input(const fovea_in& in, int32_t argument, extent e, bool panels, rows_of<const float>& out, byte_range& bytes) {
  if (in.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  const bool plain = in.dtype == FOVEA_F32 && (in.layout == FOVEA_ROWS || panels) && !in.scales && !in.zero_point &&
                     !in.scale_head_stride && !in.scale_token_stride;
  if (!plain) return refusal(FOVEA_UNSUPPORTED, argument);
  if (in.head_stride < 0 || in.token_stride < 0 || (panels && in.token_stride)) return refusal(FOVEA_STRIDE, argument);
  e.token_stride = in.token_stride ? in.token_stride : e.row;
  if (panels) e.tokens = up16(e.tokens);
  e.head_stride = in.head_stride;
  if (!in.head_stride && __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride))
    return refusal(FOVEA_OVERFLOW, argument);
  size_t size;
  if (!bytes_of(e, sizeof(float), size) || !range_of(in.data, size, bytes)) return refusal(FOVEA_OVERFLOW, argument);
  if (size && !in.data) return refusal(FOVEA_NULL, argument);
  if (bytes.begin % alignof(float) != 0) return refusal(FOVEA_ALIGN, argument);
  out = {static_cast<const float*>(in.data), e.head_stride, e.token_stride};
  return FOVEA_OK;
}

// Rows of the output must not share an element: tokens lie within heads, or heads within tokens.
bool rows_apart(const extent& e) {
  if (e.heads == 0 || e.tokens == 0) return true;
  if ((e.tokens > 1 && e.token_stride < e.row) || (e.heads > 1 && e.head_stride < e.row)) return false;
  const bool in_heads = e.heads == 1 || e.head_stride >= (e.tokens - 1) * e.token_stride + e.row;
  const bool in_tokens = e.tokens == 1 || e.token_stride >= (e.heads - 1) * e.head_stride + e.row;
  return in_heads || in_tokens;
}

int32_t check_output(const fovea_attention& a, plan& p, byte_range& bytes) {
  const fovea_out& o = a.out;
  if (o.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (o.dtype != FOVEA_F32 || o.zero_point || !is_zero(o.scale)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  if (o.head_stride < 0 || o.token_stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_OUT);
  extent e{a.q_heads, a.queries, o.head_stride, o.token_stride ? o.token_stride : p.v_dim, p.v_dim};
  if (!o.head_stride && __builtin_mul_overflow(static_cast<ptrdiff_t>(e.tokens), e.token_stride, &e.head_stride))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  size_t size;
  if (!bytes_of(e, sizeof(float), size) || !range_of(o.data, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_OUT);
  if (!rows_apart(e)) return refusal(FOVEA_STRIDE, FOVEA_ARG_OUT);
  if (size && !o.data) return refusal(FOVEA_NULL, FOVEA_ARG_OUT);
  if (bytes.begin % alignof(float) != 0) return refusal(FOVEA_ALIGN, FOVEA_ARG_OUT);
  p.out = {static_cast<float*>(o.data), e.head_stride, e.token_stride};
  return FOVEA_OK;
}

int32_t check_tensors(const fovea_attention& a, plan& p) {
  p.packed_keys = a.k.layout == FOVEA_PANELS;
  if (p.packed_keys && a.first_key % 16 != 0) return refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY);
  if (const int32_t s = check_input(a.q, FOVEA_ARG_Q, {a.q_heads, a.queries, 0, 0, p.dim}, false, p.q, p.bytes.q)) return s;
  if (const int32_t s = check_input(a.k, FOVEA_ARG_K, {p.kv_heads, a.keys, 0, 0, p.dim}, p.packed_keys, p.k, p.bytes.k)) return s;
  if (const int32_t s = check_input(a.v, FOVEA_ARG_V, {p.kv_heads, a.keys, 0, 0, p.v_dim}, false, p.v, p.bytes.v)) return s;
  if (const int32_t s = check_output(a, p, p.bytes.out)) return s;
  if (meets_input(p.bytes, p.bytes.out)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

int32_t check_partials(const fovea_attention& a, plan& p) {
  p.partials = static_cast<float*>(a.partials);
  p.bytes.partials = {};
  if (!a.partials && a.partials_size) return refusal(FOVEA_NULL, FOVEA_ARG_PARTIALS);
  if (!a.partials) return FOVEA_OK;
  size_t needed;
  if (!partials_bytes(p, needed)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PARTIALS);
  if (a.partials_size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PARTIALS);
  if (!range_of(a.partials, needed, p.bytes.partials)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PARTIALS);
  if (p.bytes.partials.begin % alignof(float) != 0) return refusal(FOVEA_ALIGN, FOVEA_ARG_PARTIALS);
  const bool overlap = meets_input(p.bytes, p.bytes.partials) || meet(p.bytes.partials, p.bytes.out);
  if (overlap) return refusal(FOVEA_OVERLAP, FOVEA_ARG_PARTIALS);
  return FOVEA_OK;
}

int32_t check_part(const fovea_attention& a, plan& p) {
  const bool all = a.part.index == 0 && a.part.count == 0;
  if (!all && (a.part.index < 0 || a.part.index >= a.part.count)) return refusal(FOVEA_RANGE, FOVEA_ARG_PART);
  p.part = a.part.index;
  p.parts = all ? 1 : a.part.count;
  return FOVEA_OK;
}

} // namespace

bool meets_input(const footprint& f, byte_range other) { return meet(other, f.q) || meet(other, f.k) || meet(other, f.v); }

bool partials_bytes(const plan& p, size_t& bytes) {
  size_t slots;
  if (__builtin_mul_overflow(static_cast<uint64_t>(p.rows), static_cast<uint64_t>(p.kv_heads), &slots)) return false;
  if (__builtin_mul_overflow(slots, static_cast<size_t>(p.spans), &slots)) return false;
  return !__builtin_mul_overflow(slots, static_cast<size_t>(slot_floats(p.v_dim)) * sizeof(float), &bytes) && bytes <= PTRDIFF_MAX;
}

int32_t make_plan(const fovea_attention* call, plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_dims(a, p)) return s;
  if (const int32_t s = check_scale(a, p)) return s;
  if (const int32_t s = check_visibility(a, p)) return s;
  if (const int32_t s = check_tensors(a, p)) return s;
  if (const int32_t s = check_part(a, p)) return s;
  if (const int32_t s = check_partials(a, p)) return s;
  p.isa = find_kernel(a.isa);
  if (!p.isa) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  return FOVEA_OK;
}

} // namespace fovea
