// Small tokenizers in llama2.c's format.
#pragma once
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "examples/stories/tokenizer.hpp"

namespace stories_tokenizer {

inline std::string le(uint32_t n) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(n >> 8 * i & 255);
  return bytes;
}

inline std::string piece(const std::string& text, float score) {
  uint32_t bits;
  std::memcpy(&bits, &score, sizeof bits);
  return le(bits) + le(static_cast<uint32_t>(text.size())) + text;
}

// Three marks, all bytes, and a few pieces: as llama2.c writes it.
inline std::string tokenizer_file(const std::vector<std::pair<std::string, float>>& pieces) {
  std::string file = le(7) + piece("<unk>", 0) + piece("\n<s>\n", 0) + piece("\n</s>\n", 0);
  const char* const digits = "0123456789ABCDEF";
  for (int byte = 0; byte < 256; ++byte)
    file += piece(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 0);
  for (const auto& one : pieces) file += piece(one.first, one.second);
  return file;
}

struct tokenizer {
  std::vector<unsigned char> bytes;
  std::vector<uint32_t> index;
  stories::vocabulary words;
  std::string refused;

  tokenizer(const std::string& file, int32_t count)
      : bytes(file.begin(), file.end()), index(2 * static_cast<size_t>(count)) {
    if (const stories::refusal r = words.read(bytes.data(), bytes.size(), count, index.data()))
      refused = r.why();
  }

  std::vector<int32_t> encode(const std::string& text) const {
    std::vector<int32_t> ids(text.size() + 2);
    ids.resize(static_cast<size_t>(words.encode(text, ids.data(), static_cast<int32_t>(ids.size()))));
    return ids;
  }
  std::string decode(const std::vector<int32_t>& ids) const {
    std::string text;
    char room[256];
    for (size_t i = 1; i < ids.size(); ++i)
      text.append(room, static_cast<size_t>(words.say(ids[i - 1], ids[i], room, sizeof room)));
    return text;
  }
};

inline const std::vector<std::pair<std::string, float>> pieces = {{" ", -5},  {"a", -1},   {"b", -2},
                                                                  {"c", -3},  {"ab", -4},  {"bc", -3.5f},
                                                                  {" a", -6}, {"abc", -7}, {"\u00e9", -8}};
constexpr int32_t piece_count = 259 + 9, first_piece = 259;

} // namespace stories_tokenizer
