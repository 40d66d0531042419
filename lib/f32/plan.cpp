// Validation: a call either becomes a plan of plain numbers, or a status that names the argument to blame.
#include "common/build.hpp"

#include "f32/plan.hpp"

#include "common/square_root.hpp"
#include "f32/check.hpp"
#include "f32/check_options.hpp"
#include "f32/kernel.hpp"
#include "f32/kernel/exp2.hpp"
#include "f32/plain.hpp"

namespace fovea::f32 {
namespace {

// What later versions bring is refused by name, never ignored.
int32_t check_offered(const fovea_attention& a) {
#if UINTPTR_MAX <= 0xffffffff
  if (!all_zero(a.reserved, sizeof a.reserved / sizeof *a.reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
#endif
  if (a.weights.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (a.ring) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RING);
  constexpr int32_t known = FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW | FOVEA_SCALE;
  if (a.flags & ~known) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  return FOVEA_OK;
}

// A tree: its numbers, where its parents stand, and the parents.
int32_t check_drafts(const fovea_attention& a, plan& p) {
  p.tree.parents = a.pattern->parents;
  if (const int32_t s = check_tree(a, p)) return s;
  byte_range& bytes = p.bytes.in[footprint::parents];
  if (!range_of(p.tree.parents, static_cast<size_t>(p.tree.count) * sizeof *p.tree.parents, bytes))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PARENT);
  if (bytes.begin % sizeof *p.tree.parents) return refusal(FOVEA_ALIGN, FOVEA_ARG_PARENT);
  return check_parents(p.tree);
}

// A denormal scale has lost its bits before it meets a score.
int32_t check_scale(const fovea_attention& a, plan& p) {
  if (!(a.flags & FOVEA_SCALE)) {
    p.scale = 1 / square_root(static_cast<float>(p.dim)) * log2_e;
  } else {
    if (!is_finite(a.scale)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_SCALE);
    p.scale = a.scale * log2_e;
    if (!is_finite(p.scale) || (is_denormal(p.scale) && !is_zero(a.scale)))
      return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  }
  constexpr uint32_t exponent = 0x7f800000u, one = 0x3f800000u;
  const uint32_t power = bits_of(p.scale) & exponent;
  p.stretch = power < one ? 0 : float_of(power);
  p.shrunk = power < one ? 0 : p.scale / p.stretch / 2;
  return FOVEA_OK;
}

// Strides that nothing walks over may be any number: they become 0, so that no product of theirs overflows.
template <class T>
rows_of<T> rows_at(T* data, const extent& e, const byte_range& bytes) {
  const bool any = bytes.begin != bytes.end;
  return {data, any && e.heads > 1 ? e.head_stride : 0, any && e.tokens > 1 ? e.token_stride : 0};
}

// Extents go by reference: a copy of what has just been written field by field would wait for all of it.
int32_t check_input(const fovea_in& in, int32_t argument, extent& e, bool panels, bool in_segments,
                    rows_of<const float>& out, byte_range& bytes) {
  const bool plain = in.dtype == FOVEA_F32 && (in.layout == FOVEA_ROWS || panels) && !in.scales &&
                     !in.zero_point && !in.scale_head_stride && !in.scale_token_stride &&
                     is_zero(in.scale_unit);
  if (!plain) return refusal(FOVEA_UNSUPPORTED, argument);
  if (panels && in.token_stride) return refusal(FOVEA_STRIDE, argument);
  if (in_segments) {
    out = {nullptr, 0, 0};
    bytes = {0, 0};
    return FOVEA_OK;
  }
  if (panels) e.tokens = up16(e.tokens);
  if (const int32_t reason = place(in.data, in.head_stride, in.token_stride, sizeof(float), false, e, bytes))
    return refusal(reason, argument);
  out = rows_at(static_cast<const float*>(in.data), e, bytes);
  return FOVEA_OK;
}

int32_t check_output(const fovea_attention& a, const stored_types* types, plan& p, byte_range& bytes) {
  const fovea_out& o = a.out;
  if (o.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  extent e{a.q_heads, a.queries, 0, 0, p.v_dim};
  if (types && o.dtype != FOVEA_F32) {
    p.out = {nullptr, 0, 0};
    return types->check_output(a, e, p.stored.out, bytes);
  }
  if (o.dtype != FOVEA_F32 || o.zero_point || !is_zero(o.scale))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  const int32_t reason = place(o.data, o.head_stride, o.token_stride, sizeof(float), true, e, bytes);
  if (reason) return refusal(reason, FOVEA_ARG_OUT);
  p.out = rows_at(static_cast<float*>(o.data), e, bytes);
  return FOVEA_OK;
}

// Panels begin at a multiple of their keys.
int32_t check_first_key(const fovea_attention& a) {
  const auto bytes = [](const fovea_in& in) { return in.dtype == FOVEA_I8 && in.layout == FOVEA_PANELS; };
  const int32_t panel = bytes(a.k) || bytes(a.v) ? 64 : a.k.layout == FOVEA_PANELS ? 16 : 1;
  return a.first_key & (panel - 1) ? refusal(FOVEA_ALIGN, FOVEA_ARG_FIRST_KEY) : int32_t{FOVEA_OK};
}

int32_t check_tensors(const fovea_attention& a, const stored_types* types, plan& p) {
  p.packed_keys = a.k.layout == FOVEA_PANELS && a.k.dtype == FOVEA_F32;
  if (const int32_t s = check_first_key(a)) return s;
  extent q{a.q_heads, a.queries, 0, 0, p.dim}, k{p.kv_heads, a.keys, 0, 0, p.dim},
      v{p.kv_heads, a.keys, 0, 0, p.v_dim};
  const bool in_segments = features::segments && a.segments;
  p.stored.q.dtype = p.stored.k.dtype = p.stored.v.dtype = p.stored.out.dtype = FOVEA_F32;
  p.stored.k.scales.given = p.stored.v.scales.given = false;
  const auto input = [&](const fovea_in& in, int32_t argument, extent& e, bool panels, bool pieces,
                         rows_of<const float>& out, stored_tensor& stored, footprint::input at,
                         footprint::input scales) {
    if (!types || in.dtype == FOVEA_F32)
      return check_input(in, argument, e, panels, pieces, out, p.bytes.in[at]);
    out = {nullptr, 0, 0};
    open_options(p.bytes);
    return types->check_input(in, argument, e, pieces, stored, p.bytes.in[at], p.bytes.in[scales]);
  };
  if (const int32_t s = input(a.q, FOVEA_ARG_Q, q, false, false, p.q, p.stored.q, footprint::q,
                              footprint::k_scales))
    return s;
  if (const int32_t s = input(a.k, FOVEA_ARG_K, k, p.packed_keys, in_segments, p.k, p.stored.k, footprint::k,
                              footprint::k_scales))
    return s;
  if (const int32_t s = input(a.v, FOVEA_ARG_V, v, false, in_segments, p.v, p.stored.v, footprint::v,
                              footprint::v_scales))
    return s;
  return check_output(a, types, p, p.bytes.to[footprint::out]);
}

// Each output against all inputs and against the outputs before it.
int32_t check_overlap(const plan& p) {
  const footprint& f = p.bytes;
  constexpr int32_t argument[footprint::outputs] = {FOVEA_ARG_OUT, FOVEA_ARG_LSE, FOVEA_ARG_WEIGHTS,
                                                    FOVEA_ARG_PARTIALS};
  for (int o = 0; o < f.output_count(); ++o) {
    if (f.to[o].begin == f.to[o].end) continue;
    for (int i = 0; i < f.input_count(); ++i)
      if (meet(f.in[i], f.to[o])) return refusal(FOVEA_OVERLAP, argument[o]);
    if (features::segments && p.segments_meet(f.to[o])) return refusal(FOVEA_OVERLAP, argument[o]);
    for (int before = 0; before < o; ++before)
      if (meet(f.to[before], f.to[o])) return refusal(FOVEA_OVERLAP, argument[o]);
  }
  return FOVEA_OK;
}

} // namespace

bool partials_bytes(const plan& p, size_t& bytes) {
  size_t slots;
  if (__builtin_mul_overflow(static_cast<uint64_t>(p.rows), static_cast<uint64_t>(p.kv_heads), &slots))
    return false;
  if (__builtin_mul_overflow(slots, static_cast<size_t>(p.split.pieces), &slots)) return false;
  return !__builtin_mul_overflow(slots, static_cast<size_t>(slot_floats(p.v_dim)) * sizeof(float), &bytes) &&
         bytes <= PTRDIFF_MAX;
}

int32_t check_softcap(float softcap, modifiers& m) {
  m.cap = m.cap_factor = 0;
  if (!is_finite(softcap)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP);
  if (is_zero(softcap)) return FOVEA_OK;
  m.cap = softcap * log2_e;
  m.cap_factor = -2 / softcap;
  const bool usable = !(bits_of(softcap) >> 31) && is_finite(m.cap) && is_finite(m.cap_factor);
  return usable ? 0 : refusal(FOVEA_RANGE, FOVEA_ARG_SOFTCAP);
}

int32_t make_plan(const fovea_attention* call, plan& p, const stored_types* types) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_options<features::built>(a)) return s;
  if (const int32_t s = check_shape(a, greatest_dim, greatest_count, p)) return s;
  p.queries = a.queries;
  p.rows = static_cast<int64_t>(a.queries) * p.group;
  if (const int32_t s = check_scale(a, p)) return s;
  if (const int32_t s = check_visibility(a, p.see)) return s;
  p.keys_end = p.see.end;
  p.spans = count_touched(a.first_key, p.see.end, span_keys);
  p.split = split_of(p.rows, a.first_key, p.see.end);
  p.bytes.options = false;
  p.tree.parents = nullptr;
  if (features::trees && a.pattern && a.pattern->parents) {
    open_options(p.bytes);
    if (const int32_t s = check_drafts(a, p)) return s;
  }
  if (const int32_t s = check_tensors(a, types, p)) return s;
  if (const int32_t s = check_modifiers(a, p)) return s;
  if (!features::segments)
    p.segments = nullptr;
  else if (const int32_t s = check_segments(a, p))
    return s;
  if (const int32_t s = check_part(a.part, p)) return s; // where calls have no parts, it is all of them
  if (const int32_t s = check_partials(a, p)) return s;
  if (const int32_t s = check_overlap(p)) return s;
  p.isa = find_isa(a.isa);
  if (p.isa < 0) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  p.core = profile_of_this_core();
  return FOVEA_OK;
}

int32_t make_plain_plan(const fovea_attention* call, plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_attention& a = *call;
  if (const int32_t s = check_offered(a)) return s;
  if (const int32_t s = check_options<features::names::nothing.bits>(a)) return s;
  if (const int32_t s = check_shape(a, greatest_dim, greatest_count, p)) return s;
  p.queries = a.queries;
  if (const int32_t s = check_scale(a, p)) return s;
  if (const int32_t s = check_visibility(a, p.see)) return s;
  if (const int32_t s = check_tensors(a, nullptr, p)) return s;
  for (int i = footprint::q; i <= footprint::v; ++i)
    if (meet(p.bytes.in[i], p.bytes.to[footprint::out])) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  p.isa = find_isa(a.isa);
  return p.isa < 0 ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA) : int32_t{FOVEA_OK};
}

} // namespace fovea::f32
