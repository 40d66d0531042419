// Validation of options: softcap, mask, ALiBi, sinks, and what a call returns besides its output. A part of
// plan.cpp, so that compilers can inline functions with one caller.
#pragma once
#include "f32/check.hpp"
#include "f32/kernel/exp2.hpp"

namespace fovea::f32 {
namespace {

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

// Whoever finds bytes of an option calls this first: a call without options neither clears nor compares them.
// Cleared in short loops: compilers turn a long one into a string instruction, which is slow.
FOVEA_ONCE void open_options(footprint& f) {
  if (f.options) return;
  f.options = true;
  for (int i = footprint::alibi; i < footprint::inputs; ++i) f.in[i] = {};
  for (int o = footprint::lse; o < footprint::outputs; ++o) f.to[o] = {};
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

} // namespace
} // namespace fovea::f32
