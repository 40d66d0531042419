// Lays out the table. Times of an emulator stand in brackets.
#include "boards.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace bench {
namespace {

constexpr size_t least_width = 12, name_width = 35, label_width = 18;

std::string text_of(const saved_object& o, const char* name) { // empty = null or missing
  const auto found = o.find(name);
  return found == o.end() || found->second == "null" ? "" : found->second;
}

double number_of(const saved_object& o, const char* name) { // 0 = null, missing or no number
  const std::string text = text_of(o, name);
  return text.empty() ? 0 : std::atof(text.c_str());
}

// Multiply-adds of attention: one for each element of a key or value, for each query that sees it. Other
// works have 0.
double macs_of(const saved_object& o) {
  const double queries = number_of(o, "queries"), keys = number_of(o, "keys");
  const double pairs = text_of(o, "causal") == "true"
                           ? queries * (keys - queries) + queries * (queries + 1) / 2
                           : queries * keys;
  return 2 * pairs * number_of(o, "dim") * number_of(o, "q_heads");
}

std::string printed(const char* how, double x) {
  char text[48];
  std::snprintf(text, sizeof text, how, x);
  return text;
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? printed("%.3g us", seconds * 1e6)
         : seconds < 1  ? printed("%.3g ms", seconds * 1e3)
                        : printed("%.3g s", seconds);
}

// Cycles say more than a time that follows from them, and instructions are all that an emulated board has.
std::string cell_of(const saved_object& o, bool per_mac) {
  const double macs = macs_of(o), cycles = number_of(o, "cycles"),
               instructions = number_of(o, "instructions"), seconds = number_of(o, "seconds");
  if (per_mac && macs <= 0) return "-";
  const auto value = [&](double count, const char* unit) {
    return per_mac ? printed("%.3f ", count / macs) + unit : printed("%.0f ", count) + unit;
  };
  if (cycles > 0) return value(cycles, "cyc");
  if (instructions > 0) return value(instructions, "ins");
  if (seconds <= 0) return "-";
  const std::string time = per_mac ? printed("%.4f ns", seconds * 1e9 / macs) : time_text(seconds);
  return text_of(o, "emulated") == "true" ? "(" + time + ")" : time;
}

// SSE4.1 and scalar code without fma have bits of their own, and so has armv7 NEON; of floats, that is.
bool promises_bits(const saved_object& o) {
  const std::string isa = text_of(o, "isa");
  for (const char* own : {"sse4.1", "sse41", "scalar-no-fma", "scalar_no_fma", "neon"})
    if (isa == own) return false;
  return true;
}

std::string label_of(const saved_object& o) {
  const std::string board = text_of(o, "board");
  return board.empty() ? text_of(o, "cpu") : board;
}

std::string isa_of(const saved_object& o) {
  const double threads = number_of(o, "threads");
  return text_of(o, "isa") + (threads > 1 ? printed(" x%.0f", threads) : "");
}

std::string clipped(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

struct column {
  size_t file;
  std::string isa;
  const saved_object* first;
  std::map<std::string, const saved_object*> results; // by the name of the work
  size_t width = least_width;
};

struct whole_table {
  std::vector<column> columns;
  std::vector<std::string> works; // in the order in which the files name them

  void add(size_t file, const saved_object& o) {
    const std::string isa = isa_of(o), scratch = text_of(o, "scratch");
    const std::string work = text_of(o, "work") +
                             (scratch.empty() || scratch == "best" ? "" : ", scratch " + scratch);
    auto at = std::find_if(columns.begin(), columns.end(),
                           [&](const column& c) { return c.file == file && c.isa == isa; });
    if (at == columns.end()) at = columns.insert(at, {file, isa, &o, {}});
    at->results[work] = &o;
    if (std::find(works.begin(), works.end(), work) == works.end()) works.push_back(work);
  }
};

std::string padded_left(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

std::string padded_right(const std::string& text, size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

// "same", "DIFFER", or empty where only one result promises its bits.
std::string bits_of(const whole_table& t, const std::string& work) {
  std::string first;
  bool compared = false;
  for (const column& c : t.columns) {
    const auto found = c.results.find(work);
    if (found == c.results.end() || !promises_bits(*found->second)) continue;
    const std::string digest = text_of(*found->second, "digest");
    if (digest.empty()) continue;
    if (!first.empty() && digest != first) return "DIFFER";
    compared = !first.empty();
    first = digest;
  }
  return compared ? "same" : "";
}

std::string legend_of(size_t number, const column& c, const std::string& path) {
  const saved_object& o = *c.first;
  const auto part = [&](const char* name, const char* before, const char* after = "") {
    const std::string text = text_of(o, name);
    return text.empty() ? "" : before + text + after;
  };
  const std::string board = text_of(o, "board");
  return "[" + std::to_string(number) + "] " + (board.empty() ? "" : board + ": ") + text_of(o, "cpu") +
         ", " + c.isa + part("fovea", "; fovea ") + part("compiler", ", ") +
         (text_of(o, "date").empty() ? "" : ", " + text_of(o, "date").substr(0, 10)) +
         part("clock_mhz", ", ", " MHz") + part("temperature_c", ", ", " C") +
         (text_of(o, "emulated") == "true" ? ", emulated: says nothing about the board's time" : "") + " (" +
         path + ")\n";
}

void check(const machine_file& f) {
  for (const saved_object& o : f.results) {
    if (text_of(o, "work").empty() || text_of(o, "isa").empty())
      throw saved_error(f.path + " has a result without \"work\" or \"isa\"; write it anew with --json");
    if (!text_of(o, "second").empty())
      throw saved_error(f.path + " is a sustained run, which has no table; give a run without --sustained");
    if (number_of(o, "seconds") <= 0 && number_of(o, "cycles") <= 0 && number_of(o, "instructions") <= 0)
      throw saved_error(f.path + ": " + text_of(o, "work") +
                        " has neither seconds nor cycles nor instructions");
  }
}

} // namespace

boards_text boards_side_by_side(const std::vector<machine_file>& files, bool per_mac) {
  whole_table t;
  for (size_t i = 0; i < files.size(); ++i) {
    check(files[i]);
    for (const saved_object& o : files[i].results) t.add(i, o);
  }
  std::string head = padded_right("", name_width), isas = padded_right("work", name_width);
  for (size_t i = 0; i < t.columns.size(); ++i) {
    column& c = t.columns[i];
    const std::string label = "[" + std::to_string(i + 1) + "] " + clipped(label_of(*c.first), label_width);
    c.width = std::max({least_width, label.size(), c.isa.size()});
    for (const auto& [work, o] : c.results) c.width = std::max(c.width, cell_of(*o, per_mac).size());
    head += "  " + padded_left(label, c.width);
    isas += "  " + padded_left(c.isa, c.width);
  }
  boards_text found{head + "\n" + isas + "  bits\n", true};
  for (const std::string& work : t.works) {
    std::string line = padded_right(work, name_width);
    for (const column& c : t.columns) {
      const auto at = c.results.find(work);
      line += "  " + padded_left(at == c.results.end() ? "" : cell_of(*at->second, per_mac), c.width);
    }
    const std::string bits = bits_of(t, work);
    if (bits == "DIFFER") found.same_bits = false;
    line += bits.empty() ? "" : "  " + bits;
    found.table += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  found.table += "\n";
  for (size_t i = 0; i < t.columns.size(); ++i)
    found.table += legend_of(i + 1, t.columns[i], files[t.columns[i].file].path);
  return found;
}

} // namespace bench
