// Validation: a call either becomes a plan of plain numbers, or a status that names the argument to blame.
#include "common/build.hpp"

#include "f32/plan.hpp"

#include "common/square_root.hpp"
#include "f32/check.hpp"
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

// What an entry does not offer, or this build has left out, by name.
template <unsigned Offered>
int32_t check_options(const fovea_attention& a) {
  using namespace features::names;
  constexpr auto lacks = [](features::set feature) { return !(Offered & feature.bits); };
  const auto refuse = [](int32_t argument) { return refusal(FOVEA_UNSUPPORTED, argument); };
  const fovea_pattern* pattern = a.pattern;
  if (lacks(kept_keys) && a.prefix != 0) return refuse(FOVEA_ARG_PREFIX);
  if (lacks(kept_keys) && a.keep_first != 0) return refuse(FOVEA_ARG_KEEP_FIRST);
  if (lacks(softcap) && !is_zero(a.softcap)) return refuse(FOVEA_ARG_SOFTCAP);
  if (lacks(alibi) && a.alibi) return refuse(FOVEA_ARG_ALIBI);
  if (lacks(sinks) && a.sinks) return refuse(FOVEA_ARG_SINKS);
  if (lacks(masks) && a.mask.data) return refuse(FOVEA_ARG_MASK);
  if (lacks(lse) && a.lse) return refuse(FOVEA_ARG_LSE);
  if (lacks(weights) && a.weights.data) return refuse(FOVEA_ARG_WEIGHTS);
  if (lacks(parts) && (a.part.index | a.part.count) != 0) return refuse(FOVEA_ARG_PART);
  if (lacks(partials) && (a.partials || a.partials_size)) return refuse(FOVEA_ARG_PARTIALS);
  if (lacks(segments) && a.segments) return refuse(FOVEA_ARG_SEGMENTS);
  if (lacks(trees) && pattern && pattern->parents) return refuse(FOVEA_ARG_PARENT);
  if (lacks(chunks) && pattern && (pattern->chunk || pattern->left_chunks)) return refuse(FOVEA_ARG_CHUNK);
  return FOVEA_OK;
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

// Whoever finds bytes of an option calls this first: a call without options neither clears nor compares them.
// Cleared in short loops: compilers turn a long one into a string instruction, which is slow.
FOVEA_ONCE void open_options(footprint& f) {
  if (f.options) return;
  f.options = true;
  for (int i = footprint::alibi; i < footprint::inputs; ++i) f.in[i] = {};
  for (int o = footprint::lse; o < footprint::outputs; ++o) f.to[o] = {};
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

int32_t check_partials(const fovea_attention& a, plan& p) {
  p.partials = features::partials ? static_cast<float*>(a.partials) : nullptr;
  if (!features::partials) return FOVEA_OK;
  if (!a.partials && a.partials_size) return refusal(FOVEA_NULL, FOVEA_ARG_PARTIALS);
  if (!a.partials) return FOVEA_OK;
  open_options(p.bytes);
  size_t needed;
  if (!partials_bytes(p, needed)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PARTIALS);
  if (a.partials_size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PARTIALS);
  if (!range_of(a.partials, needed, p.bytes.to[footprint::partials]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PARTIALS);
  if (misaligned(a.partials)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PARTIALS);
  if (a.weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS); // no part knows the whole row
  return FOVEA_OK;
}

// Numbers per head, of ALiBi or sinks: aligned, finite, also in base 2. A sink may be minus infinity: none.
int32_t check_heads(const float* numbers, int32_t heads, footprint::input at, footprint& f) {
  if (!numbers) return FOVEA_OK;
  open_options(f);
  const int32_t argument = at == footprint::alibi ? FOVEA_ARG_ALIBI : FOVEA_ARG_SINKS;
  const uint32_t none = at == footprint::alibi ? 0 : 0xff800000u;
  if (misaligned(numbers)) return refusal(FOVEA_ALIGN, argument);
  if (!range_of(numbers, static_cast<size_t>(heads) * sizeof(float), f.in[at]))
    return refusal(FOVEA_OVERFLOW, argument);
  for (int32_t h = 0; h < heads; ++h) {
    if (bits_of(numbers[h]) == none) continue;
    if (!is_finite(numbers[h])) return refusal(FOVEA_NOT_FINITE, argument);
    if (!is_finite(numbers[h] * log2_e)) return refusal(FOVEA_RANGE, argument);
  }
  return FOVEA_OK;
}

int32_t check_mask(const fovea_attention& a, plan& p) {
  const fovea_mask& mask = a.mask;
  mask_of& m = p.modify.mask;
  m.bias = nullptr; // one by one: a compiler for size would call memset
  m.shown = nullptr;
  m.head = m.query = 0;
  if (!features::masks || !mask.data) return FOVEA_OK;
  open_options(p.bytes);
  if (mask.head_stride < 0 || mask.query_stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_MASK);
  if (mask.keys < 0 || (mask.is_bias & ~1)) return refusal(FOVEA_RANGE, FOVEA_ARG_MASK);
  const int32_t keys = mask.keys ? static_cast<int32_t>(smaller(mask.keys, a.keys)) : a.keys;
  size_t size;
  const extent e{a.q_heads, a.queries, mask.head_stride, mask.query_stride, keys};
  if (!bytes_of(e, mask.is_bias ? sizeof(float) : 1, size) ||
      !range_of(mask.data, size, p.bytes.in[footprint::mask]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_MASK);
  if (mask.is_bias && misaligned(mask.data)) return refusal(FOVEA_ALIGN, FOVEA_ARG_MASK);
  if (mask.is_bias)
    m.bias = static_cast<const float*>(mask.data);
  else
    m.shown = static_cast<const uint8_t*>(mask.data);
  m.head = mask.head_stride;
  m.query = mask.query_stride;
  p.see.end = a.first_key + static_cast<int64_t>(keys); // where the mask ends, everything is masked
  return FOVEA_OK;
}

int32_t check_lse(const fovea_attention& a, plan& p) {
  p.modify.lse = features::lse ? a.lse : nullptr;
  if (!p.modify.lse) return FOVEA_OK;
  open_options(p.bytes);
  size_t size;
  const extent e{a.q_heads, a.queries, a.queries, 1, 1};
  if (!bytes_of(e, sizeof(float), size) || !range_of(a.lse, size, p.bytes.to[footprint::lse]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_LSE);
  return misaligned(a.lse) ? refusal(FOVEA_ALIGN, FOVEA_ARG_LSE) : 0;
}

int32_t check_weights(const fovea_attention& a, plan& p) {
  fovea_weights& w = p.modify.weights;
  w = a.weights;
  if (!features::weights || !w.data) return FOVEA_OK;
  open_options(p.bytes);
  if (w.stage < 0 || w.stage > 3) return refusal(FOVEA_RANGE, FOVEA_ARG_WEIGHTS);
  if (w.first_head < 0 || w.first_head > a.q_heads || w.first_query < 0 || w.first_query > a.queries)
    return refusal(FOVEA_RANGE, FOVEA_ARG_WEIGHTS);
  const int32_t heads = a.q_heads - w.first_head, queries = a.queries - w.first_query;
  if (w.heads < 0 || w.heads > heads || w.queries < 0 || w.queries > queries)
    return refusal(FOVEA_RANGE, FOVEA_ARG_WEIGHTS);
  if (!w.heads) w.heads = heads;
  if (!w.queries) w.queries = queries;
  ptrdiff_t head;
  size_t size;
  if (__builtin_mul_overflow(static_cast<ptrdiff_t>(w.queries), static_cast<ptrdiff_t>(a.keys), &head) ||
      !bytes_of({w.heads, w.queries, head, a.keys, a.keys}, sizeof(float), size) ||
      !range_of(w.data, size, p.bytes.to[footprint::weights]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_WEIGHTS);
  return misaligned(w.data) ? refusal(FOVEA_ALIGN, FOVEA_ARG_WEIGHTS) : 0;
}

int32_t check_modifiers(const fovea_attention& a, plan& p) {
  modifiers& m = p.modify;
  m.alibi = features::alibi ? a.alibi : nullptr;
  m.sinks = features::sinks ? a.sinks : nullptr;
  if (!features::softcap)
    m.cap = m.cap_factor = 0;
  else if (const int32_t s = check_softcap(a.softcap, m))
    return s;
  if (const int32_t s = check_heads(m.alibi, a.q_heads, footprint::alibi, p.bytes)) return s;
  if (const int32_t s = check_heads(m.sinks, a.q_heads, footprint::sinks, p.bytes)) return s;
  if (const int32_t s = check_mask(a, p)) return s;
  if (const int32_t s = check_lse(a, p)) return s;
  if (const int32_t s = check_weights(a, p)) return s;
  m.any = !is_zero(m.cap) || m.alibi || (features::masks && a.mask.data);
  return FOVEA_OK;
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
    if (const int32_t s = check_tree(a, p, p.bytes.in[footprint::parents])) return s;
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
