// Aligned tables: a caption, a head, rows. What is too wide continues below, with the first column repeated.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace demo {

using lines = std::vector<std::string>;
using row = std::vector<std::string>; // a cell for each entry of the head

struct table {
  std::string caption;
  row head;
  std::vector<row> rows;
  std::string align = "lr"; // l or r for each column; the last letter holds for all that follow
  int gap = 2;              // columns between two columns of the table
  bool ruled = true;        // a line below the head
};

constexpr int indent = 2;     // of tables and pictures
constexpr int word_room = 16; // columns of the first column; longer words are cut

inline std::vector<int> column_widths(const table& t, int width) {
  std::vector<int> widths;
  for (size_t i = 0; i < t.head.size(); ++i) {
    int widest = columns(t.head[i]);
    for (const row& cells : t.rows) widest = std::max(widest, columns(cells[i]));
    widths.push_back(std::min(widest, i == 0 ? word_room : width - indent - widths[0] - t.gap));
  }
  return widths;
}

inline bool fits(const table& t, int width) {
  int used = indent - t.gap;
  for (int room : column_widths(t, width)) used += t.gap + room;
  return used <= width;
}

// The first cell, and those from `from` to before `to`.
inline std::string table_line(const table& t, const row& cells, const std::vector<int>& widths, size_t from,
                              size_t to) {
  std::string line = spaces(indent - t.gap);
  for (size_t i = 0; i < to; i = i == 0 ? from : i + 1) {
    const bool left = t.align[std::min(i, t.align.size() - 1)] == 'l';
    const std::string text = clip(cells[i], widths[i]);
    line += spaces(t.gap) + (left ? pad_right(text, widths[i]) : pad_left(text, widths[i]));
  }
  return line;
}

inline lines table_lines(const table& t, int width) {
  lines all = wrap(t.caption, width);
  const std::vector<int> widths = column_widths(t, width);
  size_t from = 1, to = 1;
  do {
    int used = indent + widths[0];
    for (to = from; to < widths.size() && used + t.gap + widths[to] <= width; ++to)
      used += t.gap + widths[to];
    all.push_back(table_line(t, t.head, widths, from, to));
    if (t.ruled) all.push_back(spaces(indent) + times("\u2500", used - indent));
    for (const row& cells : t.rows) all.push_back(table_line(t, cells, widths, from, to));
    from = to;
  } while (from < widths.size());
  return all;
}

// "[1 0.5]"; `shown` counts the numbers before it is cut.
inline std::string vector_text(const float* values, int count, int decimals, int shown = 8) {
  std::string text = "[";
  for (int i = 0; i < std::min(count, shown); ++i) text += (i ? " " : "") + short_number(values[i], decimals);
  return text + (shown < count ? " ..]" : "]");
}

inline table matrix_table(const std::string& caption, const row& words, const row& head, const matrix& values,
                          int decimals) {
  table t{caption, {""}, {}};
  t.head.insert(t.head.end(), head.begin(), head.end());
  for (int r = 0; r < values.rows; ++r) {
    t.rows.push_back({words[static_cast<size_t>(r)]});
    for (int c = 0; c < values.columns; ++c) t.rows.back().push_back(number(values.at(r, c), decimals));
  }
  return t;
}

// One vector a row; of many dims the first.
inline table vectors_table(const std::string& caption, const row& words, const matrix& values) {
  const int shown = std::min(values.columns, 8);
  row head;
  for (int c = 1; c <= shown; ++c) head.push_back(std::to_string(c));
  const std::string cut = shown < values.columns ? format(" The first %d of %d dims.", shown, values.columns)
                                                 : "";
  return matrix_table(caption + cut, words, head, some_columns(values, 0, shown), 3);
}

} // namespace demo
