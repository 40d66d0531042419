// What may change the scores of a problem, and what a call returns in addition to its outputs: wishes in a
// shape, memory in a problem.
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
  modifier_memory(const fovea_attention& a, const modifier_wish& wish, uint32_t seed);
  ~modifier_memory();

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
  void make_mask(const fovea_attention& a, uint32_t seed);
  void draw(uint32_t seed, int32_t head, int32_t query, int32_t key);
  void make_tree(int32_t queries);

  modifier_wish wish_;
  ptrdiff_t head_stride_ = 0, query_stride_ = 0;
};
