// Command-line flags: one table says what there is, parses what came, and prints the help.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "numbers.hpp"
#include "sentence.hpp"

namespace demo {

struct flag {
  std::string name;  // "--dim"
  std::string value; // what follows it, as the help calls it: "N"; empty: nothing follows
  std::string help;
};

using flags = std::map<std::string, std::string>; // what was given; a flag without a value maps to ""

inline const flag& find_flag(const std::vector<flag>& known, const std::string& name,
                             const std::string& command) {
  for (const flag& one : known)
    if (one.name == name) return one;
  if (name.rfind("-", 0) == 0)
    throw usage_error("there is no flag " + printable(name) + ": " + command + " --help lists all flags");
  throw usage_error(quote(name) + " is not a flag: " + command +
                    " --help lists all flags; put a sentence in quotes");
}

// A file, a folder or a name, which has at least one letter.
inline bool takes_a_name(const flag& one) {
  return one.value == "FILE" || one.value == "OUT" || one.value == "DIR" || one.value == "NAME";
}

// Both "--dim 16" and "--dim=16".
inline flags parse_flags(const std::vector<std::string>& arguments, const std::vector<flag>& known,
                         const std::string& command) {
  flags given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].rfind("--", 0) == 0 ? arguments[i].find('=') : std::string::npos;
    const std::string name = arguments[i] == "-h" ? "--help" : arguments[i].substr(0, equals);
    const flag& one = find_flag(known, name, command);
    if (given.count(name)) throw usage_error(name + " is given twice: keep one of them");
    if (one.value.empty() && equals != std::string::npos)
      throw usage_error(name + " takes no value: write " + name + " alone");
    if (one.value.empty() || equals != std::string::npos) {
      given[name] = one.value.empty() ? "" : arguments[i].substr(equals + 1);
    } else if (i + 1 == arguments.size() || arguments[i + 1].rfind("--", 0) == 0) {
      throw usage_error(name + " needs a value: write " + name + " " + one.value);
    } else {
      given[name] = arguments[++i];
    }
    if (given[name].empty() && takes_a_name(one))
      throw usage_error(name + " is empty: write " + name + " " + one.value);
  }
  return given;
}

inline std::string short_real(double value) { return format("%g", value); }

inline int64_t whole_number(const std::string& name, const std::string& text, int64_t low, int64_t high) {
  const bool digits = !text.empty() && text.size() < 16 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  const int64_t value = digits ? std::stoll(text) : -1;
  if (digits && low <= value && value <= high) return value;
  throw usage_error(name + " is " + quote(text) + ": give a whole number from " + std::to_string(low) +
                    " to " + std::to_string(high));
}

inline int64_t whole_number(const flags& given, const std::string& name, int64_t otherwise, int64_t low,
                            int64_t high) {
  return given.count(name) ? whole_number(name, given.at(name), low, high) : otherwise;
}

// Decimal, with a dot: "0.5", "-1e-3".
inline double real_number(const flags& given, const std::string& name, double otherwise, double low,
                          double high) {
  if (!given.count(name)) return otherwise;
  const std::string& text = given.at(name);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && text.size() < 64 && *end == 0 &&
                      text.find_first_not_of("0123456789.eE+-") == std::string::npos;
  if (number && low <= value && value <= high) return value;
  throw usage_error(name + " is " + quote(text) + ": give a number from " + short_real(low) + " to " +
                    short_real(high));
}

inline std::string flags_help(const std::vector<flag>& known) {
  int room = 0;
  for (const flag& one : known) room = std::max(room, columns(one.name + " " + one.value));
  std::string text;
  for (const flag& one : known)
    text += "  " + pad_right(one.name + " " + one.value, room) + "  " + one.help + "\n";
  return text;
}

} // namespace demo
