// WordPiece as BERT's uncased models use it: a line of text becomes the numbers of its tokens. No memory is
// allocated; a vocabulary is an index over the text of vocab.txt, which stays where it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "refusal.hpp"

namespace minilm {

constexpr int most_tokens = 256; // of a line, with [CLS] and [SEP]

class vocabulary {
 public:
  static constexpr int most_words = 32768;

  // One token a line, whose number is that of its line, from 0 on. `text` must outlive the vocabulary.
  refusal read(std::string_view text);

  int32_t size() const { return size_; }
  std::string_view word(int32_t id) const; // "##ing" for a token that continues a word
  // -1: not there. `continues`: what is found is "##" + letters.
  int32_t find(std::string_view letters, bool continues) const;
  size_t longest() const { return longest_; } // bytes of the longest token

  // Tokens with a meaning to the model. In a text they are read as what they are.
  enum special { pad, unknown, begin, end, mask, specials };
  static constexpr std::string_view special_names[specials] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
  int32_t id_of(special which) const { return special_ids_[which]; }

 private:
  static constexpr uint32_t slots = 65536; // a power of two, at least twice most_words
  static constexpr uint16_t free_slot = 0xFFFF;

  std::string_view text_;
  size_t longest_ = 0;
  int32_t size_ = 0;
  int32_t special_ids_[specials] = {};
  uint32_t begins_[most_words];
  uint8_t lengths_[most_words];
  uint16_t ids_[slots]; // open addressing
};

struct token_row {
  int32_t ids[most_tokens];
  int count;
  bool is_cut; // the line had more
};

// [CLS] tokens [SEP]. What is no UTF-8 is left out.
void tokenize(const vocabulary& words, std::string_view line, token_row& row);

} // namespace minilm
