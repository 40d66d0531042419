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

// The first letter of a text that is not empty; a byte that belongs to no letter is `broken`.
inline letter first_letter(std::string_view text) {
  constexpr struct {
    unsigned char first, last; // of the byte that opens a letter
    size_t bytes;
    uint32_t least; // a longer spelling than needed is no UTF-8
  } forms[] = {{0, 0x7F, 1, 0}, {0xC2, 0xDF, 2, 0x80}, {0xE0, 0xEF, 3, 0x800}, {0xF0, 0xF4, 4, 0x10000}};
  const letter wrong{broken, text.substr(0, 1)};
  const auto open = static_cast<unsigned char>(text[0]);
  for (const auto& form : forms) {
    if (open < form.first || open > form.last) continue;
    if (text.size() < form.bytes) return wrong;
    uint32_t code = form.bytes == 1 ? open : open & (0x7Fu >> form.bytes);
    for (size_t i = 1; i < form.bytes; ++i) {
      const auto next = static_cast<unsigned char>(text[i]);
      if ((next & 0xC0) != 0x80) return wrong;
      code = code << 6 | (next & 0x3F);
    }
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    return code < form.least || code > 0x10FFFF || surrogate ? wrong
                                                             : letter{code, text.substr(0, form.bytes)};
  }
  return wrong;
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
  const std::vector<letter> all = letters(text);
  return std::none_of(all.begin(), all.end(), [](const letter& one) { return one.code == broken; });
}

struct code_range {
  uint32_t first, last;
};

template <size_t N>
bool in_ranges(uint32_t code, const code_range (&ranges)[N]) {
  return std::any_of(ranges, ranges + N, [&](code_range r) { return r.first <= code && code <= r.last; });
}

// Bytes that command a terminal, and marks that reverse or break the lines of Unicode text.
constexpr code_range controls[] = {{0, 0x1F}, {0x7F, 0x9F}, {0x2028, 0x202E}, {0x2066, 0x2069}};

inline bool is_printable(const letter& one) { return one.code != broken && !in_ranges(one.code, controls); }

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

inline int columns(const letter& one) {
  if (in_ranges(one.code, no_column)) return 0;
  return in_ranges(one.code, two_columns) ? 2 : 1;
}

// What a terminal moves on by; colours (ESC [ .. m) take no column.
inline int columns(std::string_view text) {
  int sum = 0;
  bool colour = false;
  for (const letter& one : letters(text)) {
    colour = colour || one.code == 0x1B;
    if (!colour) sum += columns(one);
    if (one.code == 'm') colour = false;
  }
  return sum;
}

inline std::string times(std::string_view piece, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += piece;
  return all;
}

inline std::string spaces(int count) { return times(" ", count); }

// At most `room` columns: a longer text is cut and ends with an ellipsis.
inline std::string clip(std::string_view text, int room) {
  if (columns(text) <= room) return std::string(text);
  std::string cut;
  int used = 1;
  for (const letter& one : letters(text)) {
    used += columns(one);
    if (used > room) break;
    cut += one.bytes;
  }
  return cut + "\u2026";
}

inline std::string pad_right(std::string_view text, int room) {
  return std::string(text) + spaces(room - columns(text));
}

inline std::string pad_left(std::string_view text, int room) {
  return spaces(room - columns(text)) + std::string(text);
}

inline std::string centre(std::string_view text, int room) {
  return pad_right(spaces((room - columns(text)) / 2) + std::string(text), room);
}

// The words between blanks. What stands in brackets can stay together: "[0.5 0.5]" is then one word.
inline std::vector<std::string> split(std::string_view text, bool keep_brackets = false) {
  constexpr code_range blanks[] = {{'\t', '\r'}, {' ', ' '}, {0xA0, 0xA0}, {0x3000, 0x3000}};
  std::vector<std::string> words;
  bool inside_word = false;
  int brackets = 0;
  for (const letter& one : letters(text)) {
    if (keep_brackets) brackets += (one.code == '[') - (one.code == ']');
    const bool blank = brackets == 0 && in_ranges(one.code, blanks);
    if (!blank && !inside_word) words.emplace_back();
    if (!blank) words.back() += one.bytes;
    inside_word = !blank;
  }
  return words;
}

// Lines of at most `width` columns; a word that is wider alone is cut.
inline std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  for (const std::string& whole : split(text, true)) {
    const std::string word = clip(whole, width);
    if (!lines.empty() && columns(lines.back()) + 1 + columns(word) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  }
  return lines;
}

// The same picture for a terminal that shows ASCII only: each letter keeps its columns.
inline std::string to_ascii(std::string_view text) {
  constexpr struct {
    uint32_t code;
    char ascii;
  } drawn[] = {{0x2500, '-'}, {0x2502, '|'}, {0x2514, '+'}, {0x2026, '~'},
               {0x2591, '.'}, {0x2592, '+'}, {0x2593, '*'}, {0x2588, '#'}};
  std::string plain;
  for (const letter& one : letters(text)) {
    const auto known = std::find_if(std::begin(drawn), std::end(drawn),
                                    [&](const auto& d) { return d.code == one.code; });
    if (one.code < 0x80)
      plain += one.bytes;
    else
      plain += times(known == std::end(drawn) ? "?" : std::string(1, known->ascii), columns(one));
  }
  return plain;
}

// A word of the command line inside a message: short, and harmless to a terminal.
inline std::string printable(std::string_view text) {
  std::string safe;
  for (const letter& one : letters(text.substr(0, 200))) safe += is_printable(one) ? one.bytes : "?";
  return clip(safe, 40);
}

inline std::string quote(std::string_view text) { return "\"" + printable(text) + "\""; }

// A bar of at most `room` columns.
inline std::string bar(double share, int room) {
  return times("\u2588", std::max(1, static_cast<int>(share * room + 0.5)));
}

} // namespace demo
