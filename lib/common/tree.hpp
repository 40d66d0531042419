// Trees of drafts: which keys a query sees where the keys before it are not all on its path. A tree hides
// keys one by one, and only in blocks that hold drafts, or in which windows of its queries begin.
#pragma once
#include "common/validate.hpp"

namespace fovea {

struct draft_tree {
  const int16_t* parents; // [count], each before its child, -1: a root; null: no tree
  int32_t count;
  int32_t first; // the key of query 0, and the position of all roots
  int32_t left;  // of the window; without one, more than there are keys
  int32_t kept;  // positions below it are seen outside the window, too
};

// How many queries come before this one on its path.
static inline int32_t depth_of(const draft_tree& t, int32_t query) {
  int32_t depth = 0;
  while ((query = t.parents[query]) >= 0) ++depth;
  return depth;
}

// Whether keys at .. at + count - 1 may be hidden from some query that sees others of them, or have positions
// that are not their numbers.
static inline bool touches(const draft_tree& t, int32_t at, int32_t count) {
  if (!t.parents) return false;
  const int32_t behind = at - t.first;
  return behind > -count || (behind + t.left > -count && behind < t.count - t.left);
}

// What a query sees of keys at .. at + count - 1, and its depth. Compiled once, for all ISAs.
struct seen_path {
  uint8_t* shown;    // [count]
  int16_t* behind;   // [count]: by how much a draft's key comes after its position
  uint32_t* special; // bit n: of keys 16 n .. 16 n + 15 some are not seen, or are drafts
};
int32_t find_path(const draft_tree& t, int32_t query, int32_t at, int32_t count, const seen_path& to);

// The same of a block, in memory of its own.
template <int Keys>
struct tree_path {
  uint32_t special;
  uint8_t shown[Keys];
  int16_t behind[Keys];
};

// The numbers of a tree, of a call whose pattern, sizes and kept keys have been checked. Kept keys of p.see,
// a visibility, end before the drafts.
template <class Call, class Plan>
FOVEA_ONCE int32_t check_tree(const Call& a, Plan& p) {
  draft_tree& t = p.tree;
  if (!(a.flags & FOVEA_CAUSAL)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  if (a.queries > FOVEA_TREE_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_QUERIES);
  if (a.keys < a.queries) return refusal(FOVEA_SIZE, FOVEA_ARG_KEYS);
  t.count = a.queries;
  t.first = a.first_key + a.keys - a.queries;
  if (p.see.position != t.first) return refusal(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  t.left = a.flags & FOVEA_WINDOW && a.window_left >= 0 ? a.window_left : INT32_MAX;
  t.kept = static_cast<int32_t>(p.see.prefix < p.see.keep ? p.see.keep : p.see.prefix);
  p.see.tree = true;
  p.see.prefix = t.kept < t.first ? t.kept : t.first;
  p.see.keep = 0;
  return FOVEA_OK;
}

// The parents of a tree, whose memory has been checked.
inline int32_t check_parents(const draft_tree& t) {
  for (int32_t i = 0; i < t.count; ++i)
    if (static_cast<uint32_t>(t.parents[i] + 1) > static_cast<uint32_t>(i)) // -1 .. i - 1
      return refusal(FOVEA_RANGE, FOVEA_ARG_PARENT);
  return FOVEA_OK;
}

} // namespace fovea
