// How output may look: its width, and whether blocks and colours are welcome. Decided once (terminal.cpp),
// obeyed everywhere.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "text.hpp"

namespace demo {

constexpr int indent = 2; // of tables and pictures

enum class colours { none, cube, full }; // none, the 256 colours of xterm, 24 bits

struct style {
  int width = 80;
  bool blocks = false; // Unicode shades and rules; else ASCII
  colours paint = colours::none;

  std::string ellipsis() const { return blocks ? "\u2026" : ".."; }
  std::string rule(int length) const { return times(blocks ? "\u2500" : "-", length); }
};

// Fixed decimals, and never a minus before a zero.
inline std::string number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  const bool is_zero = std::string(text).find_first_of("123456789infa") == std::string::npos;
  return is_zero && text[0] == '-' ? text + 1 : text;
}

// "2", "0.5", "0.4223": as many of `decimals` as the value needs.
inline std::string short_number(double value, int decimals) {
  std::string text = number(value, decimals);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// "2.4e-8"
inline std::string tiny_number(double value) {
  if (value <= 0) return "0";
  const int power = static_cast<int>(std::floor(std::log10(value)));
  return number(value / std::pow(10.0, power), 1) + "e" + std::to_string(power);
}

// "1 word", "2 words"
inline std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// ".42", "1.0": a weight in three columns.
inline std::string weight_text(double weight) {
  const std::string text = number(weight, 2);
  return text[0] == '0' ? text.substr(1) : text.substr(0, 3);
}

} // namespace demo
