// Numbers as text.
#pragma once
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace demo {

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
inline std::string
format(const char* pattern, ...) {
  va_list values, again;
  va_start(values, pattern);
  va_copy(again, values);
  std::string text(static_cast<size_t>(std::vsnprintf(nullptr, 0, pattern, again)), '\0');
  va_end(again);
  std::vsnprintf(text.data(), text.size() + 1, pattern, values);
  va_end(values);
  return text;
}

// Fixed decimals, and never a minus before a zero.
inline std::string number(double value, int decimals) {
  const std::string text = format("%.*f", decimals, value);
  const bool is_zero = text.find_first_of("123456789infa") == std::string::npos;
  return is_zero && text[0] == '-' ? text.substr(1) : text;
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

// ".42", "1.0": a weight in three columns.
inline std::string weight_text(double weight) {
  const std::string text = number(weight, 2);
  return text[0] == '0' ? text.substr(1) : text.substr(0, 3);
}

// "1 word", "2 words"
inline std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

} // namespace demo
