// Byte pairs (examples/stories): text to tokens and back, and files that are damaged.
#include "stories_tokenizer.hpp"

#include <doctest/doctest.h>

namespace {

using namespace stories_tokenizer;

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

} // namespace

TEST_CASE("stories: text becomes tokens, the best pair first, and text again") {
  const tokenizer t(tokenizer_file(pieces), piece_count);
  REQUIRE(t.refused == "");
  const auto byte = [](int value) { return stories::first_byte + value; };
  constexpr int32_t blank = first_piece, a = blank + 1, b = a + 1, bc = b + 3, blank_a = bc + 1,
                    e = blank_a + 2;
  struct {
    std::string text;
    std::vector<int32_t> ids;
    const char* why;
  } const rows[] = {
      {"", {1}, "nothing but the beginning"},
      {"b", {1, blank, b}, "a blank before each text"},
      {"a", {1, blank_a}, "joined with the blank"},
      {"abc", {1, blank_a, bc}, "the best score first: bc, then blank a; abc has no pair left"},
      {"bcbc", {1, blank, bc, bc}, "the first of equals, then the next"},
      {"\u00e9", {1, blank, e}, "a letter of two bytes"},
      {"\u00e8", {1, blank, byte(0xC3), byte(0xA8)}, "a letter that is no piece: its bytes"},
      {"\xff", {1, blank, byte(0xFF)}, "no letter at all"},
      {std::string(1, 0), {1, blank, byte(0)}, "a byte of 0"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(t.encode(row.text) == row.ids);
    CHECK(t.decode(row.ids) == row.text);
  }
  int32_t ids[3];
  CHECK(t.words.encode("ab", ids, 3) == -1);
  char room[2];
  CHECK(t.words.say(0, first_piece + 7, room, 2) == 2); // no more than there is room for
}

TEST_CASE("stories: damaged tokenizers") {
  const std::string file = tokenizer_file(pieces);
  for (size_t size = 0; size < file.size(); size += size < 3000 ? 97 : 1)
    CHECK(tokenizer(file.substr(0, size), piece_count).refused != "");
  struct {
    std::string file;
    int32_t count;
    const char* why;
  } const rows[] = {
      {file, piece_count + 1, "ends before its last piece"},
      {file, piece_count - 1, "more pieces than the model has words"},
      {file + "x", piece_count, "more pieces"},
      {le(7) + le(0) + le(256) + std::string(256, 'x'), 1, "longer than 255"},
      {le(7) + le(0) + le(0xFFFFFFFF), 1, "longer than 255"},
      {le(7) + le(0x7fc00000) + le(1) + "x", 1, "not a number"},
      {le(7) + le(0) + le(5) + "x", 1, "ends inside a piece"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(holds(tokenizer(row.file, row.count).refused, row.why));
  }
}
