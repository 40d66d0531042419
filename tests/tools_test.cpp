// The command line program: text and tables line up, pictures and SVG say what the weights are, wrong
// arguments are explained.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tools/request.hpp"
#include "tools/svg.hpp"

using namespace demo;

namespace {

// The sentence with which these arguments of `fovea demo` are refused; "" when they are accepted.
std::string refusal(const std::vector<std::string>& arguments) {
  try {
    read_request(arguments);
    return "";
  } catch (const usage_error& wrong) {
    return wrong.what();
  }
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string many_words(int count) { return times("word ", count); }

heat_map two_by_three() {
  return {"title", {"one", "two"}, {"a", "b", "c"}, matrix(2, 3, {.5f, .3f, .2f, 0, 1, 0})};
}

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

} // namespace

TEST_CASE("tools: a table lines up, also with wide letters") {
  const table t{"Caption.", {"", "x", "longer"}, {{"cat", "1", "2"}, {"\u732B", "10", "-20"}}};
  const std::vector<std::string> lines = table_lines(t, 80);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] == "Caption.");
  CHECK(lines[1] == "        x  longer");
  CHECK(to_ascii(lines[2]) == "  ---------------");
  CHECK(lines[3] == "  cat   1       2");
  CHECK(columns(lines[4]) == columns(lines[3]));
}

TEST_CASE("tools: a table that is too wide continues below, with its first column") {
  table t{"", {"word"}, {{"a-word-that-is-longer-than-its-room"}}};
  for (int i = 0; i < 12; ++i) {
    t.head.push_back("column" + std::to_string(i));
    t.rows[0].push_back(std::to_string(i));
  }
  CHECK_FALSE(fits(t, 40));
  CHECK(fits(t, 16 + 2 + 10 * (2 + 7) + 2 * (2 + 8)));
  const std::vector<std::string> lines = table_lines(t, 40);
  CHECK(lines.size() == 3 * 6);
  for (const std::string& line : lines) CHECK(columns(line) <= 40);
  for (size_t i = 2; i < lines.size(); i += 3) CHECK(holds(lines[i], "a-word-that-is-\u2026"));
}

TEST_CASE("tools: a cell that is wider than the output is cut") {
  const table t{std::string(100, 'c'), {"word", std::string(100, 'h')}, {{"a", std::string(100, 'x')}}};
  for (const std::string& line : table_lines(t, 40)) CHECK(columns(line) <= 40);
  CHECK(holds(table_lines(t, 40).back(), "xx\u2026"));
  CHECK(table_lines({"", {"word"}, {{"alone"}}}, 40).size() == 3); // a table of one column
}

TEST_CASE("tools: a picture in shades, in ASCII, in colours") {
  const std::vector<heat_map> maps = {two_by_three()};
  const std::vector<std::string> shades = picture_lines(maps, 80, false);
  REQUIRE(shades.size() == 4);
  CHECK(holds(shades[3], "\u2588\u2588 1.0"));
  CHECK(holds(to_ascii(shades[2]), "one ++ .50 .. .30 .. .20"));
  CHECK(holds(to_ascii(shades[3]), "two    .00 ## 1.0    .00"));
  CHECK_FALSE(holds(shades[3], "\x1b"));
  const std::vector<std::string> colours = picture_lines(maps, 80, true);
  CHECK(count_of(colours[2], "\x1b[38;5;") == 3);
  CHECK(count_of(colours[2], ";48;5;") == 3);
  CHECK(count_of(colours[2], "\x1b[0m") == 3);
  for (const char* weight : {".50", ".30", ".20"}) CHECK(holds(colours[2], weight));
}

TEST_CASE("tools: pictures fit the width, whatever the number of words") {
  for (int words : {1, 2, 8, 9, 10, 11, 30, 60, 64}) {
    heat_map map{"", {}, {}, matrix(words, words)};
    for (int i = 0; i < words; ++i) map.queries.push_back("quite-a-word-" + std::to_string(i));
    map.keys = map.queries;
    for (int width : {40, 60, 80, 100, 200}) {
      for (bool colour : {false, true}) {
        CAPTURE(words);
        CAPTURE(width);
        for (const std::string& line : picture_lines({map, map}, width, colour))
          CHECK(columns(line) <= width);
      }
    }
  }
}

