// Attention weights as a picture: one row a query, one column a key, the brighter the larger the weight.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "table.hpp"

namespace demo {

struct heat_map {
  std::string title;
  std::vector<std::string> queries, keys; // the words of both axes
  matrix weights;                         // [query][key]
};

// The weight that gets the strongest colour: the largest of all pictures that are compared.
inline float largest(const std::vector<heat_map>& maps) {
  float top = 0;
  for (const heat_map& map : maps)
    for (float weight : map.weights.values) top = std::max(top, weight);
  return top > 0 ? top : 1;
}

inline int step_of(double share, int last) {
  return static_cast<int>(std::min(std::max(share, 0.0), 1.0) * last + 0.5);
}

// From night to yellow by way of blue and green, in the 256 colours of xterm: readable on dark and on light
// terminals, and in grey.
inline int heat_colour(double share) {
  constexpr int ramp[11] = {17, 18, 24, 30, 36, 71, 77, 113, 149, 185, 227};
  return ramp[step_of(share, 10)];
}

// A field with its number, if there is room: the number on a colour, or beside a shade.
inline std::string heat_cell(double weight, double top, int room, bool colour) {
  const double share = weight / top;
  const std::string text = room < 4 ? "" : weight_text(weight);
  if (colour) {
    const int ink = share > 0.35 ? 16 : 231; // black on bright, white on dark
    return format("\x1b[38;5;%d;48;5;%dm%s\x1b[0m", ink, heat_colour(share), centre(text, room).c_str());
  }
  const char* const shades[5] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
  const std::string shade = shades[step_of(share, 4)];
  return text.empty() ? times(shade, room) : times(shade, room - 5) + (room > 4 ? " " : "") + text + " ";
}

// A heat map is a table without gaps. Where the words of the keys do not fit, numbers stand for them.
inline table picture_table(const heat_map& map, double top, int width, bool colour) {
  const int keys = map.weights.columns;
  int label = 0, cell = 7;
  for (const std::string& word : map.queries) label = std::max(label, columns(word));
  for (const std::string& word : map.keys) cell = std::max(cell, columns(word) + 1);
  label = std::min(label, word_room - 1);
  cell = std::min({cell, 11, (width - indent - label - 1) / keys});
  const bool numbered = cell < 6;
  if (numbered) {
    label = std::max(6, std::min({label + 3, word_room - 1, width - indent - 1 - keys}));
    cell = std::max(1, std::min(4, (width - indent - label - 1) / keys));
  }
  table t{map.title, {""}, {}};
  t.gap = 0;
  t.ruled = false;
  for (int key = 0; key < keys; ++key) {
    const std::string place = std::to_string(cell > 2 ? key + 1 : (key + 1) % 10);
    const std::string word = clip(map.keys[static_cast<size_t>(key)], cell - 1);
    t.head.push_back(centre(numbered ? place : word, cell));
  }
  for (int query = 0; query < map.weights.rows; ++query) {
    const std::string& word = map.queries[static_cast<size_t>(query)];
    t.rows.push_back({clip(numbered ? format("%2d ", query + 1) + word : word, label) + " "});
    for (int key = 0; key < keys; ++key)
      t.rows.back().push_back(heat_cell(map.weights.at(query, key), top, cell, colour));
  }
  return t;
}

inline int width_of(const lines& block) {
  int widest = 0;
  for (const std::string& line : block) widest = std::max(widest, columns(line));
  return widest;
}

// Blocks of lines from left to right as long as they fit, then below.
inline lines side_by_side(const std::vector<lines>& blocks, int width) {
  constexpr int between = 3;
  lines all, line_of_blocks;
  for (const lines& block : blocks) {
    const int left = width_of(line_of_blocks);
    if (left > 0 && left + between + width_of(block) > width) {
      all.insert(all.end(), line_of_blocks.begin(), line_of_blocks.end());
      all.emplace_back();
      line_of_blocks.clear();
    }
    const int place = line_of_blocks.empty() ? 0 : left + between;
    line_of_blocks.resize(std::max(line_of_blocks.size(), block.size()));
    for (size_t i = 0; i < block.size(); ++i)
      line_of_blocks[i] = pad_right(line_of_blocks[i], place) + block[i];
  }
  all.insert(all.end(), line_of_blocks.begin(), line_of_blocks.end());
  return all;
}

// All on one scale.
inline lines picture_lines(const std::vector<heat_map>& maps, int width, bool colour) {
  const double top = largest(maps);
  std::vector<lines> blocks;
  for (const heat_map& map : maps)
    blocks.push_back(table_lines(picture_table(map, top, width, colour), width));
  return side_by_side(blocks, width);
}

} // namespace demo
