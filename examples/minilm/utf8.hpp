// One code point of UTF-8 after another.
#pragma once
#include <cstdint>

namespace minilm {

constexpr uint32_t not_utf8 = 0xFFFFFFFF;

struct code_point {
  uint32_t code; // or not_utf8: then `bytes` is 1
  int bytes;
};

// begin < end. Longer spellings than needed, surrogates and numbers above 0x10FFFF are no UTF-8.
inline code_point first_code_point(const char* begin, const char* end) {
  const auto first = static_cast<unsigned char>(*begin);
  if (first < 0x80) return {first, 1};
  const int bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || end - begin < bytes) return {not_utf8, 1};
  uint32_t code = first & (0x7Fu >> bytes);
  for (int i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(begin[i]);
    if ((next & 0xC0) != 0x80) return {not_utf8, 1};
    code = code << 6 | (next & 0x3Fu);
  }
  const uint32_t least = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < least || code > 0x10FFFF || surrogate) return {not_utf8, 1};
  return {code, bytes};
}

// Writes up to 4 bytes and returns how many.
inline int write_utf8(uint32_t code, char* out) {
  const int bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  constexpr uint32_t marks[5] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (int i = bytes - 1; i > 0; --i) {
    out[i] = static_cast<char>(0x80 | (code & 0x3F));
    code >>= 6;
  }
  out[0] = static_cast<char>(marks[bytes] | code);
  return bytes;
}

} // namespace minilm