TEST_CASE("tools: a picture whose columns are too narrow for words numbers them") {
  heat_map map{"", {}, {}, matrix(12, 12)};
  for (int i = 0; i < 12; ++i) map.queries.push_back("word");
  map.keys = map.queries;
  struct {
    int width;
    const char *head, *row, *why;
  } const rows[] = {
      {84, " word  word ", " .00   .00 ", "6 columns a field: words"},
      {60, " 9   10  11  12", "12 word .00 .00 .00 ", "4: numbers"},
      {40, " 8 9 0 1 2", "12 word", "2: the last digit of a number, fields without their weights"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const std::vector<std::string> lines = picture_lines({map}, row.width, false);
    CHECK(holds(lines.front(), row.head));
    CHECK(holds(lines.back(), row.row));
  }
}

TEST_CASE("tools: pictures stand side by side as long as they fit") {
  const std::vector<heat_map> maps = {two_by_three(), two_by_three()};
  CHECK(picture_lines(maps, 80, true).size() == 4);     // 27 + 3 + 27 columns
  CHECK(picture_lines(maps, 57, true).size() == 4);     // exactly
  CHECK(picture_lines(maps, 56, true).size() == 4 + 5); // with an empty line between them
}

TEST_CASE("tools: colours rise with the weight and stay in range") {
  // Of the 256 colours of xterm, those from 16 on are 16 + 36 red + 6 green + blue, each from 0 to 5.
  const auto light = [](int colour) {
    const int red = (colour - 16) / 36, green = (colour - 16) / 6 % 6, blue = (colour - 16) % 6;
    return 0.2 * red + 0.7 * green + 0.1 * blue;
  };
  for (int i = 0; i <= 20; ++i) {
    const int colour = heat_colour(i / 10.0 - 0.5);
    CHECK((colour >= 16 && colour <= 231));
  }
  for (int i = 1; i <= 10; ++i) CHECK(light(heat_colour(i / 10.0)) > light(heat_colour((i - 1) / 10.0)));
}

TEST_CASE("tools: the SVG has a field and a number for each weight, and words are escaped") {
  heat_map map = two_by_three();
  map.keys[0] = "<a & \"b\">";
  const std::string svg = svg_document({{map, map}, {map}}, "weights");
  CHECK(svg.rfind("<svg ", 0) == 0);
  CHECK(holds(svg, "</svg>"));
  CHECK(count_of(svg, "<rect class=\"frame\"") == 18);
  CHECK(count_of(svg, ">.30</text>") == 3);
  CHECK(count_of(svg, "&lt;a &amp; &quot;b&quot;&gt;") == 3);
  CHECK(holds(svg, "prefers-color-scheme: dark"));
  CHECK(count_of(svg, "<g ") == count_of(svg, "</g>"));
}

TEST_CASE("tools: embeddings follow the spelling and the seed, not the place") {
  const matrix x = seeded_embeddings({"the", "cat", "the"}, 8, 7), y = seeded_embeddings({"cat"}, 8, 7),
               z = seeded_embeddings({"cat"}, 8, 8);
  for (int c = 0; c < 8; ++c) {
    CHECK(x.at(0, c) == x.at(2, c));
    CHECK(x.at(1, c) == y.at(0, c));
    CHECK(y.at(0, c) != z.at(0, c));
  }
  CHECK(x.at(0, 0) == doctest::Approx(0.718).epsilon(0.001)); // the same on every machine
}

TEST_CASE("tools: seeded numbers have mean 0 and variance 1") {
  uint64_t seed = 1;
  double sum = 0, squares = 0;
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double value = random_normal(seed);
    sum += value;
    squares += value * value;
  }
  CHECK(std::abs(sum / count) < 0.03);         // four times its own spread of 1 / sqrt(count)
  CHECK(std::abs(squares / count - 1) < 0.04); // the same, for sqrt(2 / count)
}

