// Numbers as a C header: arrays of constants for flash.
#pragma once
#include <cstring>
#include <string>

#include "numbers.hpp"
#include "sentence.hpp"

namespace demo {

inline bool is_identifier(const std::string& name) {
  const char* const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && name.size() <= 100 && name.find_first_not_of(letters) == std::string::npos &&
         (name[0] < '0' || name[0] > '9');
}

// "model.layers.0.weight" as a name of C.
inline std::string identifier_of(const std::string& name) {
  std::string safe;
  for (char letter : name) safe += is_identifier(std::string("x") + letter) ? letter : '_';
  return is_identifier(safe.substr(0, 1)) ? safe : "_" + safe;
}

inline std::string in_capitals(std::string name) {
  for (char& letter : name)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return name;
}

class c_header {
 public:
  explicit c_header(const std::string& about) {
    text_ = "/* " + about + " Include it in one file. */\n#include <stdint.h>\n\n";
  }

  void define(const std::string& name, const std::string& value) {
    text_ += "#define " + name + " " + value + "\n";
  }
  void line(const std::string& words) { text_ += words + "\n"; }

  // Bytes as words, lowest byte first, at a multiple of 64.
  void words(const std::string& name, const unsigned char* bytes, size_t size) {
    const size_t count = (size + 3) / 4;
    text_ += format("static const uint32_t %s[%zu] __attribute__((aligned(64))) = {\n", name.c_str(), count);
    text_.reserve(text_.size() + 11 * count + count / 8 + 16);
    for (size_t i = 0; i < count; ++i) {
      unsigned char four[4] = {};
      std::memcpy(four, bytes + 4 * i, size - 4 * i < 4 ? size - 4 * i : 4);
      append_hex(static_cast<uint32_t>(four[0]) | static_cast<uint32_t>(four[1]) << 8 |
                 static_cast<uint32_t>(four[2]) << 16 | static_cast<uint32_t>(four[3]) << 24);
      text_ += i % 8 == 7 || i + 1 == count ? ",\n" : ",";
    }
    text_ += "};\n";
  }

  // Nine digits give each float back as it was.
  void floats(const std::string& name, const float* numbers, size_t count) {
    text_ += format("static const float %s[%zu] = {\n", name.c_str(), count);
    for (size_t i = 0; i < count; ++i) {
      std::string digits = format("%.9g", static_cast<double>(numbers[i]));
      if (digits.find_first_of(".e") == std::string::npos) digits += ".";
      text_ += digits + (i % 8 == 7 || i + 1 == count ? "f,\n" : "f, ");
    }
    text_ += "};\n";
  }

  const std::string& text() const { return text_; }

 private:
  void append_hex(uint32_t word) {
    const char* const digits = "0123456789abcdef";
    text_ += "0x";
    for (int shift = 28; shift >= 0; shift -= 4) text_ += digits[word >> shift & 15];
  }

  std::string text_;
};

} // namespace demo
