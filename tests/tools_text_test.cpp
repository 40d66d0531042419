// Text of the command line program: columns, clipping, wrapping, ASCII and numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tools/request.hpp"

using namespace demo;

TEST_CASE("tools: columns of UTF-8 text") {
  struct {
    const char* text;
    int columns;
    const char* why;
  } const rows[] = {
      {"", 0, "nothing"},
      {"cat", 3, "ASCII"},
      {"\u00E9teins", 6, "accent in one code point"},
      {"e\u0301", 1, "accent of its own"},
      {"\u732B", 2, "East Asian"},
      {"\U0001F408", 2, "emoji"},
      {"\u043A\u043E\u0442", 3, "Cyrillic"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(columns(row.text) == row.columns);
    CHECK(is_utf8(row.text));
  }
}

TEST_CASE("tools: what is no UTF-8") {
  for (const char* text : {"\xFF", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "a\x80"}) {
    CAPTURE(text);
    CHECK_FALSE(is_utf8(text));
  }
}

TEST_CASE("tools: clipping keeps to its room and never cuts a letter") {
  struct {
    const char* text;
    int room;
    const char* clipped;
    const char* why;
  } const rows[] = {
      {"astronomer", 10, "astronomer", "it fits"},
      {"astronomer", 6, "astro\u2026", "one column for the ellipsis"},
      {"\u732B\u732B\u732B", 5, "\u732B\u732B\u2026", "two columns each"},
      {"\u732B\u732B\u732B", 4, "\u732B\u2026", "half a letter does not fit"},
      {"cat", 1, "\u2026", "room for the ellipsis alone"},
      {"e\u0301e\u0301e\u0301", 2, "e\u0301\u2026", "an accent stays with its letter"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(clip(row.text, row.room) == row.clipped);
    CHECK(columns(clip(row.text, row.room)) <= row.room);
  }
  CHECK(pad_left("\u732B", 4) == "  \u732B");
  CHECK(centre("ab", 5) == " ab  ");
}

TEST_CASE("tools: colours take no column") {
  CHECK(columns("\x1b[38;5;16;48;5;227m .42 \x1b[0m") == 5);
  CHECK(pad_right("\x1b[1mab\x1b[0m", 4) == "\x1b[1mab\x1b[0m  ");
}

TEST_CASE("tools: wrapping keeps vectors together and cuts what is wider than a line") {
  CHECK(wrap("one two three", 7) == std::vector<std::string>{"one two", "three"});
  CHECK(wrap("bank [0.5 0.5] here", 10) == std::vector<std::string>{"bank", "[0.5 0.5]", "here"});
  CHECK(wrap("an extraordinarily long word", 8) ==
        std::vector<std::string>{"an", "extraor\u2026", "long", "word"});
  CHECK(wrap("", 10).empty());
  CHECK(split("[a b] c") == std::vector<std::string>{"[a", "b]", "c"}); // the words of a user
}

TEST_CASE("tools: ASCII in place of each letter, in as many columns") {
  struct {
    const char* text;
    const char* ascii;
    const char* why;
  } const rows[] = {
      {"cat \x1b[1m", "cat \x1b[1m", "ASCII stays"},
      {"\u2500\u2502\u2514\u2026", "-|+~", "lines and the ellipsis"},
      {"\u2591\u2592\u2593\u2588", ".+*#", "shades"},
      {"caf\u00E9", "caf?", "an accent in one code point"},
      {"cafe\u0301", "cafe", "an accent of its own"},
      {"\u732B\U0001F408", "????", "two columns each"},
      {"\xFF", "?", "no UTF-8"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(to_ascii(row.text) == row.ascii);
  }
}

TEST_CASE("tools: words of the command line are harmless and short inside a message") {
  CHECK(quote("--frob") == "\"--frob\"");
  CHECK(quote("\x1b[2J\xFF\u202E") == "\"?[2J??\"");
  CHECK(columns(quote(std::string(100000, 'w'))) == 42);
}

TEST_CASE("tools: numbers") {
  CHECK(number(-0.0001, 2) == "0.00");
  CHECK(number(-0.01, 2) == "-0.01");
  CHECK(number(std::nan(""), 2).substr(0, 1) != "");
  CHECK(short_number(2, 4) == "2");
  CHECK(short_number(0.5, 4) == "0.5");
  CHECK(short_number(10, 0) == "10");
  CHECK(tiny_number(1.83e-7) == "1.8e-7");
  CHECK(tiny_number(0) == "0");
  CHECK(counted(1, "word") == "1 word");
  CHECK(counted(2, "word") == "2 words");
  CHECK(weight_text(0.4223f) == ".42");
  CHECK(weight_text(1) == "1.0");
  CHECK(weight_text(0) == ".00");
}
