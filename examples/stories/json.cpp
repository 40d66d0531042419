// From left to right once. Strings are checked only as far as finding their end needs: what is not understood
// is not used.
#include "json.hpp"

#include <algorithm>

namespace stories {
namespace {

constexpr int most_depth = 16;
constexpr size_t most_values = 100000;
constexpr std::string_view blanks = " \n\r\t", digits = "0123456789";

} // namespace

class json_reader {
 public:
  json_reader(std::string_view text, json_values& into) : text_(text), into_(into) {}

  bool run() {
    if (!value("", 0)) return false;
    skip_blanks();
    return text_.empty();
  }

 private:
  void skip_blanks() { text_.remove_prefix(std::min(text_.find_first_not_of(blanks), text_.size())); }

  bool take(char wanted) {
    skip_blanks();
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool value(const std::string& path, int depth) {
    skip_blanks();
    if (depth > most_depth || text_.empty()) return false;
    const char first = text_.front();
    if (first == '{') return members(path, depth);
    if (first == '[') return elements(path, depth);
    std::string_view found;
    if (first == '"' ? !string(found) : !word(found)) return false;
    if (into_.values_.size() == most_values) return false;
    into_.values_.push_back({path, found});
    return true;
  }

  bool members(const std::string& path, int depth) {
    take('{');
    if (take('}')) return true;
    do {
      std::string_view name;
      skip_blanks();
      if (!string(name) || !take(':')) return false;
      const std::string inner(name.substr(1, name.size() - 2));
      if (!value(path.empty() ? inner : path + "." + inner, depth + 1)) return false;
    } while (take(','));
    return take('}');
  }

  bool elements(const std::string& path, int depth) {
    take('[');
    if (take(']')) return true;
    size_t index = 0;
    do {
      if (!value(path + "." + std::to_string(index++), depth + 1)) return false;
    } while (take(','));
    return take(']');
  }

  bool string(std::string_view& found) { // with its quotes
    if (text_.empty() || text_.front() != '"') return false;
    size_t at = 1;
    while (at < text_.size() && text_[at] != '"') {
      if (static_cast<unsigned char>(text_[at]) < 0x20) return false;
      at += text_[at] == '\\' ? 2 : 1;
    }
    if (at >= text_.size()) return false;
    return cut(at + 1, found);
  }

  bool word(std::string_view& found) { // a number, true, false or null
    const size_t end = std::min(text_.find_first_of(",]} \n\r\t"), text_.size());
    const std::string_view all = text_.substr(0, end);
    if (all != "true" && all != "false" && all != "null" && !is_number(all)) return false;
    return cut(end, found);
  }

  static bool is_number(std::string_view text) {
    const auto skip_digits = [&] {
      const size_t count = std::min(text.find_first_not_of(digits), text.size());
      text.remove_prefix(count);
      return count > 0;
    };
    const auto skip = [&](std::string_view any_of) {
      const bool found = !text.empty() && any_of.find(text.front()) != std::string_view::npos;
      if (found) text.remove_prefix(1);
      return found;
    };
    skip("-");
    if (!skip_digits()) return false;
    if (skip(".") && !skip_digits()) return false;
    if (skip("eE")) {
      skip("+-");
      if (!skip_digits()) return false;
    }
    return text.empty();
  }

  bool cut(size_t size, std::string_view& found) {
    found = text_.substr(0, size);
    text_.remove_prefix(size);
    return true;
  }

  std::string_view text_;
  json_values& into_;
};

refusal json_values::read(std::string_view text) {
  values_.clear();
  if (json_reader(text, *this).run()) return {};
  values_.clear();
  return {"it is not JSON, or deeper than 16 lists", {}};
}

std::string_view json_values::find(std::string_view path) const {
  const auto found = std::find_if(values_.rbegin(), values_.rend(),
                                  [&](const value& one) { return one.path == path; });
  return found == values_.rend() ? std::string_view() : found->text;
}

} // namespace stories
