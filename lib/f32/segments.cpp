// Float calls that give keys and values in segments: their validation, and where a key stands. Compiled once,
// for all ISAs.
#include "common/build.hpp"

#include "f32/segments.hpp"

#include "common/segments.hpp"
#include "f32/plan.hpp"

namespace fovea::f32 {
namespace {

// Bytes of a segment: K, V, and of bytes the scales of both.
struct bytes_of_segment {
  byte_range at[4];
};

// Elements, not all of which are floats.
int32_t place_tensor(const stored_tensor& t, extent e, const void* data, ptrdiff_t head, byte_range& bytes) {
  size_t element = sizeof(float);
  if (t.dtype != FOVEA_F32) {
    element = static_cast<size_t>(t.bytes);
    e.row = t.width;
    if (t.panels && element == 1) e.tokens = (e.tokens + 63) & -64;
  }
  return place(data, head, 0, element, false, e, bytes);
}

int32_t place_scales(const plan& p, const fovea_segment& s, const scale_table& scales, const void* data,
                     int32_t argument, byte_range& bytes) {
  if (!scales.given) return FOVEA_OK;
  extent e{p.kv_heads, s.keys, 0, 0, 1};
  return place(data, s.table_head_stride, 0, static_cast<size_t>(bytes_of_scale(scales, argument)), false, e,
               bytes);
}

int32_t place_segment(const plan& p, const fovea_segment& s, bytes_of_segment& bytes) {
  bytes = {};
  const extent k{p.kv_heads, up16(s.keys), 0, 0, p.dim}, v{p.kv_heads, s.keys, 0, 0, p.v_dim};
  if (const int32_t reason = place_tensor(p.stored.k, k, s.k, s.k_head_stride, bytes.at[0])) return reason;
  if (const int32_t reason = place_tensor(p.stored.v, v, s.v, s.v_head_stride, bytes.at[1])) return reason;
  if (const int32_t reason = place_scales(p, s, p.stored.k.scales, s.key_multipliers, FOVEA_ARG_K,
                                          bytes.at[2]))
    return reason;
  return place_scales(p, s, p.stored.v.scales, s.value_weights, FOVEA_ARG_V, bytes.at[3]);
}

} // namespace

FOVEA_ONCE int32_t check_segments(const fovea_attention& a, plan& p) {
  p.segments = a.segments;
  if (!a.segments) return FOVEA_OK;
  stored_tensor &stored_k = p.stored.k, &stored_v = p.stored.v;
  const bool stored = stored_k.dtype != FOVEA_F32;
  if (!p.packed_keys && !(stored && stored_k.panels)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS);
  const bool of_bytes = stored_k.dtype == FOVEA_I8 || (stored_v.dtype == FOVEA_I8 && stored_v.panels);
  if (const int32_t s = check_segment_order(*a.segments, a, of_bytes ? 64 : 16)) return s;
  stored_k.scales.given = stored_v.scales.given = false;
  for (int32_t i = 0; i < a.segments->count; ++i) { // if one has scales, all that hold keys need them
    const fovea_segment& s = a.segments->at[i];
    if (s.keys && s.key_multipliers) stored_k.scales.given = stored_k.dtype == FOVEA_I8;
    if (s.keys && s.value_weights) stored_v.scales.given = stored_v.dtype == FOVEA_I8;
  }
  for (int32_t i = 0; i < a.segments->count; ++i) {
    bytes_of_segment of_segment;
    if (const int32_t reason = place_segment(p, a.segments->at[i], of_segment))
      return refusal(reason, FOVEA_ARG_SEGMENTS);
  }
  const bool gaps = has_gaps(*a.segments, a);
  if (gaps && a.weights.data) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS);
  if (a.queries < 1 || !gaps) return FOVEA_OK;
  return sees_gap(*a.segments, a, seen_by(p.see, 0), seen_by(p.see, a.queries - 1))
             ? refusal(FOVEA_RANGE, FOVEA_ARG_RING)
             : int32_t{FOVEA_OK};
}

bool plan::segments_meet(byte_range r) const {
  if (!segments) return false;
  for (int32_t i = 0; i < segments->count; ++i) {
    bytes_of_segment own;
    place_segment(*this, segments->at[i], own);
    for (const byte_range& range : own.at)
      if (meet(range, r)) return true;
  }
  return false;
}

const fovea_segment& segment_of(const fovea_segments& map, int64_t key) {
  int32_t i = map.count - 1;
  while (i > 0 && map.at[i].first_key > key) --i;
  return map.at[i];
}

key_piece keys_in_segment(const plan& p, int32_t kv_head, int64_t key) {
  const fovea_segment& s = segment_of(*p.segments, key);
  const ptrdiff_t in_head = static_cast<ptrdiff_t>(key - s.first_key) * p.dim,
                  head = stride_or(s.k_head_stride, static_cast<ptrdiff_t>(up16(s.keys)) * p.dim);
  return {static_cast<const float*>(s.k) + kv_head * head + in_head, s.first_key + int64_t{up16(s.keys)}};
}

const void* value_in_segment(const fovea_segments& map, int32_t kv_head, int64_t key, ptrdiff_t stride,
                             int element) {
  const fovea_segment& s = segment_of(map, key);
  const ptrdiff_t head = stride_or(s.v_head_stride, s.keys * stride);
  return static_cast<const char*>(s.v) +
         (kv_head * head + static_cast<ptrdiff_t>(key - s.first_key) * stride) * element;
}

int64_t values_side_by_side(const fovea_segments& map, int64_t from, int64_t to) {
  const fovea_segment& s = segment_of(map, from);
  return smaller(s.first_key + int64_t{s.keys}, to) - from;
}

} // namespace fovea::f32
