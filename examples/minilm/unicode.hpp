// What BERT's uncased normalisation makes of a code point: small letters without accents, ideographs and
// punctuation apart from their neighbours, controls removed.
#pragma once
#include <cstdint>

namespace minilm {

struct normal_form {
  uint32_t codes[3]; // the code points that stand for one
  int count;         // 0: it is removed, or a blank
  bool is_blank;     // it ends a word
  bool is_ideograph; // a word of its own
};

normal_form normalise(uint32_t code);

// Of a normalised code point: a word of its own.
bool is_punctuation(uint32_t code);

} // namespace minilm
