// Which keys a query sees, as numbers: at most two runs of keys, both moving only forward from query to
// query. Of a tree, the runs hold all that its queries may see; tree.hpp hides the rest.
#pragma once
#include <cstdint>

#include "common/features.hpp"

namespace fovea {

constexpr int64_t unbounded = int64_t{1} << 40;

constexpr int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }
constexpr int64_t clamp(int64_t x, int64_t low, int64_t high) { return larger(low, smaller(x, high)); }

struct visibility {
  int64_t first_key, end; // absolute keys that are given
  int64_t position;       // of query 0
  int64_t left, right;    // p - left <= j <= p + right; causal is folded into right
  // Keys below prefix, and keys below keep that are at most p + ending, are seen whatever the window is.
  int64_t prefix, keep, ending;
  int64_t chunk, chunks_left; // keys of a chunk, 0: no chunks; and those of the chunks before it
  bool tree;                  // the window of query 0 begins before that of any other
};

// Where the chunk of position p begins; before all keys if p is negative. Positions are below 2^32, so that
// small cores need no long division.
constexpr int64_t chunk_begin(int64_t p, int64_t chunk) {
  const uint32_t size = static_cast<uint32_t>(chunk);
  return p < 0 ? -chunk : int64_t{static_cast<uint32_t>(p) / size * size};
}

struct seen {
  int32_t head, from, to; // keys first_key .. head-1 and from .. to-1; head <= from <= to
};
constexpr bool operator==(const seen& a, const seen& b) {
  return a.head == b.head && a.from == b.from && a.to == b.to;
}

// Whether a query may see two runs of keys: a tree of drafts keeps those of a prefix, too.
constexpr bool two_runs = features::kept_keys || features::trees;

// Validation has refused calls with options that this build leaves out.
constexpr seen seen_by(const visibility& see, int64_t query) {
  const int64_t p = see.position + query;
  int64_t low = (features::trees && see.tree ? see.position : p) - see.left, high = p + see.right + 1,
          kept = p + see.ending;
  if (features::chunks && see.chunk) {
    const int64_t begin = chunk_begin(p, see.chunk), end = begin + see.chunk;
    low = larger(low, begin - see.chunks_left);
    high = smaller(high, end);
    kept = smaller(kept, end);
  }
  int64_t head = see.first_key;
  if (two_runs) head = clamp(larger(see.prefix, smaller(see.keep, kept)), see.first_key, see.end);
  int64_t from = clamp(low, head, see.end);
  const int64_t to = clamp(high, from, see.end);
  if (from == head) from = head = see.first_key; // the two runs touch: one run
  return {static_cast<int32_t>(head), static_cast<int32_t>(from), static_cast<int32_t>(to)};
}

} // namespace fovea
