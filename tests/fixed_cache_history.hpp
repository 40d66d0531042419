// Random histories of caches of int8: appends, truncates, resets, restores, with and without scales, in a
// ring and behind a prefix. After each step attention has the bits of plain rows.
#pragma once
#include "fixed_cache_model.hpp"
#include "histories.hpp"

namespace fixed_cache {

inline cache_case draw_case(data::lottery& lot) {
  cache_case c = {"", lot.between(1, 2), lot.between(1, 2), lot.between(1, 20), lot.between(1, 20), 0, 0, 0,
                  0,  lot.one_in(2)};
  c.most = lot.between(1, 40);
  const bool is_ring = lot.one_in(2);
  c.window = is_ring ? lot.between(1, 90) : 0;
  c.keep_first = is_ring && lot.one_in(2) ? lot.between(1, 70) : 0;
  c.capacity = is_ring ? ring(c.window, c.keep_first, c.most) : lot.between(64, 200);
  return c;
}

// Judge::check(model, images) compares attention on the images with attention on plain rows.
template <class Judge>
class history {
 public:
  explicit history(uint64_t seed)
      : lot_(seed), c_(draw_case(lot_)), m_{c_, static_cast<uint32_t>(seed)}, own_({}) {
    fovea_cache_shape shape = c_.shape(), whole = shape;
    whole.window = whole.keep_first = 0;
    whole.capacity += 64; // for the copies of a branch
    own_ = int8_block(whole);
    if (lot_.one_in(2)) {
      REQUIRE(fovea_cache_init(own_.data(), own_.size(), &shape) == FOVEA_OK);
      return;
    }
    parent_.emplace_back(whole);
    REQUIRE(fovea_cache_init(parent_[0].data(), parent_[0].size(), &whole) == FOVEA_OK);
    const int32_t tokens = lot_.between(1, c_.window ? c_.capacity : 64);
    REQUIRE(m_.append_to(parent_[0].data(), tokens) == FOVEA_OK);
    base_ = lot_.between(1, tokens);
    m_.truncate(base_);
    if (c_.window) c_.keep_first = 0, shape.keep_first = 0;
    shape.capacity = (c_.capacity + 64 + 63) / 64 * 64;
    if (!c_.window) shape.capacity = c_.capacity;
    REQUIRE(fovea_cache_branch(own_.data(), own_.size(), &shape, parent_[0].data(), base_) == FOVEA_OK);
  }

  void step() {
    switch (lot_.between(0, 7)) {
      case 0: {
        const int32_t to = m_.length - lot_.between(0, 9);
        if (fovea_cache_truncate(own_.data(), to) == FOVEA_OK)
          m_.truncate(to);
        else
          REQUIRE((to < base_ || c_.window));
        break;
      }
      case 1:
        if (!lot_.one_in(4)) break;
        REQUIRE(fovea_cache_reset(own_.data()) == FOVEA_OK);
        m_.truncate(base_);
        break;
      case 2: {
        int8_block saved = own_;
        for (uint32_t& word : own_.words) word = 0xC3C3C3C3u;
        REQUIRE(fovea_cache_restore(own_.data(), own_.size(), saved.data(), saved.size()) == FOVEA_OK);
        break;
      }
      default: {
        const int32_t before = m_.length, status = m_.append_to(own_.data(), lot_.between(1, c_.most));
        REQUIRE((status == FOVEA_OK || (c_.window == 0 && before + c_.most > base_ / 64 * 64 + c_.capacity)));
      }
    }
    REQUIRE(fovea_cache_length(own_.data()) == m_.length);
    REQUIRE(fovea_cache_verify(own_.data(), own_.size()) == FOVEA_OK);
    if (m_.length == 0 || m_.length > 1024) return;
    std::vector<const void*> images;
    for (int8_block& x : parent_) images.push_back(x.data());
    images.push_back(own_.data());
    Judge::check(m_, images);
  }

 private:
  data::lottery lot_;
  cache_case c_;
  model m_;
  std::vector<int8_block> parent_;
  int8_block own_;
  int32_t base_ = 0;
};

} // namespace fixed_cache
