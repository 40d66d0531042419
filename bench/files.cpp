// Lays out files and writes them.
#include "files.hpp"

#include <cstdio>
#include <filesystem>
#include <utility>

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

// A file is written beside its place first, so that an older one stays if there is no room. A device is written directly.
bool write_file(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const bool direct = fs::exists(path, problem) && !fs::is_regular_file(path, problem);
  const fs::path target = fs::is_symlink(path, problem) ? fs::canonical(path, problem) : fs::path(path);
  std::string beside = direct ? path : target.string() + ".part";
  for (int i = 1; !direct && fs::exists(beside, problem); ++i)
    beside = target.string() + ".part" + std::to_string(i);
  std::FILE* file = std::fopen(beside.c_str(), "wb");
  if (!file) return false;
  const bool sent = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool written = std::fclose(file) == 0 && sent;
  if (direct) return written;
  if (written) fs::rename(beside, target, problem);
  if (written && !problem) return true;
  fs::remove(beside, problem);
  return false;
}

int write_files(const options& o, const std::vector<saved_fields>& all, const std::string& picture) {
  for (const auto& [path, text] :
       {std::pair{o.json, json_of(all)}, std::pair{o.csv, csv_of(all)}, std::pair{o.svg, picture}}) {
    if (path.empty() || write_file(path, text)) continue;
    std::fprintf(stderr, "fovea_bench: %s could not be written; free some room and run again\n",
                 path.c_str());
    return 2;
  }
  return 0;
}

} // namespace bench
