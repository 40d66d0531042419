// What the command line program reads and writes: arrays of numpy, headers of C, numbers of flags.
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "tools/arguments.hpp"
#include "tools/c_header.hpp"
#include "tools/npy.hpp"

using namespace demo;

namespace {

template <class Body>
std::string refusal_of(const Body& body) {
  try {
    body();
    return "";
  } catch (const usage_error& wrong) {
    return wrong.what();
  }
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A file with these bytes, for as long as the object lives.
struct temporary_file {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("fovea_tools_" + std::to_string(std::random_device()()) + ".npy"))
                         .string();
  explicit temporary_file(const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  ~temporary_file() { std::remove(path.c_str()); }
};

std::string why(const std::string& bytes) {
  const temporary_file file(bytes);
  return refusal_of([&] { read_npy("--q", file.path); });
}

} // namespace

TEST_CASE("tools: an array of numpy is read as it was written") {
  struct {
    std::vector<int32_t> shape;
    size_t count;
  } const rows[] = {{{2, 3}, 6}, {{5}, 5}, {{2, 0, 4}, 0}, {{}, 1}, {{1, 1, 1, 1, 1, 1, 1, 2}, 2}};
  for (const auto& row : rows) {
    std::vector<float> numbers(row.count);
    for (size_t i = 0; i < row.count; ++i) numbers[i] = 0.25f * static_cast<float>(i) - 1;
    const std::string text = npy_text(row.shape, numbers);
    CHECK((text.size() - 4 * row.count) % 64 == 0);
    const temporary_file file(text);
    const npy_array found = read_npy("--q", file.path);
    CHECK(found.shape == row.shape);
    CHECK(found.numbers == numbers);
  }
}

TEST_CASE("tools: halves of numpy, each that is finite, become floats exactly") {
  std::string bytes;
  std::vector<float> expected;
  for (int half = 0; half < 0x10000; half += 7) {
    if ((half & 0x7c00) == 0x7c00) continue;
    const int exponent = half >> 10 & 31, fraction = half & 0x3ff;
    float x = static_cast<float>(exponent ? 1024 + fraction : fraction) / 16777216;
    for (int i = 1; i < exponent; ++i) x *= 2;
    expected.push_back(half & 0x8000 ? -x : x);
    bytes += static_cast<char>(half & 255);
    bytes += static_cast<char>(half >> 8);
  }
  std::string text = npy_text({static_cast<int32_t>(expected.size())}, {});
  text.replace(text.find("<f4"), 3, "<f2");
  const temporary_file file(text + bytes);
  CHECK(read_npy("--q", file.path).numbers == expected);
}

TEST_CASE("tools: arrays that are damaged") {
  const std::string good = npy_text({2, 3}, std::vector<float>(6));
  for (size_t size = 0; size < good.size(); ++size) CHECK(why(good.substr(0, size)) != "");
  CHECK(holds(why(good + "x"), "its length is not that of its shape (2, 3)"));
  for (size_t at = 0; at < 75; ++at) // what is accepted has the numbers it says; all else is a sentence
    for (int value : {0, 39, 40, 41, 48, 57, 123, 255}) {
      std::string changed = good;
      changed[at] = static_cast<char>(value);
      const std::string sentence = why(changed);
      CHECK((sentence == "" || holds(sentence, "of --q: ")));
    }
}

TEST_CASE("tools: numbers of flags") {
  const auto number = [](const std::string& text) { return real_number({{"--x", text}}, "--x", 7, -10, 10); };
  CHECK(number("0.5") == 0.5);
  CHECK(number("-1e-3") == -0.001);
  CHECK(real_number({}, "--x", 7, -10, 10) == 7);
  for (const char* text : {"", "x", "1x", "nan", "inf", "0x1", "11", "-1e9", " 1", "1,5", "--1"}) {
    CAPTURE(text);
    CHECK(holds(refusal_of([&] { number(text); }), "give a number from -10 to 10"));
  }
}

TEST_CASE("tools: a header of C") {
  c_header header("About.");
  header.define("A", "{1, 2}");
  const unsigned char bytes[5] = {1, 2, 3, 4, 0xff};
  header.words("weights", bytes, sizeof bytes);
  const float numbers[3] = {1, -0.1f, 1e-30f};
  header.floats("x", numbers, 3);
  CHECK(header.text() ==
        "/* About. Include it in one file. */\n#include <stdint.h>\n\n#define A {1, 2}\n"
        "static const uint32_t weights[2] __attribute__((aligned(64))) = {\n0x04030201,0x000000ff,\n};\n"
        "static const float x[3] = {\n1.f, -0.100000001f, 1e-30f,\n};\n");
  CHECK(identifier_of("model.layers.0.up-proj") == "model_layers_0_up_proj");
  CHECK(identifier_of("0.weight") == "_0_weight");
  CHECK(identifier_of("caf\u00e9") == "caf__");
  CHECK(in_capitals("abc_1") == "ABC_1");
  for (const char* name : {"", "1a", "a b", "a-b"}) CHECK_FALSE(is_identifier(name));
  CHECK(is_identifier("_a1"));
}
