// One token in an image: its numbers as 32-bit words, whatever the panels look like. Checksums, branches and
// conversion between machines walk over them.
#pragma once
#include "cache/image.hpp"
#include "fixed/panels.hpp"

namespace fovea::cache {

// Each word changes the sum for certain, and where one bit of it acts moves from word to word.
constexpr uint32_t mix_word(uint32_t sum, uint32_t word) {
  sum ^= word;
  return (sum << 13 | sum >> 19) * 0x9e3779b1u;
}

// Numbers of tokens are added up: first what differs must differ everywhere.
constexpr uint32_t end_of_token(uint32_t sum) { return mix_word(sum ^ sum >> 16, 0); }

constexpr int32_t panel_order_of(const fovea_cache_shape& s) {
  return s.dtype == FOVEA_I8 ? fixed::fixed_panel_order : 0;
}

// One KV head at one place of an image.
class token_words {
 public:
  token_words(const opened& c, int32_t head, int32_t place)
      : int8_(c.holds_int8()),
        order_(c.head->fixed.panel_order),
        place_(place),
        v_dim_(c.shape().v_dim),
        at_(c.at()),
        k_(c.keys(head)),
        v_(c.values(head)) {}

  int32_t key_words() const { return int8_ ? at_.depth / 4 : at_.depth; }
  int32_t value_words() const { return int8_ ? (v_dim_ + 3) / 4 : v_dim_; }

  unsigned char* key_word(int32_t i) const { // four numbers of int8 stand together
    if (int8_) return k_ + fixed::key_at(place_, 4 * i, at_.depth, order_);
    return k_ + 4 * (static_cast<ptrdiff_t>(down_to(place_, 16)) * at_.depth + i * 16 + place_ % 16);
  }
  uint32_t value_word(int32_t i) const {
    if (!int8_) return load(value_row() + 4 * i);
    uint32_t word = 0; // behind the last number: zeros
    for (int32_t n = 0; n < 4 && 4 * i + n < v_dim_; ++n) word |= uint32_t{*value_byte(4 * i + n)} << 8 * n;
    return word;
  }
  void set_value_word(int32_t i, uint32_t word) const {
    if (!int8_) return store(value_row() + 4 * i, word);
    for (int32_t n = 0; n < 4 && 4 * i + n < v_dim_; ++n)
      *value_byte(4 * i + n) = static_cast<unsigned char>(word >> 8 * n);
  }

  static uint32_t load(const unsigned char* p) {
    uint32_t word;
    __builtin_memcpy(&word, __builtin_assume_aligned(p, 4), sizeof word);
    return word;
  }
  static void store(unsigned char* p, uint32_t word) {
    __builtin_memcpy(__builtin_assume_aligned(p, 4), &word, sizeof word);
  }

 private:
  bool int8_;
  int32_t order_, place_, v_dim_;
  const layout& at_;
  unsigned char *k_, *v_;

  unsigned char* value_row() const { return v_ + static_cast<ptrdiff_t>(place_) * v_dim_ * 4; }
  unsigned char* value_byte(int32_t c) const { return v_ + fixed::value_at(place_, c, at_.width, order_); }
};

// A token from one image to another of the same shape, capacity aside.
void copy_token(const opened& to, const opened& from, int32_t token);

} // namespace fovea::cache
