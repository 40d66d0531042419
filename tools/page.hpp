// A page of the demo: headings, prose, tables and pictures, gathered as text before anything is printed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "picture.hpp"

namespace demo {

class page {
 public:
  page(int width, bool colour) : width_(width), colour_(colour) {}

  int width() const { return width_; }
  const std::string& text() const { return text_; }
  const std::vector<std::vector<heat_map>>& pictures() const { return pictures_; }

  void heading(std::string_view words) {
    const std::string title = clip(words, width_);
    if (!text_.empty()) line("");
    line(colour_ ? "\x1b[1m" + title + "\x1b[0m" : title);
    line(times("\u2500", columns(title)));
  }

  // Prose, wrapped: long lines are hard to read, however wide the terminal is.
  void say(std::string_view words) { put(wrap(words, std::min(width_, 100))); }

  void show(const table& t) { apart(table_lines(t, width_)); }

  void show(const std::vector<heat_map>& maps) {
    pictures_.push_back(maps);
    apart(picture_lines(maps, width_, colour_));
  }

  void append(const page& other) {
    line("");
    text_ += other.text_;
    pictures_.insert(pictures_.end(), other.pictures_.begin(), other.pictures_.end());
  }

  void apart(const lines& block) {
    line("");
    put(block);
    line("");
  }

 private:
  void put(const lines& block) {
    for (const std::string& one : block) line(one);
  }

  // Two empty lines never follow each other, and no blanks trail.
  void line(std::string_view words) {
    words = words.substr(0, words.find_last_not_of(' ') + 1);
    const bool after_empty = text_.empty() || (text_.size() > 1 && text_.substr(text_.size() - 2) == "\n\n");
    if (!words.empty() || !after_empty) text_ += std::string(words) + "\n";
  }

  int width_;
  bool colour_;
  std::string text_;
  std::vector<std::vector<heat_map>> pictures_; // for the SVG file; what was shown together stays together
};

} // namespace demo