TEST_CASE("tools: what a request is by default") {
  const request asked = read_request({"--sentence", "the cat sat"});
  CHECK(asked.words == std::vector<std::string>{"the", "cat", "sat"});
  CHECK(asked.heads == 2);
  CHECK(asked.dim == 16);
  CHECK(asked.isa == FOVEA_ISA_BEST);
  CHECK_FALSE(asked.svg.has_value());
  CHECK(read_request({"--sentence=a b", "--heads=3"}).dim == 18); // the default dim follows the heads
  CHECK(read_request({"--help", "--no-speed"}).help);
}

TEST_CASE("tools: wrong arguments are refused with a sentence that says what to do") {
  struct {
    std::vector<std::string> arguments;
    const char* part; // of the sentence
  } const rows[] = {
      {{"--foo"}, "there is no flag --foo"},
      {{"the", "cat"}, "put a sentence in quotes"},
      {{"--sentence"}, "--sentence needs a value"},
      {{"--sentence", "--plain"}, "--sentence needs a value"},
      {{"--sentence", ""}, "has no word"},
      {{"--sentence", " \t\u00A0"}, "has no word"},
      {{"--sentence", "\xFF"}, "is not UTF-8"},
      {{"--sentence", "a\x1b[31mb"}, "control character"},
      {{"--sentence", "a\u202Eb"}, "control character"},
      {{"--sentence", "a\u2066b"}, "control character"},
      {{"--sentence", many_words(10000)}, "has 10000 words: give at most 64"},
      {{"\x1b[31m"}, "\"?[31m\" is not a flag"},
      {{"--\x1b[31m"}, "there is no flag --?[31m"},
      {{"--sentence", many_words(65)}, "has 65 words: give at most 64"},
      {{"--sentence", "a", "--second", ""}, "--second has no word"},
      {{"--sentence", "a", "--sentence", "b"}, "given twice"},
      {{"--sentence", "a", "--example", "1"}, "exclude each other"},
      {{"--second", "a"}, "needs a sentence"},
      {{"--heads", "2"}, "needs a sentence"},
      {{"--sentence", "a", "--word", "b"}, "no word of --sentence"},
      {{"--sentence", "a", "--heads", "0"}, "whole number from 1 to 16"},
      {{"--sentence", "a", "--heads", "17"}, "whole number from 1 to 16"},
      {{"--sentence", "a", "--heads", "two"}, "whole number from 1 to 16"},
      {{"--sentence", "a", "--heads", "-1"}, "whole number from 1 to 16"},
      {{"--sentence", "a", "--heads", ""}, "whole number from 1 to 16"},
      {{"--sentence", "a", "--dim", "1e9"}, "whole number from 1 to 1024"},
      {{"--sentence", "a", "--dim", "99999999999999999999"}, "whole number from 1 to 1024"},
      {{"--sentence", "a", "--dim", "16", "--heads", "3"}, "such as --dim 18"},
      {{"--sentence", "a", "--dim", "1024", "--heads", "15"}, "such as --dim 1020"},
      {{"--sentence", "a", "--seed", "1.5"}, "whole number"},
      {{"--isa", "sse9"}, "choose one of scalar"},
      {{"--plain", "--color"}, "exclude each other"},
      {{"--plain=yes"}, "takes no value"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.part);
    CHECK(holds(refusal(row.arguments), row.part));
  }
  CHECK(refusal({"--sentence", many_words(64)}) == "");
}

TEST_CASE("tools: the help lists every flag, aligned") {
  const std::string help = flags_help(demo_flags());
  for (const flag& one : demo_flags()) CHECK(holds(help, one.name));
  size_t from = 0, column = std::string::npos;
  for (size_t end; (end = help.find('\n', from)) != std::string::npos; from = end + 1) {
    const std::string line = help.substr(from, end - from);
    const size_t text = line.find_first_not_of(' ', line.find("  ", 2));
    if (column == std::string::npos) column = text;
    CHECK(text == column);
    CHECK(line.size() <= 100);
  }
}
