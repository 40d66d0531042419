// Validation of segments, for float calls and integer calls alike.
#pragma once
#include "common/validate.hpp"

namespace fovea {

inline int32_t check_segment_count(const fovea_segments& map) {
  return map.count < 1 || map.count > FOVEA_SEGMENTS_MAX ? refusal(FOVEA_SIZE, FOVEA_ARG_SEGMENTS)
                                                         : int32_t{FOVEA_OK};
}

// A segment begins with a panel, at `begin` or later, where the segments before it end, and holds no key from
// `end` on.
inline int32_t check_segment(const fovea_segment& s, int32_t begin, int32_t end, int32_t step) {
  if (s.first_key % step) return refusal(FOVEA_ALIGN, FOVEA_ARG_SEGMENTS);
  return s.first_key < begin || s.keys < 0 || s.keys > end - s.first_key
             ? refusal(FOVEA_RANGE, FOVEA_ARG_SEGMENTS)
             : int32_t{FOVEA_OK};
}

// Do they ascend, within the given keys, from panel to panel?
template <class Call>
int32_t check_segment_order(const fovea_segments& map, const Call& a, int32_t step) {
  if (const int32_t s = check_segment_count(map)) return s;
  int32_t end = a.first_key;
  for (int32_t i = 0; i < map.count; ++i) {
    const fovea_segment& s = map.at[i];
    if (const int32_t status = check_segment(s, end, a.first_key + a.keys, step)) return status;
    end = s.first_key + s.keys;
  }
  return FOVEA_OK;
}

// Calls use(from, to) for each run of keys that no segment holds.
template <class Call, class Use>
void each_gap(const fovea_segments& map, const Call& a, Use use) {
  int32_t end = a.first_key;
  for (int32_t i = 0; i < map.count; ++i) {
    if (map.at[i].first_key > end) use(end, map.at[i].first_key);
    end = map.at[i].first_key + map.at[i].keys;
  }
  if (end < a.first_key + a.keys) use(end, a.first_key + a.keys);
}

template <class Call>
bool has_gaps(const fovea_segments& map, const Call& a) {
  bool any = false;
  each_gap(map, a, [&](int32_t, int32_t) { any = true; });
  return any;
}

// Runs only move forward from query to query: those of the first and of the last query tell of all.
template <class Call>
bool sees_gap(const fovea_segments& map, const Call& a, const seen& first, const seen& last) {
  bool any = false;
  each_gap(map, a,
           [&](int32_t from, int32_t to) { any |= last.head > from || (last.to > from && first.from < to); });
  return any;
}

} // namespace fovea
