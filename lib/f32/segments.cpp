// Float calls that give keys and values in segments: their validation, and where a key stands. Compiled once,
// for all ISAs.
#include "common/build.hpp"

#include "f32/segments.hpp"

#include "common/segments.hpp"
#include "f32/plan.hpp"

namespace fovea::f32 {
namespace {

// The segment that holds an absolute key; one before it if none does.
const fovea_segment& segment_of(const fovea_segments& map, int64_t key) {
  int32_t i = map.count - 1;
  while (i > 0 && map.at[i].first_key > key) --i;
  return map.at[i];
}

// Bytes of K and V of a segment.
int32_t place_segment(const plan& p, const fovea_segment& s, byte_range& k_bytes, byte_range& v_bytes) {
  extent k{p.kv_heads, up16(s.keys), 0, 0, p.dim}, v{p.kv_heads, s.keys, 0, 0, p.v_dim};
  if (const int32_t reason = place(s.k, s.k_head_stride, 0, sizeof(float), false, k, k_bytes)) return reason;
  return place(s.v, s.v_head_stride, 0, sizeof(float), false, v, v_bytes);
}

} // namespace

FOVEA_ONCE int32_t check_segments(const fovea_attention& a, plan& p) {
  p.segments = a.segments;
  if (!a.segments) return FOVEA_OK;
  if (!p.packed_keys) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_SEGMENTS);
  if (const int32_t s = check_segment_order(*a.segments, a, 16)) return s;
  for (int32_t i = 0; i < a.segments->count; ++i) {
    byte_range k, v;
    if (const int32_t reason = place_segment(p, a.segments->at[i], k, v))
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
    byte_range of_keys{}, of_values{};
    place_segment(*this, segments->at[i], of_keys, of_values);
    if (meet(of_keys, r) || meet(of_values, r)) return true;
  }
  return false;
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
