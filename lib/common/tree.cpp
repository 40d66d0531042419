// The path of a query in a tree of drafts.
#include "common/build.hpp"

#include "common/tree.hpp"

namespace fovea {

void find_path(const draft_tree& t, int32_t query, int64_t at, int32_t count, const seen_path& to) {
  const int32_t depth = depth_of(t, query);
  const int64_t from = int64_t{t.first} + depth - t.left; // positions before it are outside the window
  const auto sees = [&](int64_t p) { return p >= from || p < t.kept; };
  uint32_t special = 0;
  for (int32_t n = 0; n < count; ++n) {
    const int64_t key = at + n;
    to.shown[n] = key < t.first && sees(key);
    to.behind[n] = 0;
    special |= uint32_t{!to.shown[n]} << n / 16;
  }
  for (int32_t a = query, d = depth; a >= 0; a = t.parents[a], --d) {
    const int64_t n = t.first + int64_t{a} - at;
    if (n < 0) break; // and so do all queries before it on the path
    if (n >= count) continue;
    to.shown[n] = sees(t.first + int64_t{d});
    to.behind[n] = static_cast<int16_t>(a - d);
    special |= uint32_t{1} << n / 16;
  }
  *to.special = special;
}

} // namespace fovea
