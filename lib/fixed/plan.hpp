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
constexpr int32_t fixed_most_keys = 1 << 17; // of a sum of weights
constexpr int32_t fixed_tile_rows = 48;      // on systems

constexpr int32_t block_of(int32_t key) {
  return static_cast<int32_t>(static_cast<uint32_t>(key) / fixed_block);
}

struct byte_rows { // [head][token] with strides in bytes
  const unsigned char* data;
  ptrdiff_t head, token;
  const unsigned char* row(ptrdiff_t h, ptrdiff_t t) const { return data + h * head + t * token; }
};

template <class T>
struct table_of { // optional numbers: [head][row][key] with strides in elements
  const T* data;
  ptrdiff_t head, row;
};

// `visibility` in 32 bits. Keys are below 2^30, so larger numbers are clamped to that. Keys from .. to - 1
// are the window of query 0, and keys below `kept` are those it sees of the first `keep`. For each later
// query, all three are one key further; but `from` stays in a tree, and chunks cut all three.
struct fixed_visibility {
  int32_t first_key, end, from, to, kept, prefix, keep;
  int32_t chunk;        // keys of a chunk, 0: no chunks
  int32_t tree;         // not 0: see tree.hpp
  uint32_t chunks_left; // keys of the chunks before it, UINT32_MAX: all
  int32_t position;     // of query 0
};
constexpr int32_t beyond_keys = 1 << 30; // also from any query on

// Validation has refused calls with options that this build leaves out.
constexpr seen seen_by(const fixed_visibility& see, int32_t query) {
  const auto within = [](int32_t x, int32_t low, int32_t high) {
    x = x < high ? x : high;
    return x < low ? low : x;
  };
  int32_t low = features::trees && see.tree ? see.from : see.from + query, high = see.to + query,
          kept = see.kept + query;
  if (features::chunks && see.chunk) {
    // In 32 bits, for small cores. Positions before all keys are in a chunk that ends at key 0.
    const uint32_t size = static_cast<uint32_t>(see.chunk), limit = beyond_keys,
                   p = static_cast<uint32_t>(see.position) + static_cast<uint32_t>(query);
    const bool before = see.position < 0 && p >> 31;
    uint32_t begin = before ? 0 : p / size * size, end = before ? 0 : (begin < limit ? begin : limit) + size;
    begin = begin < see.chunks_left ? 0 : begin - see.chunks_left;
    const int32_t first = static_cast<int32_t>(begin < limit ? begin : limit),
                  behind = static_cast<int32_t>(end < limit ? end : limit);
    low = low < first ? first : low;
    high = behind < high ? behind : high;
    kept = behind < kept ? behind : kept;
  }
  int32_t head = see.first_key;
  if (two_runs) {
    kept = kept < see.keep ? kept : see.keep;
    head = within(kept < see.prefix ? see.prefix : kept, see.first_key, see.end);
  }
  int32_t from = within(low, head, see.end);
  const int32_t to = within(high, from, see.end);
  if (from == head) from = head = see.first_key; // the two runs touch: one run
  return {head, from, to};
}

// Whether all queries see the same keys.
constexpr bool same_keys(const fixed_visibility& see) {
  return see.from == -beyond_keys && see.to == beyond_keys && see.kept == beyond_keys && !see.chunk;
}

struct fixed_plan {
  bool s16;            // 16-bit numbers
  bool panels;         // k and v stand in panels
  bool fine_weights;   // 22 bits
  bool octaves_by_key; // scores become octaves one key at a time, because an option touches them
  int32_t out_type;
  int32_t kv_heads, group, dim, v_dim, depth, width; // depth and width: dim and v_dim, rounded up to 16
  int32_t rows;                                      // queries * group: row = query * group + head in group
  int32_t zero_q, zero_k, zero_v, zero_out;
  int spill;
  const fovea_fixed_scale* scale;
  const fixed_kernel* kernel;
  const fixed_offer* offer;
  const fovea_segments* segments; // null: k, v and their tables stand in one piece; else these say where
  int32_t part, parts;
  int32_t most_keys;    // that sums are rounded for
  fixed_visibility see; // what is read most comes before it: Thumb reaches 128 bytes in short instructions
  byte_rows tensors[4];
  draft_tree tree;
  // Tables, in the order of `kinds` in tables.cpp. Strides are any numbers where a table is not given.
  table_of<fovea_fixed_scale> head_scales;
  table_of<int32_t> multipliers;
  table_of<int16_t> value_weights;
  table_of<int32_t> sums;
  table_of<uint8_t> mask;
  table_of<int32_t> bias, alibi, sinks;
  // Scratch, and the output as soon as it is checked: nothing else of the call may meet them. Scratch is
  // judged last, so that a call is refused for the same reason with it and without.
  byte_range scratch = {}, written = {};
  bool meets_scratch = false;

  const byte_rows& q() const { return tensors[0]; }
  const byte_rows& k() const { return tensors[1]; }
  const byte_rows& v() const { return tensors[2]; }
  const byte_rows& out() const { return tensors[3]; }
  bool in_segments() const { return features::segments && segments; }
  bool has_sinks() const { return features::sinks && sinks.data; }
  bool in_tree(int32_t key, int32_t count) const { return features::trees && touches(tree, key, count); }
  const fovea_fixed_scale& scale_of(int32_t head) const {
    return head_scales.data ? head_scales.data[head] : *scale;
  }
};

inline size_t fixed_blocks_of(const fixed_plan& p) { // that the given keys touch
  if (p.see.end == p.see.first_key) return 0;
  return static_cast<size_t>(block_of(p.see.end - 1) - block_of(p.see.first_key) + 1);
}

} // namespace fovea::fixed
