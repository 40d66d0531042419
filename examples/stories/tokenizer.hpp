// Byte pairs: text to tokens and back, by the file tok512.bin of llama2.c, which is in memory:
//
//   int32 length of the longest piece | for each piece: float32 score, int32 length, its bytes
//
// A text begins as one token for each letter, or for each byte of a letter that is no piece. Then, again and
// again, the two neighbours whose joined piece has the highest score become one. No memory is allocated.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "minilm/refusal.hpp"

namespace stories {

using minilm::refusal;

constexpr int32_t begin_of_text = 1, end_of_text = 2, first_byte = 3; // bytes are tokens 3 to 258

class vocabulary {
 public:
  // `index`: two numbers for each of `words`. `file` and `index` must outlive the vocabulary.
  refusal read(const unsigned char* file, size_t size, int32_t words, uint32_t* index);

  int32_t size() const { return words_; }
  std::string_view piece(int32_t id) const;

  // begin_of_text and the tokens of `text` into ids[room]; -1 if there is no room for a token of each byte
  // and two more.
  int32_t encode(std::string_view text, int32_t* ids, int32_t room) const;

  // What a token says behind another one: up to `room` bytes, their number is returned.
  int32_t say(int32_t before, int32_t id, char* text, int32_t room) const;

 private:
  float score(int32_t id) const;
  int32_t find(std::string_view first, std::string_view second) const; // the two joined; -1: no piece

  const unsigned char* file_ = nullptr;
  int32_t words_ = 0;
  uint32_t* begins_ = nullptr; // where a piece begins in the file
  uint32_t* sorted_ = nullptr; // tokens in the order of their bytes
};

} // namespace stories
