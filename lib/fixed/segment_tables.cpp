// Segments of integer calls: validation, and where the rows of their keys stand.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "common/segments.hpp"
#include "fixed/kernel.hpp"

namespace fovea::fixed {
namespace {

// A segment begins with its rows, in the order of their kinds; the tables have one stride.
static_assert(offsetof(fovea_segment, v) == of_values * sizeof(void*) &&
              offsetof(fovea_segment, key_multipliers) == of_multipliers * sizeof(void*) &&
              offsetof(fovea_segment, value_weights) == of_value_weights * sizeof(void*) &&
              offsetof(fixed_plan, value_weights) - offsetof(fixed_plan, multipliers) ==
                  sizeof(tensor_place) &&
              offsetof(fovea_segment, v_head_stride) - offsetof(fovea_segment, k_head_stride) ==
                  sizeof(ptrdiff_t) &&
              offsetof(fixed_plan, width) - offsetof(fixed_plan, depth) == sizeof(int32_t));

// Rows of one kind, of a segment. False where the call has none.
struct segment_rows {
  tensor_place place;
  tensor_counts counts;
};
FOVEA_ONCE bool rows_of(const fixed_plan& p, const fovea_segment& s, int kind, segment_rows& x) {
  if (kind >= of_multipliers &&
      !reinterpret_cast<const tensor_place*>(&p.multipliers)[kind - of_multipliers].data)
    return false;
  x = {{reinterpret_cast<const void* const*>(&s)[kind], s.table_head_stride, 0},
       {p.kv_heads, s.keys, 1, 4 - kind, FOVEA_ARG_SEGMENTS}};
  if (kind >= of_multipliers) return true;
  x.place.head_stride = (&s.k_head_stride)[kind];
  x.counts.tokens = up_to(s.keys, fixed_block);
  x.counts.row = (&p.depth)[kind];
  x.counts.shift = 0;
  return true;
}

} // namespace

// Sums are rounded for the keys that are there, however far the sequence has come. Keys that no segment holds
// must not be seen: what queries see only moves forward, so the first and the last one tell of all.
int32_t check_fixed_segments(const fovea_fixed_attention& a, fixed_plan& p) {
  const fovea_segments& map = *p.segments;
  if (const int32_t s = check_segment_count(map)) return s;
  seen first, last;
  see_by_query(p.see, 0, first), see_by_query(p.see, a.queries - 1, last);
  int32_t present = 0, end = p.see.first_key;
  for (const fovea_segment* s = map.at;; ++s) {
    const bool behind = s == map.at + map.count;
    int32_t status = behind ? int32_t{FOVEA_OK} : check_segment(*s, end, p.see.end, fixed_block);
    if (status) return status;
    const int32_t next = behind ? p.see.end : s->first_key;
    if (next > end && (last.head > end || (last.to > end && first.from < next)) && a.queries > 0)
      return refusal(FOVEA_RANGE, FOVEA_ARG_RING);
    if (behind) break;
    for (int kind = 0; kind < kinds_of_rows && !status; ++kind) {
      segment_rows x;
      byte_rows rows;
      if (rows_of(p, *s, kind, x)) status = check_tensor(x.place, x.counts, p, rows);
    }
    if (status) return status;
    present += s->keys;
    end = s->first_key + s->keys;
  }
  return present > p.most_keys ? refusal(FOVEA_SIZE, FOVEA_ARG_KEYS) : int32_t{FOVEA_OK};
}

// The segment that holds the block; one before it if none does.
void fixed_panels::find_segment(int32_t block) {
  const fovea_segment* s = p_.segments->at + p_.segments->count - 1;
  while (s != p_.segments->at && block_of(s->first_key) > block) --s;
  first_ = block_of(s->first_key);
  blocks_ = block_of(s->keys + fixed_block - 1);
  if (kernels_read_tables) end_ = s->first_key + s->keys;
  for (int kind = 0; kind < kinds_of_rows; ++kind) {
    segment_rows x;
    if (!rows_of(p_, *s, kind, x)) continue;
    const ptrdiff_t head = stride_or(x.place.head_stride, ptrdiff_t{x.counts.tokens} * x.counts.row);
    starts_[kind] = static_cast<const int8_t*>(x.place.data) + kv_head_ * head * (1 << x.counts.shift);
  }
}

} // namespace fovea::fixed
