// Where keys and values of a float call stand that gives them in segments. Compiled once, for all ISAs.
#include "common/build.hpp"

#include "f32/segments.hpp"

#include "f32/plan.hpp"

namespace fovea::f32 {
namespace {

// The segment that holds an absolute key; one before it if none does.
const fovea_segment& segment_of(const fovea_segments& map, int64_t key) {
  int32_t i = map.count - 1;
  while (i > 0 && map.at[i].first_key > key) --i;
  return map.at[i];
}

} // namespace

key_piece keys_in_segment(const plan& p, int32_t kv_head, int64_t key) {
  const fovea_segment& s = segment_of(*p.segments, key);
  const float* const head = static_cast<const float*>(s.k) + kv_head * s.k_head_stride;
  return {head + static_cast<ptrdiff_t>(key - s.first_key) * p.dim, s.first_key + int64_t{up16(s.keys)}};
}

const void* value_in_segment(const fovea_segments& map, int32_t kv_head, int64_t key, ptrdiff_t stride,
                             int element) {
  const fovea_segment& s = segment_of(map, key);
  return static_cast<const char*>(s.v) +
         (kv_head * s.v_head_stride + static_cast<ptrdiff_t>(key - s.first_key) * stride) * element;
}

int64_t values_side_by_side(const fovea_segments& map, int64_t from, int64_t to) {
  const fovea_segment& s = segment_of(map, from);
  return smaller(s.first_key + int64_t{s.keys}, to) - from;
}

} // namespace fovea::f32
