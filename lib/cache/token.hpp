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

// One KV head at one place of an image. Words of 32 bits hold one, two or four numbers, the first one lowest;
// behind the last number of a row stand zeros.
class token_words {
 public:
  token_words(const opened& c, int32_t head, int32_t place)
      : order_(c.head->fixed.panel_order), place_(place), v_dim_(c.shape().v_dim), at_(c.at()) {
    k_ = c.keys(head);
    v_ = c.values(head);
    if (at_.element == 1) return;
    k_ += (static_cast<ptrdiff_t>(down_to(place, 16)) * at_.depth + place % 16) * at_.element;
    v_ += static_cast<ptrdiff_t>(place) * at_.width * at_.element;
  }

  int32_t key_words() const { return words_of(at_.depth); }
  int32_t value_words() const { return words_of(v_dim_); }

  uint32_t key_word(int32_t i) const {
    if (at_.element == 4) return load(k_ + i * 64);
    if (at_.element == 2) return pair(k_, 32, i, at_.depth);
    return load(key_bytes(i));
  }
  void set_key_word(int32_t i, uint32_t word) const {
    if (at_.element == 4) return store(k_ + i * 64, word);
    if (at_.element == 2) return set_pair(k_, 32, i, at_.depth, word);
    store(key_bytes(i), word);
  }
  uint32_t value_word(int32_t i) const {
    if (at_.element == 4) return load(v_ + i * 4);
    if (at_.element == 2) return pair(v_, 2, i, v_dim_);
    uint32_t word = 0;
    for (int32_t n = 0; n < 4 && 4 * i + n < v_dim_; ++n) word |= uint32_t{*value_byte(4 * i + n)} << 8 * n;
    return word;
  }
  void set_value_word(int32_t i, uint32_t word) const {
    if (at_.element == 4) return store(v_ + i * 4, word);
    if (at_.element == 2) return set_pair(v_, 2, i, v_dim_, word);
    for (int32_t n = 0; n < 4 && 4 * i + n < v_dim_; ++n)
      *value_byte(4 * i + n) = static_cast<unsigned char>(word >> 8 * n);
  }

  static uint32_t load(const unsigned char* p) {
    uint32_t word;
    __builtin_memcpy(&word, __builtin_assume_aligned(p, 4), sizeof word);
    return word;
  }

 private:
  int32_t order_, place_, v_dim_;
  const layout& at_;
  unsigned char *k_, *v_; // of int8 those of the head, else those of the token

  int32_t words_of(int32_t numbers) const { return (numbers * at_.element + 3) / 4; }
  unsigned char* key_bytes(int32_t i) const { return k_ + fixed::key_at(place_, 4 * i, at_.depth, order_); }
  unsigned char* value_byte(int32_t c) const { return v_ + fixed::value_at(place_, c, at_.width, order_); }

  static void store(unsigned char* p, uint32_t word) {
    __builtin_memcpy(__builtin_assume_aligned(p, 4), &word, sizeof word);
  }
  // Numbers of 16 bits, `step` bytes apart: number 2 i, and the next one where there is one.
  static uint32_t pair(const unsigned char* row, int32_t step, int32_t i, int32_t numbers) {
    const uint32_t first = load_half(row + 2 * i * step);
    return 2 * i + 1 < numbers ? first | load_half(row + (2 * i + 1) * step) << 16 : first;
  }
  static void set_pair(unsigned char* row, int32_t step, int32_t i, int32_t numbers, uint32_t word) {
    store_half(row + 2 * i * step, word);
    if (2 * i + 1 < numbers) store_half(row + (2 * i + 1) * step, word >> 16);
  }
  static uint32_t load_half(const unsigned char* p) {
    uint16_t half;
    __builtin_memcpy(&half, __builtin_assume_aligned(p, 2), sizeof half);
    return half;
  }
  static void store_half(unsigned char* p, uint32_t word) {
    const uint16_t half = static_cast<uint16_t>(word);
    __builtin_memcpy(__builtin_assume_aligned(p, 2), &half, sizeof half);
  }
};

// Where words of four bytes of an int8 token stand in the panels of this machine: the distance of two, and
// of every fourth one.
template <bool Values>
struct word_step;
template <>
struct word_step<false> {
  static constexpr int32_t of_word = fixed::fixed_panel_order == 2 ? 4 : 64,
                           of_four = fixed::fixed_panel_order == 2 ? 64 : 256;
  static void put(unsigned char* to, uint32_t word) {
    __builtin_memcpy(__builtin_assume_aligned(to, 4), &word, sizeof word);
  }
};
// Zeros behind the last number of a value still fit the panel.
template <>
struct word_step<true> {
  static constexpr int32_t of_byte = fixed::fixed_panel_order == 2 ? 64 : 4, of_word = 4 * of_byte,
                           of_four = 1024;
  static void put(unsigned char* to, uint32_t word) {
    to[0] = static_cast<unsigned char>(word);
    to[of_byte] = static_cast<unsigned char>(word >> 8);
    to[2 * of_byte] = static_cast<unsigned char>(word >> 16);
    to[3 * of_byte] = static_cast<unsigned char>(word >> 24);
  }
};
// The first byte of a token in panels of this machine: key_at and value_at of place, 0.
constexpr ptrdiff_t key_begin(int32_t place, int32_t depth) {
  return fixed::fixed_panel_order == 2 ? static_cast<ptrdiff_t>(place & ~3) * depth + (place & 3) * 16
                                       : static_cast<ptrdiff_t>(place & ~15) * depth + (place & 15) * 4;
}
constexpr ptrdiff_t value_begin(int32_t place, int32_t width) {
  return static_cast<ptrdiff_t>(place & ~63) * width +
         (fixed::fixed_panel_order == 2 ? place & 63 : (place & 60) * 16 + (place & 3));
}
template <bool Values>
__attribute__((always_inline)) inline unsigned char* word_at(unsigned char* row, int32_t i) {
  using step = word_step<Values>;
  return row + i / 4 * step::of_four + i % 4 * step::of_word;
}
template <bool Values>
__attribute__((always_inline)) inline void put_word(unsigned char* row, int32_t i, uint32_t word) {
  word_step<Values>::put(word_at<Values>(row, i), word);
}

// A token from one image to another of the same shape, capacity aside.
void copy_token(const opened& to, const opened& from, int32_t token);

} // namespace fovea::cache
