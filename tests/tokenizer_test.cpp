// WordPiece (examples/minilm): normalisation, longest tokens first, limits. tools/check/tokenizer compares
// whole lines with the reference.
#include "examples/minilm/tokenizer.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

#include "examples/minilm/unicode.hpp"

namespace {

using minilm::most_tokens;
using minilm::token_row;
using minilm::vocabulary;

const std::string small =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\na\n##a\nb\ncafe\n,\n\u6771\n\u4EAC\n!\n=\n";

// The tokens of a line between [CLS] and [SEP], with blanks between them.
std::string tokens(const std::string& line) {
  static const auto words = std::make_unique<vocabulary>();
  REQUIRE(!words->read(small));
  token_row row;
  tokenize(*words, line, row);
  REQUIRE(row.ids[0] == words->id_of(vocabulary::begin));
  REQUIRE(row.ids[row.count - 1] == words->id_of(vocabulary::end));
  std::string text;
  for (int i = 1; i < row.count - 1; ++i) text += (i > 1 ? " " : "") + std::string(words->word(row.ids[i]));
  return text;
}

std::string times(const std::string& piece, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += piece;
  return all;
}

} // namespace

TEST_CASE("tokenizer: lines") {
  struct {
    std::string line, expected;
    const char* why;
  } const rows[] = {
      {"", "", "nothing"},
      {" \t\u3000 ", "", "blanks"},
      {"unaffable", "un ##aff ##able", "the longest token first"},
      {"unaffables", "[UNK]", "all of a word or nothing"},
      {"Un, AFF", "un , [UNK]", "small letters; punctuation is a word"},
      {"CAF\u00C9 cafe\u0301", "cafe cafe", "accents, composed and not"},
      {"a\u6771\u4EAC"
       "b",
       "a \u6771 \u4EAC b", "ideographs are words"},
      {"a\u200B\u00AD"
       "a",
       "a ##a", "format characters are left out"},
      {"a\xFF"
       "a\xC3",
       "a ##a", "what is no UTF-8 is left out"},
      {"a\u2260"
       "b",
       "a = b", "punctuation that loses its accent"},
      {"a[MASK]b[SEP]", "a [MASK] b [SEP]", "special tokens"},
      {"[mask]", "[UNK] [UNK] [UNK]", "they are spelt in capitals"},
      {times("a", 100), "a" + times(" ##a", 99), "the longest word"},
      {times("a", 101), "[UNK]", "a longer word"},
      {times("\u00E9", 101), "[UNK]", "counted in letters"},
      {std::string("a\0a", 3), "a ##a", "a zero byte"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(tokens(row.line) == row.expected);
  }
}

TEST_CASE("tokenizer: at most 256 tokens") {
  const auto words = std::make_unique<vocabulary>();
  REQUIRE(!words->read(small));
  for (int count : {253, 254, 255, 100000}) {
    token_row row;
    tokenize(*words, times("a ", count), row);
    CAPTURE(count);
    CHECK(row.count == std::min(count + 2, most_tokens));
    CHECK(row.is_cut == (count > 254));
    CHECK(row.ids[row.count - 1] == words->id_of(vocabulary::end));
  }
}

TEST_CASE("tokenizer: vocabularies that are refused") {
  const auto words = std::make_unique<vocabulary>();
  std::string many;
  for (int i = 0; i <= vocabulary::most_words; ++i) many += std::to_string(i) + "\n";
  struct {
    std::string text;
    const char* sentence;
  } const rows[] = {
      {"", "the vocabulary lacks a token that the model needs"},
      {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "the vocabulary lacks a token that the model needs"},
      {small + "un\n", "a token stands twice in the vocabulary"},
      {small + std::string(256, 'x'), "a token is longer than 255 bytes"},
      {many, "the vocabulary has more than 32,768 tokens"},
  };
  for (const auto& row : rows) {
    const minilm::refusal refused = words->read(row.text);
    REQUIRE(refused);
    CHECK(std::string(refused.why()) == row.sentence);
  }
  CHECK(!words->read("[PAD]\r\n[UNK]\r\n[CLS]\r\n[SEP]\r\n[MASK]"));
  CHECK(words->word(4) == "[MASK]");
}

TEST_CASE("tokenizer: a vocabulary that cuts letters into bytes") {
  const auto words = std::make_unique<vocabulary>();
  const std::string text = small + "\xF0\n##\xF0\n##\x9F\n##\x98\n##\x80\n";
  REQUIRE(!words->read(text));
  token_row row;
  tokenize(*words, times("\U0001F600", 100), row);
  CHECK(row.count == most_tokens);
  CHECK(row.is_cut);
}

TEST_CASE("tokenizer: code points") {
  const auto codes = [](uint32_t code) {
    const minilm::normal_form form = minilm::normalise(code);
    std::string text = form.is_blank ? "blank" : form.is_ideograph ? "apart" : "";
    for (int i = 0; i < form.count; ++i) text += " " + std::to_string(form.codes[i]);
    return text;
  };
  CHECK(codes('A') == " 97");
  CHECK(codes(0x1E9E) == " 223");            // the capital sharp s
  CHECK(codes(0x130) == " 105");             // I with a dot
  CHECK(codes(0xAC01) == " 4352 4449 4520"); // a syllable of three letters
  CHECK(codes(0xAC00) == " 4352 4449");
  CHECK(codes(0x301) == "");
  CHECK(codes(0xF900) == "apart 35912"); // the ideograph that it repeats
  CHECK(codes(0x10FFFF) == " 1114111");
  CHECK(codes(0x2028) == "blank");
}
