// What a fovea_pattern means, one query and one key at a time, for calls of floats and of integers.
#pragma once
#include <cstdint>
#include <string>

#include "fovea/fovea.h"

namespace pattern {

inline int64_t depth(const int16_t* parents, int64_t i) {
  return parents[i] < 0 ? 0 : 1 + depth(parents, parents[i]);
}
inline bool follows(const int16_t* parents, int64_t i, int64_t before) {
  return i == before || (parents[i] >= 0 && follows(parents, parents[i], before));
}

template <class Call>
const int16_t* parents(const Call& a) {
  return a.pattern == nullptr ? nullptr : a.pattern->parents;
}
template <class Call>
int64_t first_draft(const Call& a) {
  return int64_t{a.first_key} + a.keys - a.queries;
}

// Where query i stands; unless a position is given, the queries are the last keys.
template <class Call>
int64_t position(const Call& a, int64_t i) {
  if (parents(a) != nullptr) return first_draft(a) + depth(parents(a), i);
  return ((a.flags & FOVEA_POSITION) != 0 ? int64_t{a.position} : first_draft(a)) + i;
}
template <class Call>
int64_t key_position(const Call& a, int64_t j) {
  const int64_t draft = j - first_draft(a);
  return parents(a) != nullptr && draft >= 0 ? first_draft(a) + depth(parents(a), draft) : j;
}

inline int64_t chunk_of(int64_t p, int64_t chunk) { return p < 0 ? -1 : p / chunk; }

// Does query i see key j, counted from absolute key 0, as far as numbers and the tree say?
template <class Call>
bool sees(const Call& a, int64_t i, int64_t key) {
  if (key < a.first_key || key >= int64_t{a.first_key} + a.keys) return false;
  const int64_t p = position(a, i), j = key_position(a, key), draft = key - first_draft(a);
  if (parents(a) != nullptr && draft >= 0 && !follows(parents(a), i, draft)) return false;
  if (j < a.prefix) return true;
  if ((a.flags & FOVEA_CAUSAL) != 0 && j > p) return false;
  const int64_t chunk = a.pattern == nullptr ? 0 : a.pattern->chunk;
  if (chunk > 0 && chunk_of(j, chunk) > chunk_of(p, chunk)) return false;
  if (j < a.keep_first && ((a.flags & FOVEA_WINDOW) != 0 || chunk > 0)) return true;
  if (chunk > 0 && a.pattern->left_chunks >= 0 &&
      chunk_of(j, chunk) < chunk_of(p, chunk) - a.pattern->left_chunks)
    return false;
  if ((a.flags & FOVEA_WINDOW) == 0) return true;
  return (a.window_left < 0 || p - a.window_left <= j) && (a.window_right < 0 || j <= p + a.window_right);
}

inline std::string in_words(const fovea_pattern* x) {
  if (x == nullptr) return "";
  return ", chunk " + std::to_string(x->chunk) + " and " + std::to_string(x->left_chunks) +
         (x->parents == nullptr ? "" : ", a tree");
}

// Parents of `count` queries: chains, brothers, trees of any form. `draw(low, high)` returns a number.
template <class Draw>
void draw_tree(int16_t* parents, int32_t count, const Draw& draw) {
  const int32_t form = draw(0, 5);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t low = form == 0   ? i - 1
                        : form == 1 ? -1
                        : form == 2 ? 0
                        : form == 3 ? i - 4
                                    : -1,
                  high = form == 1   ? -1
                         : form == 2 ? 0
                                     : i - 1;
    const int32_t parent = draw(low < -1 ? -1 : low, high < i ? high : i - 1);
    parents[i] = static_cast<int16_t>(parent < i ? parent : i - 1);
  }
}

} // namespace pattern
