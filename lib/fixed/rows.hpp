// What a kernel knows of a row, and how options turn its scores into octaves. Functions are static, because
// each ISA compiles its own copy.
#pragma once
#include "fixed/kernel.hpp"

namespace fovea::fixed {

struct fixed_row : seen {
  int32_t query;
  const unsigned char* q;
  unsigned char* out;
  const fovea_fixed_scale* scale;
  int32_t q_head;
  int32_t start;     // what zero points add to each of its scores
  int32_t reference; // whole octaves
  bool by_key;       // its scores become octaves one key at a time
};

// What zero_k adds to each score of a query.
static inline int32_t start_of(const fixed_plan& p, const unsigned char* q) {
  if (!p.zero_k) return 0;
  int32_t sum = 0;
  for (int c = 0; c < p.dim; ++c) sum += reinterpret_cast<const int8_t*>(q)[c];
  return p.zero_k * (p.dim * p.zero_q - sum);
}

// All but what it sees.
static inline void begin_row_of(const fixed_plan& p, int32_t q_head, int32_t query, fixed_row& r) {
  r.query = query;
  r.q_head = q_head;
  r.q = p.q().row(r.q_head, r.query);
  r.out = const_cast<unsigned char*>(p.out().row(r.q_head, r.query)); // it came as the caller's to be written
  r.scale = &p.scale_of(r.q_head);
  r.reference = fixed_lowest_reference;
  r.start = start_of(p, r.q);
}
static inline fixed_row make_row_of(const fixed_plan& p, int32_t q_head, int32_t query, const seen& s) {
  fixed_row r;
  static_cast<seen&>(r) = s;
  begin_row_of(p, q_head, query, r);
  return r;
}

static inline fixed_row make_row(const fixed_plan& p, int32_t kv_head, int32_t row) {
  const int32_t query = p.group == 1 ? row : quotient(row, p.group); // small cores divide slowly
  fixed_row r;
  see_by_query(p.see, query, r);
  begin_row_of(p, kv_head * p.group + row - query * p.group, query, r);
  return r;
}

static inline int32_t limited_word(int32_t t) {
  constexpr int32_t limit = fixed_octave_limit - 1;
#if defined(__ARM_FEATURE_SAT)
  const int32_t x = __builtin_arm_ssat(t, 29);
  return x - ((x + limit) >> 31); // -2^28 becomes -limit
#else
  return t < -limit ? -limit : t > limit ? limit : t;
#endif
}

// The octaves of a sink, and a reference that is at least its own.
static inline int32_t take_sink(const fixed_plan& p, fixed_row& r) {
  const int32_t t = limited_word(p.sinks.data[r.q_head]);
  if (r.reference < reference_of(t)) r.reference = reference_of(t);
  return t;
}

// A sink is a key without a value that comes before all others. Returns its weight: where a row begins, and
// once more where it ends, under the last reference.
static inline uint32_t weigh_sink(const fixed_plan& p, fixed_row& r) {
  if (!p.has_sinks()) return 0;
  const int32_t t = take_sink(p, r);
  return static_cast<uint32_t>(weight_of(static_cast<uint32_t>(below(r.reference, t))));
}

// The keys of a block that a row sees, counted from the block's first: [first, head) and [from, to).
struct seen_of_block {
  int first, head, from, to;
  bool none() const { return first >= head && from >= to; }
  bool all() const { return (from == 0 || (first == 0 && head == from)) && to == fixed_block; }
  bool has(int key) const { return (first <= key && key < head) || (from <= key && key < to); }
};
// A key counted from the first of a block, as far as the block goes.
static inline int in_block(int32_t key, int32_t at) {
  const int32_t n = (key - at) & ~((key - at) >> 31); // 0 when the key comes before the block
  return n < fixed_block ? n : fixed_block;
}
static inline seen_of_block seen_in(const fixed_plan& p, const fixed_row& r, int32_t block) {
  const int32_t at = block * fixed_block;
  return {in_block(p.see.first_key, at), in_block(r.head, at), in_block(r.from, at), in_block(r.to, at)};
}

// The first block, from `block` on, that some row sees of a run of rows with this first and this last one:
// what they see only moves forward, so there is nothing between the keys that are kept for the last row and
// the window of the first.
static inline int32_t next_block(const fixed_plan& p, const fixed_row& first, const fixed_row& last,
                                 int32_t block) {
  block = block < block_of(p.see.first_key) ? block_of(p.see.first_key) : block;
  const bool kept = two_runs && last.head > p.see.first_key && block * fixed_block < last.head;
  const int32_t window = block_of(first.from);
  return kept || block > window ? block : window;
}

// The numbers that options hold for one row and for the keys from `key` on.
struct key_options {
  const int32_t *multipliers, *sums, *bias;
  const uint8_t* mask;
  int32_t slope;
  int64_t distance;      // of the first key from the query's position
  const int16_t* behind; // by how much keys come after their positions; null where no tree hides keys
};

using path_in_block = tree_path<fixed_block>;

// The numbers of a kv head in a table of keys, from `key` on; null where the call has none.
template <class T>
static inline const T* numbers_from(const fixed_plan& p, const table_of<T>& x, int32_t kv_head, int32_t key) {
  return x.data ? x.data + kv_head * x.head + static_cast<ptrdiff_t>(key - p.see.first_key) : nullptr;
}

// But for multipliers, whose place panels know.
static inline key_options options_of(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int32_t key) {
  const ptrdiff_t n = static_cast<ptrdiff_t>(key - p.see.first_key);
  key_options o{nullptr, numbers_from(p, p.sums, kv_head, key),   nullptr, nullptr,
                0,       int64_t{p.see.position} + r.query - key, nullptr};
  if (features::masks && p.bias.data)
    o.bias = p.bias.data + r.q_head * p.bias.head + r.query * p.bias.row + n;
  if (features::masks && p.mask.data)
    o.mask = p.mask.data + r.q_head * p.mask.head + r.query * p.mask.row + n;
  if (features::alibi && p.alibi.data) {
    o.slope = p.alibi.data[r.q_head];
    if (features::trees && p.tree.parents)
      o.distance = p.tree.first + int64_t{depth_of(p.tree, r.query)} - key;
  }
  return o;
}

// Options from the first seen key of a block on; with a tree, which takes memory in `path`, as a mask.
// `multipliers` are those of the block.
static inline key_options options_in(const fixed_plan& p, const fixed_row& r, int32_t kv_head, int32_t block,
                                     const int32_t* multipliers, const seen_of_block& seen,
                                     path_in_block& path) {
  const int32_t at = block * fixed_block;
  key_options o = options_of(p, r, kv_head, at + seen.first);
  if (multipliers) o.multipliers = multipliers + seen.first;
  if (!p.in_tree(at, fixed_block)) return o;
  find_path(p.tree, r.query, at, fixed_block, {path.shown, path.behind, &path.special});
  uint8_t* const shown = path.shown + seen.first;
  if (o.mask)
    for (int i = 0, end = seen.from < seen.to ? seen.to : seen.head; i < end - seen.first; ++i)
      shown[i] &= o.mask[i] != 0;
  o.mask = shown;
  o.behind = path.behind + seen.first;
  return o;
}

static inline int64_t distance_of(const key_options& o, int i) {
  const int64_t ahead = o.behind ? o.distance + o.behind[i] : o.distance;
  return ahead < i ? i - ahead : ahead - i;
}

static constexpr int32_t limit_octaves(int64_t t) {
  return static_cast<int32_t>(clamp(t, 1 - fixed_octave_limit, fixed_octave_limit - 1));
}

// Subtracts what zero_q adds to a score. It may wrap: the sums of hidden keys can be any number.
static constexpr int32_t without_zero_q(int32_t s, int32_t zero_q, int32_t key_sum) {
  return static_cast<int32_t>(static_cast<uint32_t>(s) -
                              static_cast<uint32_t>(zero_q) * static_cast<uint32_t>(key_sum));
}

// Octaves of key i, whose score is s; absent when a mask hides it.
static inline int32_t octaves_with(const key_options& o, const fixed_plan& p, const fixed_row& r, int i,
                                   int32_t s) {
  if (o.mask && !o.mask[i]) return fixed_absent;
  if (o.bias && o.bias[i] == INT32_MIN) return fixed_absent;
  if (o.sums) s = without_zero_q(s, p.zero_q, o.sums[i]);
  int64_t t = octaves_of(s, o.multipliers ? o.multipliers[i] : r.scale->score_multiplier,
                         r.scale->score_shift);
  if (o.bias) t += o.bias[i];
  if (o.slope) t -= o.slope * distance_of(o, i);
  return limit_octaves(t);
}

} // namespace fovea::fixed
