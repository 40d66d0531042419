// Heat maps as SVG: words on both axes, a number in each field, several side by side on one scale; legible in
// light and in dark.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "picture.hpp"

namespace demo {

inline std::string escaped(std::string_view text) {
  std::string safe;
  for (char c : text) {
    const std::string_view name = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;";
    const bool special = std::string_view("&<>\"").find(c) != std::string_view::npos;
    safe += special ? name : std::string_view(&c, 1);
  }
  return safe;
}

inline std::string svg_text(double x, double y, const char* kind, std::string_view text) {
  return format("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", kind, x, y, escaped(text).c_str());
}

// The measures of one heat map, in pixels.
struct svg_shape {
  static constexpr int title = 34, letter = 8; // height of the title, width of a letter
  int left, top, cell, width, height;          // room for the words of the queries, and for those of the keys
};

inline int longest_label(const std::vector<std::string>& words) {
  int most = 1;
  for (const std::string& word : words) most = std::max(most, std::min(columns(word), word_room));
  return most;
}

inline svg_shape svg_shape_of(const heat_map& map) {
  const int rows = map.weights.rows, keys = map.weights.columns;
  const int cell = std::min(std::max(600 / std::max({rows, keys, 1}), 26), 48);
  // A label over a column rises at 45 degrees: 0.7 of its length is its height, and what it hangs over.
  const int top = svg_shape::title + longest_label(map.keys) * svg_shape::letter * 7 / 10 + 14;
  const int left = longest_label(map.queries) * svg_shape::letter + 12;
  const int width = left + keys * cell + top - svg_shape::title;
  return {left, top, cell, std::max(width, columns(map.title) * svg_shape::letter), top + rows * cell};
}

inline std::string svg_cell(double weight, double top, double x, double y, int size) {
  const double share = std::min(std::max(weight / top, 0.0), 1.0);
  const char* ink = share > 0.77 ? "strong" : "weak"; // the better contrast, in light and in dark
  return format(
             "<rect class=\"frame\" x=\"%.0f\" y=\"%.0f\" width=\"%d\" height=\"%d\" "
             "fill-opacity=\"%.3f\"/>\n",
             x, y, size, size, share) +
         svg_text(x + size / 2.0, y + size / 2.0, ink, weight_text(weight));
}

inline std::string svg_map(const heat_map& map, double top, int x, int y) {
  const svg_shape s = svg_shape_of(map);
  std::string all = format("<g font-size=\"%d\" transform=\"translate(%d %d)\">\n",
                           std::min(s.cell / 3 + 1, 13), x, y);
  all += svg_text(0, 14, "title", map.title);
  for (int key = 0; key < map.weights.columns; ++key) {
    const std::string word = clip(map.keys[static_cast<size_t>(key)], word_room);
    all += format("<g transform=\"translate(%.1f %d) rotate(-45)\">", s.left + (key + 0.5) * s.cell,
                  s.top - 8) +
           svg_text(0, 0, "key", word) + "</g>\n";
  }
  for (int query = 0; query < map.weights.rows; ++query) {
    const std::string word = clip(map.queries[static_cast<size_t>(query)], word_room);
    all += svg_text(s.left - 8, s.top + (query + 0.5) * s.cell, "query", word);
    for (int key = 0; key < map.weights.columns; ++key)
      all += svg_cell(map.weights.at(query, key), top, s.left + key * s.cell, s.top + query * s.cell, s.cell);
  }
  return all + "</g>\n";
}

// One colour, mixed with the ground by the weight: so the same file suits both grounds.
constexpr const char* svg_style = R"(<style>
text { font-family: ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif }
text { font-size: 14px; fill: #1f2328 }
.ground { fill: #ffffff } .frame { fill: #08519c; stroke: #d1d9e0 }
.title { font-size: 15px; font-weight: 600 } .note { font-size: 12px; fill: #59636e }
.query { text-anchor: end; dominant-baseline: central }
.weak, .strong { text-anchor: middle; dominant-baseline: central; font-size: inherit }
.weak { fill: #000000 } .strong { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .note { fill: #9198a1 } .weak { fill: #ffffff } .strong { fill: #000000 }
  .ground { fill: #0d1117 } .frame { fill: #4d96f0; stroke: #3d444d }
}
</style>
)";

// Maps that belong together stand side by side as long as they fit; all are on one scale.
inline std::string svg_document(const std::vector<std::vector<heat_map>>& groups, std::string_view title) {
  constexpr int margin = 24, widest = 1500;
  float top = 0;
  for (const auto& maps : groups) top = std::max(top, largest(maps));
  std::string body;
  int y = margin, width = 520;
  for (const auto& maps : groups) {
    int x = margin, tallest = 0;
    for (const heat_map& map : maps) {
      const svg_shape s = svg_shape_of(map);
      if (x > margin && x + s.width > widest) {
        y += tallest + margin;
        x = margin;
        tallest = 0;
      }
      body += svg_map(map, top, x, y);
      x += s.width + margin;
      width = std::max(width, x);
      tallest = std::max(tallest, s.height);
    }
    y += tallest + margin;
  }
  const int height = y + 2 * margin;
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 "
             "0 %d %d\">\n",
             width, height, width, height) +
         "<title>" + escaped(title) + "</title>\n" + svg_style +
         "<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"10\"/>\n" + body +
         svg_text(margin, y + 12, "note", "Attention weights. A row is a query, a column a key.") +
         "</svg>\n";
}

} // namespace demo
