// The plan of an integer call: every option has become a number. make_fixed_plan is the only place that
// validates.
#pragma once
#include "common/tree.hpp"
#include "fixed/arithmetic.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

struct fixed_kernel;
struct fixed_offer;

constexpr int32_t fixed_greatest_dim = 1024;
// Of tokens, positions and heads: rounding up never overflows.
constexpr int32_t fixed_greatest_count = 0x3fffffff;
constexpr int32_t fixed_tile_rows = 48; // on systems

constexpr int32_t up_to(int32_t n, int32_t step) { return (n + step - 1) & -step; } // a power of two
constexpr int32_t block_of(int32_t key) {
  return static_cast<int32_t>(static_cast<uint32_t>(key) / fixed_block);
}

struct byte_rows { // [head][token] with strides in bytes
  const unsigned char* data;
  uintptr_t end; // behind the last byte
  ptrdiff_t head, token;
  byte_range bytes() const { return {reinterpret_cast<uintptr_t>(data), end}; }
  const unsigned char* row(ptrdiff_t h, ptrdiff_t t) const { return data + h * head + t * token; }
};

template <class T>
struct table_of { // optional numbers: [head][row][key] with strides in elements
  const T* data;
  ptrdiff_t head, row;
};

struct table_bytes { // of the tables that a call gives; few calls give any
  byte_range at[9];
  int32_t count;
  const byte_range* begin() const { return at; }
  const byte_range* end() const { return at + count; }
};

// `visibility` in 32 bits. Keys are below 2^30, so larger numbers are clamped to that. Keys from .. to - 1
// are the window of query 0, and keys below `kept` are those it sees of the first `keep`. For each later
// query, all three are one key further; but `from` stays in a tree, and chunks cut all three.
struct fixed_visibility {
  int32_t first_key, end, from, to, kept, prefix, keep;
  int32_t chunk; // keys of a chunk, 0: no chunks
  bool tree;
  int64_t chunks_left; // keys of the chunks before it
  int64_t position;    // of query 0
};
constexpr int32_t beyond_keys = 1 << 30; // also from any query on

constexpr seen seen_by(const fixed_visibility& see, int32_t query) {
  const auto within = [](int32_t x, int32_t low, int32_t high) {
    return x < low ? low : x < high ? x : high;
  };
  int32_t low = see.tree ? see.from : see.from + query, high = see.to + query, kept = see.kept + query;
  if (see.chunk) {
    const int64_t begin = chunk_begin(see.position + query, see.chunk);
    const int32_t first = static_cast<int32_t>(clamp(begin - see.chunks_left, -beyond_keys, beyond_keys)),
                  behind = static_cast<int32_t>(smaller(begin + see.chunk, beyond_keys));
    low = low < first ? first : low;
    high = behind < high ? behind : high;
    kept = behind < kept ? behind : kept;
  }
  kept = kept < see.keep ? kept : see.keep;
  int32_t head = within(kept < see.prefix ? see.prefix : kept, see.first_key, see.end),
          from = within(low, head, see.end);
  const int32_t to = within(high, from, see.end);
  if (from == head) from = head = see.first_key; // the two runs touch: one run
  return {head, from, to};
}

// Whether all queries see the same keys.
constexpr bool same_keys(const fixed_visibility& see) {
  return see.from == -beyond_keys && see.to == beyond_keys && see.kept == beyond_keys && !see.chunk;
}

struct fixed_plan {
  byte_rows q, k, v, out;
  bool s16;          // 16-bit numbers
  bool panels;       // k and v stand in panels
  bool fine_weights; // 22 bits
  int32_t out_type;
  int32_t kv_heads, group, dim, v_dim, depth, width; // depth and width: dim and v_dim, rounded up to 16
  int32_t rows;                                      // queries * group: row = query * group + head in group
  int32_t zero_q, zero_k, zero_v, zero_out;
  int spill;
  fixed_visibility see;
  draft_tree tree;
  const fovea_fixed_scale *scale, *head_scales;
  table_of<int32_t> multipliers, sums, bias;
  table_of<int16_t> value_weights;
  table_of<uint8_t> mask;
  const int32_t *alibi, *sinks;
  bool octaves_by_key; // scores become octaves one key at a time, because an option touches them
  int32_t part, parts;
  const fixed_kernel* kernel;
  const fixed_offer* offer;
  const fovea_segments* segments; // null: k, v and their tables stand in one piece; else these say where
  table_bytes tables;

  const fovea_fixed_scale& scale_of(int32_t head) const { return head_scales ? head_scales[head] : *scale; }
};

static inline bool meets_inputs(const fixed_plan& p, byte_range bytes) {
  for (const byte_range& r : p.tables)
    if (meet(r, bytes)) return true;
  return meet(p.q.bytes(), bytes) || meet(p.k.bytes(), bytes) || meet(p.v.bytes(), bytes);
}
inline size_t fixed_blocks_of(const fixed_plan& p) { // that the given keys touch
  if (p.see.end == p.see.first_key) return 0;
  return static_cast<size_t>(block_of(p.see.end - 1) - block_of(p.see.first_key) + 1);
}

} // namespace fovea::fixed
