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
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else
      safe += c;
  }
  return safe;
}

// Sizes in pixels. A letter of the labels is about 8 wide; labels over columns rise at 45 degrees.
struct svg_shape {
  static constexpr int margin = 24, title = 34, letter = 8, label_room = 16;
  int left, top, cell, width, height; // top is the room of the labels over the columns
};

inline int longest_label(const std::vector<std::string>& words) {
  int most = 1;
  for (const std::string& word : words) most = std::max(most, std::min(columns(word), svg_shape::label_room));
  return most;
}

inline svg_shape svg_shape_of(const heat_map& map) {
  const int rows = map.weights.rows, keys = map.weights.columns;
  const int cell = std::min(std::max(600 / std::max({rows, keys, 1}), 26), 48);
  const int over = longest_label(map.keys) * svg_shape::letter * 7 / 10 +
                   14; // the height, and the overhang, of a label at 45 degrees
  const int left = longest_label(map.queries) * svg_shape::letter + 12;
  const int title = columns(map.title) * svg_shape::letter;
  return {left, over, cell, std::max(left + keys * cell + over, title),
          svg_shape::title + over + rows * cell};
}

inline std::string svg_text(double x, double y, std::string_view kind, std::string_view more,
                            std::string_view text) {
  return "<text class=\"" + std::string(kind) + "\" x=\"" + short_number(x, 1) + "\" y=\"" +
         short_number(y, 1) + "\"" + std::string(more) + ">" + escaped(text) + "</text>\n";
}

inline std::string svg_cell(float weight, float top, double x, double y, int size) {
  const double share = std::min(std::max(weight / top, 0.0f), 1.0f);
  const std::string side = std::to_string(size);
  const std::string
      kind = share > 0.77 ? "strong"
                          : "weak"; // from there on the other ink has more contrast, in light and in dark
  return "<rect class=\"frame\" x=\"" + short_number(x, 1) + "\" y=\"" + short_number(y, 1) + "\" width=\"" +
         side + "\" height=\"" + side + "\" fill-opacity=\"" + number(share, 3) + "\"/>\n" +
         svg_text(x + size / 2.0, y + size / 2.0, kind, "", weight_text(weight));
}

inline std::string svg_labels(const heat_map& map, const svg_shape& s) {
  std::string all;
  const double x = s.left, y = svg_shape::title + s.top;
  for (int i = 0; i < map.weights.rows; ++i)
    all += svg_text(x - 8, y + (i + 0.5) * s.cell, "query", "",
                    clip(map.queries[static_cast<size_t>(i)], svg_shape::label_room, "\u2026"));
  for (int i = 0; i < map.weights.columns; ++i) {
    const std::string at = short_number(x + (i + 0.5) * s.cell, 1) + " " + short_number(y - 8, 1);
    all += "<g transform=\"translate(" + at + ") rotate(-45)\">" +
           svg_text(0, 0, "key", "",
                    clip(map.keys[static_cast<size_t>(i)], svg_shape::label_room, "\u2026")) +
           "</g>\n";
  }
  return all;
}

inline std::string svg_map(const heat_map& map, float top, int x, int y) {
  const svg_shape s = svg_shape_of(map);
  const std::string font = std::to_string(
      std::min(s.cell / 3 + 1, 13)); // of the numbers; labels have their own
  std::string all = "<g font-size=\"" + font + "\" transform=\"translate(" + std::to_string(x) + " " +
                    std::to_string(y) + ")\">\n";
  all += svg_text(0, 14, "title", "", map.title) + svg_labels(map, s);
  for (int i = 0; i < map.weights.rows; ++i)
    for (int j = 0; j < map.weights.columns; ++j)
      all += svg_cell(map.weights.at(i, j), top, s.left + j * s.cell, svg_shape::title + s.top + i * s.cell,
                      s.cell);
  return all + "</g>\n";
}

// One colour, mixed with the ground by the weight: so the same file suits both grounds.
inline std::string svg_style() {
  return R"(<style>
text { font-family: ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 14px; fill: #1f2328 }
.ground { fill: #ffffff } .frame { fill: #08519c; stroke: #d1d9e0 } .shade { stop-color: #08519c }
.title { font-size: 15px; font-weight: 600 } .note { font-size: 12px; fill: #59636e }
.query { text-anchor: end; dominant-baseline: central }
.weak, .strong { text-anchor: middle; dominant-baseline: central; font-size: inherit; font-variant-numeric: tabular-nums }
.weak { fill: #000000 } .strong { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .note { fill: #9198a1 } .weak { fill: #ffffff } .strong { fill: #000000 }
  .ground { fill: #0d1117 } .frame { fill: #4d96f0; stroke: #3d444d } .shade { stop-color: #4d96f0 }
}
</style>
)";
}

inline std::string svg_legend(float top, int x, int y) {
  const std::string place = " x=\"" + std::to_string(x + 14) + "\" y=\"" + std::to_string(y - 10) + "\"";
  return "<defs><linearGradient id=\"scale\"><stop class=\"shade\" offset=\"0\" stop-opacity=\"0\"/>"
         "<stop class=\"shade\" offset=\"1\"/></linearGradient></defs>\n" +
         svg_text(x, y, "note", "", "0") +
         "<rect fill=\"url(#scale)\" stroke=\"#8c959f\" stroke-width=\"0.5\"" + place +
         " width=\"160\" height=\"11\"/>\n" +
         svg_text(x + 182, y, "note", "",
                  weight_text(top) + "   attention weight: a row is a query, a column a key");
}

// Lays pictures out from left to right, then below.
struct svg_sheet {
  static constexpr int most = 1500, margin = svg_shape::margin;
  std::string body;
  int x = margin, y = margin, tallest = 0, width = 520;

  void new_line() {
    if (x > margin) y += tallest + margin;
    x = margin;
    tallest = 0;
  }

  void put(const heat_map& map, float top) {
    const svg_shape s = svg_shape_of(map);
    if (x + s.width > most) new_line();
    body += svg_map(map, top, x, y);
    x += s.width + margin;
    width = std::max(width, x);
    tallest = std::max(tallest, s.height);
  }
};

// What belongs together stands side by side; all of it on one scale.
inline std::string svg_document(const std::vector<std::vector<heat_map>>& groups, std::string_view title) {
  svg_sheet sheet;
  float top = 0;
  for (const auto& maps : groups) top = std::max(top, largest(maps));
  for (const auto& maps : groups) {
    for (const heat_map& map : maps) sheet.put(map, top);
    sheet.new_line();
  }
  const std::string w = std::to_string(sheet.width), h = std::to_string(sheet.y + 2 * svg_sheet::margin);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"" + w + "\" height=\"" + h +
         "\" viewBox=\"0 0 " + w + " " + h + "\">\n<title>" + escaped(title) + "</title>\n" + svg_style() +
         "<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"10\"/>\n" + sheet.body +
         svg_legend(top, svg_sheet::margin, sheet.y + 12) + "</svg>\n";
}

} // namespace demo
