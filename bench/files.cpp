// Lays out files and writes them.
#include "files.hpp"

#include <cstdio>
#include <exception>

#include "chart.hpp"
#include "fields.hpp"

namespace bench {
namespace {

saved_fields with_nulls(const saved_fields& known) {
  saved_fields all;
  for (const char* name : field_names) {
    all.push_back({name, "null"});
    for (const field& f : known)
      if (std::string(f.name) == name) all.back().value = f.value;
  }
  return all;
}

std::string joined(const saved_fields& all, std::string (*text)(const field&)) {
  std::string line;
  for (const field& f : all) line += (line.empty() ? "" : ",") + text(f);
  return line;
}

std::string json_pair(const field& f) { return quoted(f.name) + ":" + f.value; }
std::string name_of(const field& f) { return f.name; }
std::string value_of(const field& f) { return f.value == "null" ? "" : f.value; }

} // namespace

// Quotes, backslashes and control characters become blanks, so that no escapes are needed.
std::string quoted(std::string text) {
  for (char& c : text)
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = ' ';
  return '"' + text + '"';
}

void add_circumstances(saved_fields& known, const run_info& about, const conditions& at) {
  if (!about.board.empty()) known.push_back({"board", quoted(about.board)});
  known.push_back({"cpu", quoted(about.cpu)});
  known.push_back({"compiler", quoted(about.compiler)});
  known.push_back({"fovea", quoted(about.fovea)});
  known.push_back({"date", quoted(about.date)});
  if (at.clock_mhz > 0 && !about.emulated) known.push_back({"clock_mhz", format("%.0f", at.clock_mhz)});
  if (at.temperature_c > 0 && !about.emulated)
    known.push_back({"temperature_c", format("%.1f", at.temperature_c)});
  known.push_back({"emulated", about.emulated ? "true" : "false"});
}

std::string json_of(const std::vector<saved_fields>& all) {
  std::string text;
  for (const saved_fields& each : all)
    text += (text.empty() ? "[\n {" : ",\n {") + joined(with_nulls(each), json_pair) + "}";
  return text.empty() ? "[]\n" : text + "\n]\n";
}

std::string csv_of(const std::vector<saved_fields>& all) {
  std::string text;
  for (const saved_fields& each : all) {
    const saved_fields full = with_nulls(each);
    if (text.empty()) text = joined(full, name_of) + "\n";
    text += joined(full, value_of) + "\n";
  }
  return text;
}

int write_files(const std::vector<demo::output_file>& named) {
  std::vector<demo::output_file> files;
  for (const demo::output_file& file : named)
    if (!file.path.empty()) files.push_back(file);
  try {
    demo::write_whole(files);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fovea_bench: %s\n", error.what());
    return 2;
  }
  return 0;
}

int write_files(const options& o, const std::vector<saved_fields>& all, const std::string& picture) {
  return write_files({{o.json, json_of(all)}, {o.csv, csv_of(all)}, {o.svg, picture}});
}

} // namespace bench
