// Segments of integer calls: validation, and where their tables stand.
#include "common/build.hpp"

#include "common/segments.hpp"
#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// k, v, multipliers and weights of one segment.
int32_t place_segment(const fixed_plan& p, const fovea_segment& s, byte_ranges& bytes) {
  tensor_counts n{p.kv_heads, up_to(s.keys, fixed_block), p.depth, 0, FOVEA_ARG_SEGMENTS};
  byte_rows rows;
  bytes.count = 0;
  if (const int32_t status = check_tensor({s.k, s.k_head_stride, 0}, n, rows, bytes)) return status;
  n.row = p.width;
  if (const int32_t status = check_tensor({s.v, s.v_head_stride, 0}, n, rows, bytes)) return status;
  n.tokens = s.keys, n.row = 1, n.shift = 2;
  if (p.multipliers.data)
    if (const int32_t status = check_tensor({s.key_multipliers, s.table_head_stride, 0}, n, rows, bytes))
      return status;
  n.shift = 1;
  return p.value_weights.data ? check_tensor({s.value_weights, s.table_head_stride, 0}, n, rows, bytes)
                              : int32_t{FOVEA_OK};
}

// Sums are rounded for the keys that are there, however far the sequence has come. Keys that no segment holds
// must not be seen: what queries see only moves forward, so the first and the last one tell of all.
int32_t check(const fovea_fixed_attention& a, const fixed_plan& p) {
  if (const int32_t s = check_segment_order(*a.segments, a, fixed_block)) return s;
  const seen first = seen_by_query(p.see, 0), last = seen_by_query(p.see, a.queries - 1);
  int32_t present = 0, end = a.first_key;
  bool sees_gap = false;
  for (int32_t i = 0;; ++i) {
    const fovea_segment* const s = a.segments->at + i;
    const int32_t next = i < a.segments->count ? s->first_key : a.first_key + a.keys;
    sees_gap |= next > end && (last.head > end || (last.to > end && first.from < next));
    if (i == a.segments->count) break;
    byte_ranges bytes;
    if (const int32_t status = place_segment(p, *s, bytes)) return status;
    present += s->keys;
    end = s->first_key + s->keys;
  }
  if (present > (a.max_keys ? a.max_keys : 512)) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  return a.queries > 0 && sees_gap ? refusal(FOVEA_RANGE, FOVEA_ARG_RING) : int32_t{FOVEA_OK};
}

bool meet_segments(const fixed_plan& p, const byte_range& bytes) {
  for (int32_t i = 0; i < p.segments->count; ++i) {
    byte_ranges own;
    place_segment(p, p.segments->at[i], own);
    for (const byte_range& r : own)
      if (meet(r, bytes)) return true;
  }
  return false;
}

const int16_t* value_weights_at(const fixed_plan& p, int32_t kv_head, int32_t key) {
  const fovea_segment& s = segment_of(p, key);
  return static_cast<const int16_t*>(s.value_weights) + kv_head * stride_or(s.table_head_stride, s.keys) +
         static_cast<ptrdiff_t>(key - s.first_key);
}

} // namespace

extern const fixed_segments fixed_segments_of_bytes = {check, meet_segments, value_weights_at};

} // namespace fovea::fixed
