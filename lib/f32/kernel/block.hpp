// A block of 256 keys as the rows of a tile see it. Made before the first phase, and constant from then on.
#pragma once
#include "f32/kernel.hpp"

namespace fovea::f32 {

// Which keys of one block the rows of a tile share.
enum class same_keys {
  none,
  begin, // each row sees one run, and all runs begin with the same whole vector
  all    // all rows see the same run
};

// What each row sees: two runs of keys, counted from the block's first. Later rows see later keys.
struct key_runs {
  int32_t *from[2], *to[2]; // [rows]
  int first;                // 1 where run 0 is empty for all rows
  same_keys same;
  int begin, end; // of the last row's run 1
};

struct block {
  int64_t first_key; // absolute key that it begins with
  key_runs runs;
  bool opens_span;                     // nothing has been gathered before it: sums begin here
  bool writes_output;                  // rows that finish write their output; else it stays in o, for a merge
  bool in_tree;                        // drafts, or a window that moves with them, hide keys of the runs
  int finished_before, finished_after; // rows that need no key from this block on, and none behind it
};

template <class Isa>
constexpr bool reads_streams = may_read_streams && Isa::lanes >= 8;

// Blocks of a span that the only row of each head sees, each with one run of keys: from[i] .. to[i] - 1.
constexpr int blocks_of_span = span_keys / block_keys;
struct stream_blocks {
  int count;
  bool opens_span; // of the first block
  int64_t first_key[blocks_of_span];
  int32_t from[blocks_of_span], to[blocks_of_span];
};

} // namespace fovea::f32
