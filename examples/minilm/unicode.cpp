// Lookups in the sorted tables that unicode_table.py makes.
//
// Accents are removed by canonical decomposition, but what remains is not put into canonical order: the only
// code points that could change places are combining characters that are kept. No vocabulary of BERT has
// one, so their word is unknown in either order. tools/check/tokenizer checks that.
#include "unicode.hpp"

#include <algorithm>
#include <iterator>

namespace minilm {
namespace {

struct code_range {
  uint32_t first, last;
};

// code = first + i * step becomes to + i * step, for i < count.
struct letter_run {
  uint32_t first;
  uint16_t count, step;
  uint32_t to;
};

struct letter_group {
  uint32_t code;
  uint32_t codes[3]; // unused ones are 0
};

#include "unicode_table.inc"

template <size_t N>
bool is_in(const code_range (&ranges)[N], uint32_t code) {
  const code_range* next = std::upper_bound(std::begin(ranges), std::end(ranges), code,
                                            [](uint32_t c, const code_range& r) { return c < r.first; });
  return next != ranges && code <= next[-1].last;
}

uint32_t small_letter(uint32_t code) {
  const letter_run* next = std::upper_bound(std::begin(letter_runs), std::end(letter_runs), code,
                                            [](uint32_t c, const letter_run& r) { return c < r.first; });
  if (next == letter_runs) return code;
  const letter_run& run = next[-1];
  const uint32_t distance = code - run.first;
  return distance % run.step == 0 && distance / run.step < run.count ? run.to + distance : code;
}

const letter_group* find_group(uint32_t code) {
  const letter_group* found = std::lower_bound(std::begin(letter_groups), std::end(letter_groups), code,
                                               [](const letter_group& g, uint32_t c) { return g.code < c; });
  return found != std::end(letter_groups) && found->code == code ? found : nullptr;
}

// Hangul syllables are numbered by their two or three letters.
constexpr uint32_t first_syllable = 0xAC00, syllables = 11172;

normal_form letters_of_syllable(uint32_t code) {
  constexpr uint32_t leading = 0x1100, vowel = 0x1161, trailing = 0x11A7, vowels = 21, trailings = 28;
  const uint32_t index = code - first_syllable, last = index % trailings;
  return {{leading + index / (vowels * trailings), vowel + index / trailings % vowels, trailing + last},
          last == 0 ? 2 : 3,
          false,
          false};
}

} // namespace

normal_form normalise(uint32_t code) {
  if (is_in(blank_ranges, code)) return {{}, 0, true, false};
  if (is_in(removed_ranges, code)) return {{}, 0, false, false};
  if (code - first_syllable < syllables) return letters_of_syllable(code);
  if (const letter_group* group = find_group(code))
    return {{group->codes[0], group->codes[1], group->codes[2]}, group->codes[2] == 0 ? 2 : 3, false, false};
  return {{small_letter(code)}, 1, false, is_in(cjk_ranges, code)};
}

bool is_punctuation(uint32_t code) { return is_in(punctuation_ranges, code); }

} // namespace minilm
