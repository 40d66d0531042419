// Pieces stay in the file; an index in their order finds them.
#include "tokenizer.hpp"

#include <algorithm>
#include <cstring>

#include "minilm/utf8.hpp"

namespace stories {
namespace {

constexpr size_t before_piece = 8; // score and length
constexpr uint32_t longest_piece = 255;

uint32_t number_at(const unsigned char* at) { // pieces have any length, so nothing is aligned
  return at[0] | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
         static_cast<uint32_t>(at[3]) << 24;
}

int compare(std::string_view piece, std::string_view first, std::string_view second) {
  const int begin = piece.substr(0, first.size()).compare(first);
  return begin != 0 ? begin : piece.substr(first.size()).compare(second);
}

int digit(char letter) {
  return letter >= '0' && letter <= '9'   ? letter - '0'
         : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                          : -1;
}

// "<0x0A>" stands for a byte.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>') return -1;
  const int high = digit(piece[3]), low = digit(piece[4]);
  return high < 0 || low < 0 ? -1 : 16 * high + low;
}

} // namespace

refusal vocabulary::read(const unsigned char* file, size_t size, int32_t words, uint32_t* index) {
  words_ = 0;
  if (size < 4 || size > 0x7fffffff) return {"the file is no tokenizer of llama2.c", {}};
  size_t at = 4;
  for (int32_t id = 0; id < words; ++id) {
    if (size - at < before_piece) return {"the file ends before its last piece: fetch it again", {}};
    const uint32_t score = number_at(file + at), length = number_at(file + at + 4);
    if ((score & 0x7f800000u) == 0x7f800000u)
      return {"a score is infinite or not a number: fetch the file again", {}};
    if (length > longest_piece) return {"a piece is longer than 255 bytes: fetch the file again", {}};
    if (size - at - before_piece < length) return {"the file ends inside a piece: fetch it again", {}};
    index[id] = static_cast<uint32_t>(at);
    at += before_piece + length;
  }
  if (at != size) return {"the file has more pieces than the model has words: both must belong together", {}};
  file_ = file;
  words_ = words;
  begins_ = index;
  sorted_ = index + words;
  for (int32_t id = 0; id < words; ++id) sorted_[id] = static_cast<uint32_t>(id);
  std::sort(sorted_, sorted_ + words, [this](uint32_t a, uint32_t b) {
    const int order = piece(static_cast<int32_t>(a)).compare(piece(static_cast<int32_t>(b)));
    return order != 0 ? order < 0 : a < b;
  });
  return {};
}

std::string_view vocabulary::piece(int32_t id) const {
  const unsigned char* const at = file_ + begins_[id];
  return {reinterpret_cast<const char*>(at + before_piece), number_at(at + 4)};
}

float vocabulary::score(int32_t id) const {
  const uint32_t bits = number_at(file_ + begins_[id]);
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

int32_t vocabulary::find(std::string_view first, std::string_view second) const {
  const uint32_t* const end = sorted_ + words_;
  const uint32_t* const found = std::lower_bound(
      sorted_, const_cast<uint32_t*>(end), 0,
      [&](uint32_t id, int) { return compare(piece(static_cast<int32_t>(id)), first, second) < 0; });
  if (found == end || compare(piece(static_cast<int32_t>(*found)), first, second) != 0) return -1;
  return static_cast<int32_t>(*found);
}

int32_t vocabulary::encode(std::string_view text, int32_t* ids, int32_t room) const {
  if (room < 2 || text.size() > static_cast<size_t>(room - 2)) return -1;
  int32_t count = 0;
  ids[count++] = begin_of_text;
  const int32_t blank = find(" ", {});
  if (!text.empty() && blank >= 0) ids[count++] = blank; // each text begins as if a blank were before it
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    const int bytes = minilm::first_code_point(at, end).bytes;
    const int32_t whole = find({at, static_cast<size_t>(bytes)}, {});
    if (whole >= 0) ids[count++] = whole;
    for (int i = 0; whole < 0 && i < bytes; ++i) {
      const int32_t id = first_byte + static_cast<unsigned char>(at[i]);
      if (id < words_) ids[count++] = id;
    }
    at += bytes;
  }
  for (;;) {
    int32_t best = -1, best_at = -1;
    for (int32_t i = 0; i + 1 < count; ++i) {
      const int32_t joined = find(piece(ids[i]), piece(ids[i + 1]));
      if (joined < 0 || (best >= 0 && score(joined) <= score(best))) continue;
      best = joined;
      best_at = i;
    }
    if (best < 0) return count;
    ids[best_at] = best;
    std::copy(ids + best_at + 2, ids + count, ids + best_at + 1);
    --count;
  }
}

int32_t vocabulary::say(int32_t before, int32_t id, char* text, int32_t room) const {
  std::string_view said = piece(id);
  if (before == begin_of_text && !said.empty() && said[0] == ' ') said.remove_prefix(1);
  const int byte = byte_of(said);
  const char alone = static_cast<char>(byte);
  if (byte >= 0) said = {&alone, 1};
  const size_t length = std::min(said.size(), static_cast<size_t>(room));
  std::copy_n(said.data(), length, text);
  return static_cast<int32_t>(length);
}

} // namespace stories
