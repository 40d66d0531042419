// Short texts without a C library: numbers, columns.
#pragma once
#include <cstdint>

namespace board {

class text {
 public:
  text() = default;
  explicit text(const char* words) { add(words); }

  text& add(const char* words) {
    while (*words) add(*words++);
    return *this;
  }
  text& add(char c) {
    if (length_ < room) characters_[length_++] = c;
    characters_[length_] = 0;
    return *this;
  }
  text& number(uint64_t value, int least_digits = 1) {
    char digits[20];
    int count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) > 0);
    while (count < least_digits) digits[count++] = '0';
    while (count > 0) add(digits[--count]);
    return *this;
  }
  text& thousandths(uint64_t value) { // 1234 is "1.234"
    return number(value / 1000).add('.').number(value % 1000, 3);
  }
  text& hex(uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) add("0123456789abcdef"[value >> shift & 15]);
    return *this;
  }
  text& left(const char* words, int width) {
    const int end = length_ + width;
    add(words);
    while (length_ < end) add(' ');
    return *this;
  }
  text& right(const text& words, int width) {
    for (int blanks = width - words.length_; blanks > 0; --blanks) add(' ');
    return add(words.characters_);
  }
  const char* words() const { return characters_; }

 private:
  static constexpr int room = 160;
  char characters_[room + 1] = {};
  int length_ = 0;
};

inline text decimal(uint64_t value) { return text().number(value); }

} // namespace board
