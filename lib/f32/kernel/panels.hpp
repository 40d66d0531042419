// Panels of K for one block: from a cache that holds them, or packed into the caller's scratch, all of a head
// or a few at a time.
#pragma once
#include "f32/kernel/kv_view.hpp"
#include "f32/kernel/pack.hpp"

namespace fovea::f32 {

template <class Isa, class Element>
class panels_of_keys {
 public:
  explicit panels_of_keys(const tile_job& job) : job_(job), p_(*job.p), w_(*job.w) {}

  // Calls use(panels) of a KV head until all keys begin .. end-1 of the block have been used. Both are
  // multiples of 16.
  template <class Use>
  FOVEA_INLINE void each(const kv_view<Element>& head, int64_t block, int begin, int end, Use use) const {
    for (key_panels k{nullptr, begin, begin}; k.from < end; k.from = k.to) {
      find(head, block, k, end);
      use(k);
    }
  }

 private:
  const tile_job& job_;
  const plan& p_;
  const workspace& w_;

  // Finds or packs the panels of keys k.from .. of the block: as many as there is room for.
  void find(const kv_view<Element>& head, int64_t block, key_panels& k, int end) const {
    const int64_t panel = (block + k.from) / 16;
    if (job_.chosen.keys == key_source::panel_cache) {
      k = head.panels(block, k.from, end);
    } else if (job_.chosen.keys == key_source::packed_once) {
      packed_panels& packed = *job_.packed;
      const int64_t past = (block + end) / 16;
      for (int64_t i = larger(panel, packed.end); i < past; ++i) pack(head, i, in_scratch(i - packed.first));
      packed.end = larger(packed.end, past);
      k.to = end;
      k.at = in_scratch(panel - packed.first);
    } else {
      const int count = static_cast<int>(smaller((end - k.from) / 16, w_.panel_room));
      for (int i = 0; i < count; ++i) pack(head, panel + i, in_scratch(i));
      k.to = k.from + 16 * count;
      k.at = w_.panels;
    }
  }
  float* in_scratch(int64_t i) const { return w_.panels + static_cast<ptrdiff_t>(i) * 16 * p_.dim; }
  void pack(const kv_view<Element>& head, int64_t panel, float* at) const {
    if (p_.stored.k.dtype != FOVEA_F32) return p_.stored.as.tiles->pack_keys(p_, head.number(), panel, at);
    const int64_t first = panel * 16, given = larger(first, p_.see.first_key);
    pack_panel<Isa>(head.key(given), head.key_stride(), first, p_.see.first_key, p_.keys_end, p_.dim, at);
  }
};

} // namespace fovea::f32
