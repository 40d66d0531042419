// Where the panels of K come from: a cache that holds them, the caller's scratch where all of them fit, or a few at a time packed there.
#pragma once
#include "kernel.hpp"
#include "kernel/pack.hpp"
#include "kernel/queries.hpp"
#include "kernel/scores.hpp"

namespace fovea {

template <class Isa>
class panels_of_keys {
 public:
  explicit panels_of_keys(const tile_job& job) : job_(job), p_(*job.p), w_(*job.w) {}

  // Calls use(panels) of a KV head until keys begin .. end-1 of the block have been there; both are multiples of 16.
  template <class Use>
  FOVEA_INLINE void each(int32_t kv_head, int64_t block, int begin, int end, Use use) const {
    for (packed_keys_view k{nullptr, begin, begin}; k.from < end; k.from = k.to) {
      find(kv_head, block, k, end);
      use(k);
    }
  }

  // Packed once for all tiles of queries of this head? Heads side by side have one each.
  bool shared() const { return job_.keys->all_fit && heads_of<Isa>(job_) == 1 && !takes_rows(p_, p_.rows); }

 private:
  const tile_job& job_;
  const plan& p_;
  const workspace& w_;

  // Finds or packs the panels of keys k.from .. of the block: as many as there is room for.
  void find(int32_t kv_head, int64_t block, packed_keys_view& k, int end) const {
    const int64_t panel = (block + k.from) / 16;
    const ptrdiff_t panel_floats = 16 * static_cast<ptrdiff_t>(p_.dim);
    const float* head = p_.k.data + kv_head * p_.k.head;
    k.to = end;
    if (p_.packed_keys) {
      k.at = head + static_cast<ptrdiff_t>(panel - p_.see.first_key / 16) * panel_floats;
    } else if (shared()) {
      const auto at = [&](int64_t i) { return w_.panels + static_cast<ptrdiff_t>(i - job_.keys->first) * panel_floats; };
      const int64_t past = (block + end) / 16;
      for (int64_t i = larger(panel, job_.keys->packed); i < past; ++i) pack(head, i, at(i));
      job_.keys->packed = larger(job_.keys->packed, past);
      k.at = at(panel);
    } else {
      const int count = static_cast<int>(smaller((end - k.from) / 16, w_.panel_room));
      for (int i = 0; i < count; ++i) pack(head, panel + i, w_.panels + i * panel_floats);
      k.to = k.from + 16 * count;
      k.at = w_.panels;
    }
  }
  void pack(const float* head, int64_t panel, float* at) const {
    pack_panel<Isa>(head, p_.k.token, panel * 16, p_.see.first_key, p_.keys_end, p_.dim, at);
  }
};

} // namespace fovea
