// Segments of integer calls: validation, and where their tables stand.
#include "common/build.hpp"

#include "common/segments.hpp"
#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

struct bytes_of_segment {
  byte_range at[4]; // k, v, multipliers, weights
};

int32_t place_segment(const fixed_plan& p, const fovea_segment& s, bytes_of_segment& bytes) {
  const int32_t tokens = up_to(s.keys, fixed_block);
  const tensor_counts k{p.kv_heads, tokens, p.depth, 0, false}, v{p.kv_heads, tokens, p.width, 0, false},
      multipliers{p.kv_heads, s.keys, 1, 2, false}, weights{p.kv_heads, s.keys, 1, 1, false};
  byte_rows rows;
  bytes = {};
  if (const int32_t reason = check_tensor(s.k, s.k_head_stride, 0, k, rows, bytes.at[0])) return reason;
  if (const int32_t reason = check_tensor(s.v, s.v_head_stride, 0, v, rows, bytes.at[1])) return reason;
  if (p.multipliers.data)
    if (const int32_t reason = check_tensor(s.key_multipliers, s.table_head_stride, 0, multipliers, rows,
                                            bytes.at[2]))
      return reason;
  if (!p.value_weights.data) return FOVEA_OK;
  return check_tensor(s.value_weights, s.table_head_stride, 0, weights, rows, bytes.at[3]);
}

// Sums are rounded for the keys that are there, however far the sequence has come.
int32_t check(const fovea_fixed_attention& a, const fixed_plan& p) {
  if (const int32_t s = check_segment_order(*a.segments, a, fixed_block)) return s;
  int32_t present = 0;
  for (int32_t i = 0; i < a.segments->count; ++i) {
    bytes_of_segment bytes;
    if (const int32_t reason = place_segment(p, a.segments->at[i], bytes))
      return refusal(reason, FOVEA_ARG_SEGMENTS);
    present += a.segments->at[i].keys;
  }
  if (present > (a.max_keys ? a.max_keys : 512)) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  if (a.queries < 1) return FOVEA_OK;
  return sees_gap(*a.segments, a, seen_by(p.see, 0), seen_by(p.see, a.queries - 1))
             ? refusal(FOVEA_RANGE, FOVEA_ARG_RING)
             : int32_t{FOVEA_OK};
}

bool meet_segments(const fixed_plan& p, byte_range bytes) {
  for (int32_t i = 0; i < p.segments->count; ++i) {
    bytes_of_segment own;
    place_segment(p, p.segments->at[i], own);
    for (const byte_range& r : own.at)
      if (meet(r, bytes)) return true;
  }
  return false;
}

const int16_t* value_weights_at(const fixed_plan& p, int32_t kv_head, int64_t key) {
  const fovea_segment& s = segment_of(p, key);
  return static_cast<const int16_t*>(s.value_weights) + kv_head * stride_or(s.table_head_stride, s.keys) +
         static_cast<ptrdiff_t>(key - s.first_key);
}

} // namespace

extern const fixed_segments fixed_segments_of_bytes = {check, meet_segments, value_weights_at};

} // namespace fovea::fixed
