// The plan of a call: every option has become a number. make_plan is the only place that validates.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/features.hpp"
#include "common/tree.hpp"
#include "f32/route.hpp"
#include "f32/stored.hpp"
#include "fovea/fovea.h"

namespace fovea::f32 {

constexpr int block_keys = 256; // keys of one softmax step, aligned to absolute key 0
constexpr int span_keys = 4096; // keys whose blocks are merged alone before spans are merged
// From a row of scores to the next: with 1,024 bytes, rows would share few cache sets.
constexpr int score_stride = block_keys + 16;
constexpr int greatest_dim = 1024;
// Of tokens, positions and heads: rounding up never overflows.
constexpr int32_t greatest_count = 0x7fffffff - 4 * span_keys;

constexpr int up16(int n) { return (n + 15) & -16; }

template <class T>
struct rows_of { // [head][token][dim], with strides in elements
  T* data;
  ptrdiff_t head, token;
};

// What a call touches other than its scratch.
struct footprint {
  enum input { q, k, v, alibi, sinks, mask, k_scales, v_scales, parents, inputs };
  enum output { out, lse, weights, partials, outputs };
  byte_range in[inputs], to[outputs];
  bool options; // false: q, k, v and out are all that the call touches, and other ranges are not set

  int input_count() const { return options ? int{inputs} : v + 1; }
  int output_count() const { return options ? int{outputs} : out + 1; }
};

struct mask_of { // one of both, or none; [head][query][key] with strides in elements
  const float* bias;
  const uint8_t* shown;
  ptrdiff_t head, query;
};

// What fovea_weights.stage asks for.
enum class returned : int32_t { weights, scaled_scores, capped_scores, biased_scores };

struct modifiers {
  float cap, cap_factor; // cap times log2(e), and -2 / cap: e^(-2 s / cap) = 2^(factor * s log2(e)); 0 = none
  const float *alibi, *sinks;
  mask_of mask;
  float* lse;
  fovea_weights weights; // its counts resolved
  bool any;              // of what changes scores: softcap, ALiBi, mask

  bool changes_scores() const { return (features::softcap || features::alibi || features::masks) && any; }
  returned stage() const { return static_cast<returned>(weights.stage); }
  // Also of keys that the row does not see.
  bool returns_every_score() const {
    return features::weights && weights.data &&
           (stage() == returned::scaled_scores || stage() == returned::capped_scores);
  }
};

// Rows are split into pieces: blocks where a KV head has few rows, so that even one head keeps several cores
// busy; else spans, whose partial results take less memory.
struct split_keys {
  int32_t piece_keys;          // block_keys or span_keys
  int32_t first_piece, pieces; // pieces, aligned to absolute key 0, that the given keys touch

  constexpr int32_t keys_of_unit(int32_t keys) const { return keys < piece_keys ? keys : piece_keys; }
};
constexpr int rows_of_blocks = 16; // at most so many rows are split into blocks

// How many stretches of `size` keys, aligned to absolute key 0, hold keys first .. end-1.
constexpr int32_t count_touched(int32_t first, int64_t end, int32_t size) {
  const auto place = [=](int64_t key) {
    return static_cast<int32_t>(static_cast<uint32_t>(key) / static_cast<uint32_t>(size));
  };
  return end > first ? place(end - 1) - place(first) + 1 : 0;
}
constexpr split_keys split_of(int64_t rows, int32_t first_key, int64_t end) {
  const int32_t size = rows <= rows_of_blocks ? block_keys : span_keys;
  return {size, first_key / size, count_touched(first_key, end, size)};
}

struct plan {
  rows_of<const float> q, k, v;
  rows_of<float> out;
  stored_tensors stored;          // those of q, k, v and out that are not float32 stand here instead
  bool packed_keys;               // k stands in panels of floats
  const fovea_segments* segments; // null: k and v stand where p.k and p.v say; else these do
  int32_t kv_heads, group;        // q_heads = kv_heads * group
  int32_t dim, v_dim;
  int32_t queries;
  int64_t rows; // queries * group: the rows of one kv head; row = query * group + head in group
  visibility see;
  draft_tree tree;
  int64_t keys_end; // behind the last given key; a mask may end before
  modifiers modify;
  float scale; // times log2(e): softmax is base 2
  // scale = 2 * stretch * shrunk where a row of q times scale may overflow; else stretch is 0.
  float stretch, shrunk;
  int32_t spans;    // that the given keys touch
  split_keys split; // how partials split the keys of a row
  int32_t part, parts;
  float* partials;
  int32_t isa; // its place in the tables of kernels
  core_profile core;
  footprint bytes;
  bool segments_meet(byte_range r) const; // the footprint of segments
  bool in_segments() const { return features::segments && segments; }
  bool in_tree(int32_t key, int32_t count) const { return features::trees && touches(tree, key, count); }
};

inline bool meets_any(const plan& p, byte_range scratch) {
  for (int i = 0; i < p.bytes.input_count(); ++i)
    if (meet(p.bytes.in[i], scratch)) return true;
  for (int o = 0; o < p.bytes.output_count(); ++o)
    if (meet(p.bytes.to[o], scratch)) return true;
  return features::segments && p.segments_meet(scratch);
}

int32_t check_segments(const fovea_attention& a, plan& p); // a plan that is complete but for them
// `types`: what the plan may hold beside floats; null: nothing.
int32_t make_plan(const fovea_attention* call, plan& p, const stored_types* types);
int32_t make_any_plan(const fovea_attention* call, plan& p); // with all types
bool partials_bytes(const plan& p, size_t& bytes);           // false on overflow

// One partial result: what a row has gathered in one piece. Slots stand as [kv head][row][piece].
constexpr ptrdiff_t slot_floats(int v_dim) { return 16 + 16 + up16(v_dim); } // sum, top, output
inline float* slot(const plan& p, int32_t kv_head, int64_t row, int32_t piece) {
  return p.partials +
         static_cast<ptrdiff_t>((kv_head * p.rows + row) * p.split.pieces + piece) * slot_floats(p.v_dim);
}

inline float* out_row(const plan& p, int32_t kv_head, int64_t row) {
  const ptrdiff_t query = static_cast<ptrdiff_t>(row / p.group), head = static_cast<ptrdiff_t>(row % p.group);
  return p.out.data + (kv_head * static_cast<ptrdiff_t>(p.group) + head) * p.out.head + query * p.out.token;
}

} // namespace fovea::f32
