// A page of the demo: headings, prose, tables and pictures, gathered as text before anything is printed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "picture.hpp"
#include "table.hpp"

namespace demo {

class page {
 public:
  explicit page(const style& how) : how_(how) {}

  const style& how() const { return how_; }
  const std::string& text() const { return text_; }
  const std::vector<std::vector<heat_map>>& pictures() const { return pictures_; }

  void heading(std::string_view words) {
    if (!text_.empty()) line("");
    const bool bold = how_.paint != colours::none;
    text_ += (bold ? "\x1b[1m" : "") + std::string(words) + (bold ? "\x1b[0m\n" : "\n");
    line(how_.rule(std::min(columns(words), how_.width)));
  }

  // Prose, wrapped: long lines are hard to read, however wide the terminal is.
  void say(std::string_view words) {
    for (const std::string& one : wrap(words, std::min(how_.width, 100))) line(one);
  }

  void show(const table& t) {
    line("");
    for (const std::string& one : table_lines(t, how_)) line(one);
    line("");
  }

  void show(const std::vector<heat_map>& maps) {
    pictures_.push_back(maps);
    line("");
    for (const std::string& one : picture_lines(maps, how_)) line(one);
    line("");
  }

  void line(std::string_view words) { // two empty lines never follow each other, and nothing trails
    const std::string bare(words.substr(0, words.find_last_not_of(' ') + 1));
    if (bare.empty() && (text_.empty() || (text_.size() > 1 && text_.substr(text_.size() - 2) == "\n\n")))
      return;
    text_ += bare + "\n";
  }

 private:
  style how_;
  std::string text_;
  std::vector<std::vector<heat_map>> pictures_; // for the SVG file; what was shown together stays together
};

inline std::string vector_text(const float* values, int count, int decimals, int most) {
  std::string text = "[";
  for (int i = 0; i < std::min(count, most); ++i) text += (i ? " " : "") + short_number(values[i], decimals);
  return text + (most < count ? " ..]" : "]");
}

inline std::string vector_text(const float* values, int count, int decimals) {
  return vector_text(values, count, decimals, count);
}

inline table matrix_table(const std::string& caption, const std::vector<std::string>& rows,
                          const std::vector<std::string>& names, const matrix& values, int decimals) {
  table t{caption, {""}, {}};
  t.head.insert(t.head.end(), names.begin(), names.end());
  for (int r = 0; r < values.rows; ++r) {
    row cells = {rows[static_cast<size_t>(r)]};
    for (int c = 0; c < values.columns; ++c) cells.push_back(number(values.at(r, c), decimals));
    t.rows.push_back(cells);
  }
  return t;
}

// Vectors of any dim: as many dims as fit beside the words, and how many there are.
inline table vectors_table(const std::string& caption, const std::vector<std::string>& rows,
                           const matrix& values, const style& how) {
  int word = 1, widest = 5;
  for (const std::string& name : rows) word = std::max(word, std::min(columns(name), word_room));
  for (float value : values.values) widest = std::max(widest, columns(number(value, 3)));
  const int shown = std::min(values.columns, std::max(2, (how.width - indent - word) / (gap + widest)));
  std::vector<std::string> names;
  for (int c = 1; c <= shown; ++c) names.push_back(std::to_string(c));
  const std::string cut = shown < values.columns ? " (the first " + std::to_string(shown) + " of " +
                                                       std::to_string(values.columns) + " dims)"
                                                 : "";
  return matrix_table(caption + cut, rows, names, some_columns(values, 0, shown), 3);
}

} // namespace demo
