// Aligned tables: a caption, a head, rows. What is wider than the output goes on below, with the first column
// repeated.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "style.hpp"

namespace demo {

using row = std::vector<std::string>;

struct table {
  std::string caption;
  row head;
  std::vector<row> rows;
  std::string align = "lr"; // l or r for each column; the last letter holds for all that follow
};

constexpr int gap = 2;        // columns between two columns of a table
constexpr int word_room = 16; // a longer word is cut

inline std::string cell(const row& cells, size_t i, const style& how) {
  const std::string text = i < cells.size() ? cells[i] : "";
  return i == 0 ? clip(text, word_room, how.ellipsis()) : text;
}

inline std::vector<int> column_widths(const table& t, const style& how) {
  std::vector<int> widths(t.head.size(), 0);
  for (size_t i = 0; i < widths.size(); ++i) {
    widths[i] = columns(cell(t.head, i, how));
    for (const row& cells : t.rows) widths[i] = std::max(widths[i], columns(cell(cells, i, how)));
  }
  return widths;
}

// The columns that stand side by side: the first one, then as many of the others as fit.
inline std::vector<std::vector<size_t>> column_blocks(const std::vector<int>& widths, int room) {
  std::vector<std::vector<size_t>> blocks;
  int used = 0;
  for (size_t i = 1; i < widths.size(); ++i) {
    if (blocks.empty() || used + gap + widths[i] > room) {
      blocks.push_back({0});
      used = widths[0];
    }
    blocks.back().push_back(i);
    used += gap + widths[i];
  }
  if (blocks.empty() && !widths.empty()) blocks.push_back({0});
  return blocks;
}

inline std::string table_line(const table& t, const row& cells, const std::vector<size_t>& shown,
                              const std::vector<int>& widths, const style& how) {
  std::string line = spaces(indent);
  for (size_t i : shown) {
    const bool left = t.align[std::min(i, t.align.size() - 1)] == 'l';
    const std::string text = cell(cells, i, how);
    line += (i == shown.front() ? "" : spaces(gap)) +
            (left ? pad_right(text, widths[i]) : pad_left(text, widths[i]));
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

inline std::vector<std::string> table_lines(const table& t, const style& how) {
  std::vector<std::string> lines = wrap(t.caption, how.width);
  const std::vector<int> widths = column_widths(t, how);
  for (const auto& shown : column_blocks(widths, how.width - indent)) {
    int length = -gap;
    for (size_t i : shown) length += gap + widths[i];
    lines.push_back(table_line(t, t.head, shown, widths, how));
    lines.push_back(spaces(indent) + how.rule(std::min(length, how.width - indent)));
    for (const row& cells : t.rows) lines.push_back(table_line(t, cells, shown, widths, how));
  }
  return lines;
}

} // namespace demo
