// Reads as much JSON as fovea_bench writes: an array of objects whose values are strings, numbers, true,
// false or null.
#include "saved.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace bench {
namespace {

using object = saved_object;

class reader {
 public:
  reader(const std::string& text, const std::string& path) : text_(text), path_(path) {
    const size_t line = text.compare(0, 1, "[") == 0 ? 0 : text.find("\n[");
    if (line != std::string::npos) at_ = line;
  }

  std::vector<object> array() {
    std::vector<object> all;
    expect('[');
    if (!accept(']')) {
      do all.push_back(one_object());
      while (accept(','));
      expect(']');
    }
    return all;
  }

 private:
  object one_object() {
    object fields;
    expect('{');
    do {
      const std::string name = value();
      expect(':');
      fields[name] = value();
    } while (accept(','));
    expect('}');
    return fields;
  }

  // A string without its quotes, or a bare word; what fovea_bench writes has no escapes in it.
  std::string value() {
    const bool is_string = accept('"');
    const size_t end = text_.find_first_of(is_string ? "\"" : " ,:}]\n", at_);
    if (end == std::string::npos) fail();
    const std::string found = text_.substr(at_, end - at_);
    at_ = end + (is_string ? 1 : 0);
    return found;
  }

  bool accept(char wanted) {
    at_ = text_.find_first_not_of(" \t\r\n", at_);
    if (at_ == std::string::npos) fail();
    if (text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail();
  }
  [[noreturn]] void fail() const {
    throw saved_error(path_ + " does not hold results of fovea_bench; make such a file with --json");
  }

  const std::string &text_, &path_;
  size_t at_ = 0;
};

std::string word(const object& fields, const char* name, const std::string& path) {
  const auto found = fields.find(name);
  if (found == fields.end())
    throw saved_error(path + " has a result without \"" + name +
                      "\"; write it anew with the --json of this fovea_bench");
  return found->second;
}

double number(const object& fields, const char* name, const std::string& path) {
  const std::string text = word(fields, name, path);
  if (text == "null")
    throw saved_error(path + " has a result without " + name + "; fovea_compare --boards shows such results");
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value > 0))
    throw saved_error(path + ": " + name + " is \"" + text + "\", not a positive number");
  return value;
}

// An older fovea_bench wrote nothing about it.
bool is_disturbed(const object& fields, const std::string& path) {
  const auto found = fields.find("disturbed");
  if (found == fields.end() || found->second == "false") return false;
  if (found->second == "true") return true;
  throw saved_error(path + ": disturbed is \"" + found->second + "\", not true or false");
}

} // namespace

std::string saved_result::name() const {
  return work + ", " + isa + (scratch == "best" ? "" : ", scratch " + scratch);
}

namespace {

std::string text_in(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path, ignored))
    throw saved_error("cannot read " + path + "; give a file that --json wrote");
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

std::vector<saved_result> read_saved(const std::string& path) { return saved_in(text_in(path), path); }

std::vector<saved_object> read_objects(const std::string& path) { return objects_in(text_in(path), path); }

std::vector<saved_object> objects_in(const std::string& text, const std::string& path) {
  const std::vector<saved_object> all = reader(text, path).array();
  if (all.empty()) throw saved_error(path + " holds no results");
  return all;
}

std::vector<saved_result> saved_in(const std::string& text, const std::string& path) {
  std::vector<saved_result> all;
  for (const object& o : objects_in(text, path))
    all.push_back({word(o, "work", path), word(o, "isa", path), word(o, "scratch", path),
                   word(o, "digest", path), number(o, "share", path), number(o, "share_quiet", path),
                   is_disturbed(o, path), o.count("disturbed") > 0});
  return all;
}

} // namespace bench
