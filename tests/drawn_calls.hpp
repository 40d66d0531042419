// Calls drawn by lot: any shape, any options, any scratch and parts. One seed decides all of it.
#pragma once
#include "problem.hpp"

namespace drawn {

inline int32_t small_length(data::lottery& lot) {
  const int32_t usual[] = {0, 1, 2, 15, 16, 17, 31, 33, 48, 49, 255, 256, 257};
  return lot.one_in(2) ? lot.between(1, 70) : lot.one_of(usual);
}

// What a textbook in double follows quickly.
inline void small_sizes(shape& s, data::lottery& lot) {
  const int32_t groups[] = {1, 1, 2, 3, 4, 7, 13}, kv_heads = lot.between(1, 2);
  s.heads(kv_heads * lot.one_of(groups), kv_heads).dims(lot.between(1, 40), lot.between(1, 40));
  s.lengths(lot.one_in(3) ? 1 : lot.between(0, 30), small_length(lot));
}

// 0 .. most, and every other time beside a multiple of 16, where registers, tiles, panels and blocks end.
inline int32_t length(data::lottery& lot, int32_t most) {
  const int32_t edge = 16 * lot.between(0, most / 16) + lot.between(-1, 1);
  return lot.one_in(2) || edge < 0 ? lot.between(0, most) : edge;
}

// What takes every path of the kernels: tiles of all shapes, several blocks, at times several spans. As many
// queries as `work` allows.
inline void wide_sizes(shape& s, data::lottery& lot) {
  const int64_t work = lot.one_in(8) ? 4000000 : 400000,
                upkeep = 40; // products of a call; a key is at least this much for the tests
  const int32_t groups[] = {1, 1, 1, 2, 4, 8, 17}, kv_heads = lot.between(1, 2), group = lot.one_of(groups);
  const int32_t most_dim = lot.one_in(8) ? 260 : 70, most_keys = lot.one_in(25)  ? 9000
                                                                 : lot.one_in(4) ? 600
                                                                                 : 280;
  s.heads(kv_heads * group, group == 1 && lot.one_in(2) ? 0 : kv_heads);
  s.dims(1 + length(lot, most_dim - 1), length(lot, most_dim))
      .lengths(lot.one_in(4) ? 1 : length(lot, 60), length(lot, most_keys));
  const int64_t of_query = int64_t{s.options.q_heads} * s.options.keys * (s.options.dim + s.v_dim() + upkeep);
  while (s.options.queries > 1 && of_query * s.options.queries > work) s.options.queries /= 2;
}

inline void draw_weights(shape& s, data::lottery& lot) {
  s.weights(lot.between(0, 3));
  fovea_weights& w = s.options.weights;
  w.first_head = lot.between(0, s.options.q_heads - 1);
  if (s.options.queries > 0) w.first_query = lot.between(0, s.options.queries - 1);
  if (lot.one_in(2)) w.heads = lot.between(0, s.options.q_heads - w.first_head);
  if (lot.one_in(2)) w.queries = lot.between(0, s.options.queries - w.first_query);
}

inline void draw_modifiers(shape& s, data::lottery& lot) {
  const float caps[] = {0.01f, 0.5f, 5, 30, 1e4f, 1e30f};
  const float sizes[] = {1e-3f, 0.3f, 4, 1e5f};
  if (lot.one_in(2)) s.softcap(lot.one_of(caps));
  if (lot.one_in(2)) s.alibi(lot.one_of(sizes));
  if (lot.one_in(2)) s.sinks(lot.one_of(sizes));
  if (lot.one_in(2)) s.mask(lot.one_in(2) ? mask_kind::shown : mask_kind::bias, lot.one_in(2), lot.one_in(2));
  if (lot.one_in(4)) s.mask_keys(lot.between(0, s.options.keys + 5));
  if (lot.one_in(2)) s.lse();
  if (lot.one_in(3)) draw_weights(s, lot);
}

// How far a window goes to one side: negative is open.
inline int32_t reach(data::lottery& lot) { return lot.one_in(3) ? lot.between(0, 300) : lot.between(-3, 40); }

// Chunks of any size, or a tree where the last keys are those of the queries.
inline void draw_pattern(shape& s, data::lottery& lot) {
  const int32_t sizes[] = {1, 2, 3, 16, 40, 100, 256, 1 << 30};
  const int32_t which = lot.between(0, 5);
  if (which == 0) s.chunk(lot.one_of(sizes), lot.between(-1, 4));
  if (which != 1 || s.options.keys < s.options.queries) return;
  s.options.flags &= ~FOVEA_POSITION;
  s.tree(static_cast<uint32_t>(lot.between(1, 1 << 30)));
}

inline void draw_visibility(shape& s, data::lottery& lot) {
  const int32_t keys = s.options.keys;
  if (lot.one_in(2)) s.causal();
  if (lot.one_in(2)) s.first_key(lot.one_in(2) ? lot.between(0, 300) : lot.between(3900, 4100));
  if (lot.one_in(3)) s.first_key(s.options.first_key / 16 * 16); // where panels may begin
  if (lot.one_in(2)) s.position(s.options.first_key + lot.between(-20, keys + 20));
  if (lot.one_in(4)) // the first query ends where a block of 256 keys does, or beside it
    s.causal().position((s.options.first_key + lot.between(0, keys)) / 256 * 256 + lot.between(-2, 1));
  if (lot.one_in(2)) s.window(reach(lot), reach(lot));
  if (lot.one_in(3)) s.prefix(s.options.first_key + lot.between(0, lot.one_in(3) ? keys : 40));
  if (lot.one_in(3)) s.keep_first(s.options.first_key + lot.between(0, lot.one_in(3) ? keys : 40));
  draw_pattern(s, lot);
}

inline shape draw_shape(data::lottery& lot, void (*draw_sizes)(shape&, data::lottery&)) {
  const float sizes[] = {1, 1, 1, 30, 1e4f, 4e6f, 1e9f};
  const storage places[] = {storage::heads_first, storage::tokens_first, storage::packed_qkv,
                            storage::padded_rows};
  shape s("drawn by lot");
  draw_sizes(s, lot);
  s.scores(lot.one_of(sizes)).in(lot.one_of(places));
  draw_visibility(s, lot);
  if (lot.one_in(4)) s.scale(data::noise(5, static_cast<uint32_t>(lot.between(0, 9999))));
  if (lot.one_in(2)) draw_modifiers(s, lot);
  return s;
}

// Any scratch that is enough.
inline size_t scratch_size(const fovea_attention& a, data::lottery& lot) {
  const auto least = static_cast<int32_t>(fovea_scratch_least(&a)),
             best = static_cast<int32_t>(fovea_scratch_best(&a));
  return static_cast<size_t>(lot.between(least, best));
}

// All parts, beginning with any of them.
inline std::vector<float> solve_in_parts(problem& p, fovea_attention a, int32_t parts, bool split_rows,
                                         data::lottery& lot) {
  a.part = {0, parts};
  const size_t partials_size = split_rows && a.weights.data == nullptr ? fovea_partials_size(&a) : 0;
  data::guarded<unsigned char> partials(partials_size);
  if (partials_size > 0) a.partials = partials.data(), a.partials_size = partials_size;
  p.wipe_results();
  const int32_t first = lot.between(0, parts - 1);
  for (int32_t n = 0; n < parts; ++n) {
    a.part.index = (first + n) % parts;
    CHECK(attend_in(a, scratch_size(a, lot)) == FOVEA_OK);
  }
  if (partials_size > 0) CHECK(fovea_merge(&a) == FOVEA_OK);
  CHECK((p.only_results_written() && partials.guards_hold()));
  return p.results();
}

} // namespace drawn
