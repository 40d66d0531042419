// The path of a query in a tree of drafts.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "common/tree.hpp"

namespace fovea {

int32_t find_path(const draft_tree& t, int32_t query, int32_t at, int32_t count, const seen_path& to) {
  // Counted from `at`, so that they fit 32 bits: positions from `from` on are in the window.
  const int32_t depth = depth_of(t, query), position = t.first + depth - t.left,
                from = (position < 0 ? 0 : position) - at, kept = t.kept - at, first = t.first - at;
  const auto sees = [&](int32_t p) { return (p >= from) | (p < kept); };
  uint8_t* const shown = to.shown;
  int16_t* const behind = to.behind;
  uint32_t special = 0;
  for (int32_t n = 0; n < count; ++n) {
    const bool seen = (n < first) & sees(n);
    shown[n] = seen;
    behind[n] = 0;
    special |= uint32_t{!seen} << n / 16;
  }
  for (int32_t a = query, d = depth; a >= 0; a = t.parents[a], --d) {
    const int32_t n = first + a;
    if (n < 0) break; // and so do all queries before it on the path
    if (n >= count) continue;
    shown[n] = sees(first + d);
    behind[n] = static_cast<int16_t>(a - d);
    special |= uint32_t{1} << n / 16;
  }
  *to.special = special;
  return depth;
}

} // namespace fovea
