// What may change the scores of a problem, and what a call tells beside its results: wishes in a shape,
// memory in a problem.
#pragma once
#include <limits>

#include "data.hpp"
#include "fovea/fovea.h"
#include "pattern_reference.hpp"

enum class mask_kind { none, shown, bias };

// Which modifiers a shape wants. What is a plain number (softcap, the stage of weights, the mask's keys)
// stands in the call itself.
struct modifier_wish {
  float slopes = 0, sinks = 0; // about this large; 0: none
  mask_kind mask = mask_kind::none;
  bool mask_by_head = false, mask_by_query = false;
  bool lse = false, weights = false;
  int32_t chunk = 0, left_chunks = 0;
  uint32_t tree = 0; // the seed of its form; 0: none
};

class modifier_memory {
 public:
  modifier_memory(const fovea_attention& a, const modifier_wish& wish, uint32_t seed) : wish_(wish) {
    if (wish.slopes > 0) alibi = noise_of(a.q_heads, 7 * seed + 4, wish.slopes);
    if (wish.sinks > 0) sinks = noise_of(a.q_heads, 7 * seed + 5, wish.sinks);
    if (wish.lse) lse = data::guarded<float>(static_cast<size_t>(a.q_heads) * static_cast<size_t>(a.queries));
    if (wish.weights) weights = data::guarded<float>(count_weights(a));
    if (wish.mask != mask_kind::none) make_mask(a, 7 * seed + 6);
    order.chunk = wish.chunk, order.left_chunks = wish.left_chunks;
    if (wish.tree != 0) make_tree(a.queries);
  }

  void enter(fovea_attention& a) const {
    a.alibi = wish_.slopes > 0 ? alibi.data() : nullptr;
    a.sinks = wish_.sinks > 0 ? sinks.data() : nullptr;
    a.lse = wish_.lse ? const_cast<float*>(lse.data()) : nullptr;
    a.weights.data = wish_.weights ? const_cast<float*>(weights.data()) : nullptr;
    a.pattern = wish_.chunk != 0 || wish_.tree != 0 ? &order : nullptr;
    if (wish_.mask == mask_kind::none) return;
    a.mask.is_bias = wish_.mask == mask_kind::bias;
    a.mask.data = a.mask.is_bias != 0 ? static_cast<const void*>(bias.data()) : shown.data();
    a.mask.head_stride = head_stride_, a.mask.query_stride = query_stride_;
  }

  // Log-sum-exp and weights, as far as they are wanted.
  void append_to(std::vector<float>& all) const {
    all.insert(all.end(), lse.data(), lse.data() + lse.size());
    all.insert(all.end(), weights.data(), weights.data() + weights.size());
  }
  void wipe() { lse.wipe(), weights.wipe(); }
  bool guards_hold() const {
    return alibi.guards_hold() && sinks.guards_hold() && shown.guards_hold() && bias.guards_hold() &&
           lse.guards_hold() && weights.guards_hold() && parents.guards_hold();
  }
  bool nothing_told() const { return lse.nothing_written() && weights.nothing_written(); }

  // One element of the mask; what a broadcast mask says to one row it says to all.
  size_t place(int32_t head, int32_t query, int32_t key) const {
    return static_cast<size_t>(head * head_stride_ + query * query_stride_ + key);
  }
  void hide(int32_t head, int32_t query, int32_t key) {
    if (wish_.mask == mask_kind::shown) shown[place(head, query, key)] = 0;
    if (wish_.mask == mask_kind::bias)
      bias[place(head, query, key)] = -std::numeric_limits<float>::infinity();
  }

  data::guarded<float> alibi{0}, sinks{0}, bias{0}, lse{0}, weights{0};
  data::guarded<unsigned char> shown{0};
  data::guarded<int16_t> parents{0};
  fovea_pattern order = {};

 private:
  void make_tree(int32_t queries) {
    data::lottery lot(wish_.tree);
    parents = data::guarded<int16_t>(static_cast<size_t>(queries));
    pattern::draw_tree(parents.data(), queries, [&](int32_t a, int32_t b) { return lot.between(a, b); });
    order.parents = parents.data();
  }

  static data::guarded<float> noise_of(int32_t count, uint32_t seed, float size) {
    data::guarded<float> numbers(static_cast<size_t>(count));
    for (int32_t n = 0; n < count; ++n)
      numbers[static_cast<size_t>(n)] = size * data::noise(seed, static_cast<uint32_t>(n));
    return numbers;
  }

  static size_t count_weights(const fovea_attention& a) {
    const fovea_weights& w = a.weights;
    const int32_t heads = w.heads == 0 ? a.q_heads - w.first_head : w.heads;
    const int32_t queries = w.queries == 0 ? a.queries - w.first_query : w.queries;
    return static_cast<size_t>(heads) * static_cast<size_t>(queries) * static_cast<size_t>(a.keys);
  }

  // Rows stand three elements apart; between them is what nobody may read.
  void make_mask(const fovea_attention& a, uint32_t seed) {
    const int32_t keys = a.mask.keys == 0 || a.mask.keys > a.keys ? a.keys : a.mask.keys;
    const int32_t queries = wish_.mask_by_query ? a.queries : 1, heads = wish_.mask_by_head ? a.q_heads : 1;
    query_stride_ = wish_.mask_by_query ? keys + 3 : 0;
    head_stride_ = wish_.mask_by_head ? (wish_.mask_by_query ? queries * query_stride_ + 3 : keys + 3) : 0;
    const bool any = heads > 0 && queries > 0;
    const size_t count = any ? static_cast<size_t>((heads - 1) * head_stride_ +
                                                   (queries - 1) * query_stride_ + keys)
                             : 0;
    if (wish_.mask == mask_kind::bias) bias = data::guarded<float>(count);
    if (wish_.mask == mask_kind::shown) shown = data::guarded<unsigned char>(count);
    for (int32_t h = 0; h < heads; ++h)
      for (int32_t i = 0; i < queries; ++i)
        for (int32_t j = 0; j < keys; ++j) draw(seed, h, i, j);
  }

  // Hides a third of all keys, whole panels at times, and one row in eight altogether.
  void draw(uint32_t seed, int32_t head, int32_t query, int32_t key) {
    const auto row = static_cast<uint32_t>(head * 1000 + query) * 8192, j = static_cast<uint32_t>(key);
    const float x = data::noise(seed, row + j);
    if (wish_.mask == mask_kind::shown) shown[place(head, query, key)] = x > 0.5f ? 1 : 0x80;
    if (wish_.mask == mask_kind::bias) bias[place(head, query, key)] = 3 * x;
    const bool whole_row = data::noise(seed + 1, row) < -0.75f,
               whole_panel = data::noise(seed + 2, row + j / 16) < -0.7f;
    if (whole_row || whole_panel || x < -0.6f) hide(head, query, key);
  }

  modifier_wish wish_;
  ptrdiff_t head_stride_ = 0, query_stride_ = 0;
};
