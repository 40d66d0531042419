// Words as a terminal shows them: UTF-8 in, columns out. Pure functions, no locale.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace demo {

struct letter {
  uint32_t code;          // the code point, or `broken`
  std::string_view bytes; // what it is written as
};

constexpr uint32_t broken = 0xFFFFFFFF;

// How many bytes a letter has that opens with this byte; 0 when no letter does.
inline int letter_bytes(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

inline letter first_letter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const int bytes = letter_bytes(byte(0));
  const letter wrong{broken, text.substr(0, 1)};
  if (bytes == 0 || text.size() < static_cast<size_t>(bytes)) return wrong;
  uint32_t code = bytes == 1 ? byte(0) : byte(0) & (0x7Fu >> bytes);
  for (int i = 1; i < bytes; ++i) {
    if ((byte(static_cast<size_t>(i)) & 0xC0) != 0x80) return wrong;
    code = code << 6 | (byte(static_cast<size_t>(i)) & 0x3F);
  }
  const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // a longer spelling than needed is no UTF-8
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < least[bytes] || code > 0x10FFFF || surrogate) return wrong;
  return {code, text.substr(0, static_cast<size_t>(bytes))};
}

inline std::vector<letter> letters(std::string_view text) {
  std::vector<letter> all;
  while (!text.empty()) {
    all.push_back(first_letter(text));
    text.remove_prefix(all.back().bytes.size());
  }
  return all;
}

inline bool is_utf8(std::string_view text) {
  const auto all = letters(text);
  return std::none_of(all.begin(), all.end(), [](const letter& one) { return one.code == broken; });
}

inline bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E);
}

struct code_range {
  uint32_t first, last;
};

// Accents and joiners stand on the letter before them.
constexpr code_range no_column[] = {{0x0300, 0x036F}, {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A},
                                    {0x064B, 0x065F}, {0x093C, 0x093C},  {0x0941, 0x0948}, {0x094D, 0x094D},
                                    {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},  {0x0E47, 0x0E4E}, {0x1AB0, 0x1AFF},
                                    {0x1DC0, 0x1DFF}, {0x200B, 0x200F},  {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                    {0xFE20, 0xFE2F}, {0x1F3FB, 0x1F3FF}};

// East Asian scripts and emoji take two.
constexpr code_range two_columns[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
    {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F3FA}, {0x1F400, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <size_t N>
bool in_ranges(uint32_t code, const code_range (&ranges)[N]) {
  return std::any_of(ranges, ranges + N, [&](code_range r) { return r.first <= code && code <= r.last; });
}

inline int columns(const letter& one) {
  if (in_ranges(one.code, no_column)) return 0;
  return in_ranges(one.code, two_columns) ? 2 : 1;
}

inline int columns(std::string_view text) {
  int sum = 0;
  for (const letter& one : letters(text)) sum += columns(one);
  return sum;
}

inline std::string times(std::string_view piece, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += piece;
  return all;
}

inline std::string spaces(int count) { return std::string(static_cast<size_t>(std::max(count, 0)), ' '); }

// At most `room` columns: a longer text ends with the ellipsis.
inline std::string clip(std::string_view text, int room, std::string_view ellipsis) {
  if (columns(text) <= room) return std::string(text);
  const int keep = room - columns(ellipsis);
  std::string cut;
  int used = 0;
  for (const letter& one : letters(text)) {
    if (used + columns(one) > keep) break;
    used += columns(one);
    cut += one.bytes;
  }
  return keep >= 0 ? cut + std::string(ellipsis) : spaces(room);
}

inline std::string pad_right(std::string_view text, int room) {
  return std::string(text) + spaces(room - columns(text));
}
inline std::string pad_left(std::string_view text, int room) {
  return spaces(room - columns(text)) + std::string(text);
}

inline std::string centre(std::string_view text, int room) {
  const int left = std::max(0, (room - columns(text)) / 2);
  return pad_right(spaces(left) + std::string(text), room);
}

inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  bool open = false;
  for (const letter& one : letters(text)) {
    const bool gap = one.code == ' ' || (one.code >= '\t' && one.code <= '\r') || one.code == 0xA0 ||
                     one.code == 0x3000;
    if (!gap && !open) words.emplace_back();
    if (!gap) words.back() += one.bytes;
    open = !gap;
  }
  return words;
}

// Words, with what stands in brackets kept together: "[0.5 0.5]" is one.
inline std::vector<std::string> split_outside_brackets(std::string_view text) {
  std::vector<std::string> pieces;
  bool open = false;
  for (const std::string& word : split(text)) {
    if (open)
      pieces.back() += " " + word;
    else
      pieces.push_back(word);
    const size_t opened = pieces.back().rfind('['), closed = pieces.back().rfind(']');
    open = opened != std::string::npos && (closed == std::string::npos || closed < opened);
  }
  return pieces;
}

inline std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  for (const std::string& word : split_outside_brackets(text)) {
    const bool fits = !lines.empty() && columns(lines.back()) + 1 + columns(word) <= width;
    if (fits)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

} // namespace demo
