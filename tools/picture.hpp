// Attention weights as a picture in the terminal: one row a query, one column a key, the darker or brighter
// the heavier.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "matrix.hpp"
#include "style.hpp"

namespace demo {

struct heat_map {
  std::string title;
  std::vector<std::string> queries, keys; // the words of both axes
  matrix weights;                         // [query][key]
};

// The value that gets the strongest colour: the largest of all pictures that are compared.
inline float largest(const std::vector<heat_map>& maps) {
  float top = 0;
  for (const heat_map& map : maps)
    for (float weight : map.weights.values) top = std::max(top, weight);
  return top > 0 ? top : 1;
}

using rgb = std::array<int, 3>;

// From night to yellow by way of blue and green: readable on dark and on light terminals, and in grey.
inline rgb heat(double share) {
  constexpr double stops[5][3] = {
      {30, 20, 60}, {52, 78, 139}, {33, 140, 141}, {110, 200, 92}, {253, 231, 60}};
  const double place = std::min(std::max(share, 0.0), 1.0) * 4;
  const int below = std::min(static_cast<int>(place), 3);
  rgb colour;
  for (size_t c = 0; c < 3; ++c)
    colour[c] = static_cast<int>(stops[below][c] + (place - below) * (stops[below + 1][c] - stops[below][c]) +
                                 0.5);
  return colour;
}

// The same ramp in the 256 colours of xterm, picked by hand: rounding to the nearest gives greys in between.
inline int cube_heat(double share) {
  constexpr int ramp[11] = {17, 18, 24, 30, 36, 71, 77, 113, 149, 185, 227};
  return ramp[static_cast<int>(std::min(std::max(share, 0.0), 1.0) * 10 + 0.5)];
}

inline std::string ground_colour(double share, const style& how) {
  if (how.paint == colours::cube) return "5;" + std::to_string(cube_heat(share));
  const rgb colour = heat(share);
  return "2;" + std::to_string(colour[0]) + ";" + std::to_string(colour[1]) + ";" + std::to_string(colour[2]);
}

inline std::string painted(const std::string& text, double share, const style& how) {
  const int ink = share > (how.paint == colours::cube ? 0.35 : 0.47)
                      ? 16
                      : 231; // black on bright, white on dark: the better contrast
  const std::string ground = ground_colour(share, how);
  return "\x1b[38;5;" + std::to_string(ink) + ";48;" + ground + "m" + text + "\x1b[0m";
}

inline std::string shade(double share, const style& how) {
  const std::vector<std::string> fine = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
  const std::vector<std::string> coarse = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
  const std::vector<std::string>& steps = how.blocks ? coarse : fine;
  const double place = std::min(std::max(share, 0.0), 1.0) * static_cast<double>(steps.size() - 1);
  return steps[static_cast<size_t>(place + 0.5)];
}

constexpr int number_room = 6; // a narrower cell shows no number, but four columns of colour do
constexpr int between = 3;     // columns between two pictures

// A cell `room` columns wide: a field of colour with its number, or shades and the number.
inline std::string heat_cell(float weight, float top, int room, const style& how) {
  const double share = weight / top;
  if (how.paint != colours::none)
    return painted(room >= 4 ? centre(weight_text(weight), room) : spaces(room), share, how);
  if (room < number_room) return times(shade(share, how), room);
  return times(shade(share, how), room - 5) + " " + weight_text(weight) + " ";
}

struct picture_shape {
  int label, cell; // columns of the query words, columns of a cell
  bool numbered;   // keys are too narrow for words: they go by number
};

inline picture_shape shape_of(const heat_map& map, int room) {
  const int keys = std::max(map.weights.columns, 1);
  int label = 0, key = number_room + 2;
  for (const std::string& word : map.queries) label = std::max(label, columns(word));
  for (const std::string& word : map.keys) key = std::max(key, columns(word) + 1);
  label = std::min(label, 12);
  const int cell = std::min({(room - label - indent - 1) / keys, key, 11});
  if (cell >= number_room) return {label, cell, false};
  label = std::min(label + 3,
                   std::max(6, room - keys - indent - 1)); // the number, two columns, before the word
  return {label, std::min(std::max((room - label - indent - 1) / keys, 1), 4), true};
}

// The words above the columns, or their numbers; the narrowest columns have tens above ones.
inline std::vector<std::string> key_lines(const heat_map& map, const picture_shape& shape, const style& how) {
  const std::string left = spaces(indent + shape.label + 1);
  if (!shape.numbered) {
    std::string line = left;
    for (const std::string& key : map.keys)
      line += centre(clip(key, shape.cell - 1, how.ellipsis()), shape.cell);
    return {line};
  }
  std::string whole = left, tens = left, ones = left;
  for (int i = 1; i <= map.weights.columns; ++i) {
    whole += centre(std::to_string(i), shape.cell);
    tens += pad_left(i % 10 == 0 ? std::to_string(i / 10) : "", shape.cell);
    ones += pad_left(std::to_string(i % 10), shape.cell);
  }
  return shape.cell > 2 ? std::vector<std::string>{whole} : std::vector<std::string>{tens, ones};
}

inline std::string query_label(const heat_map& map, int query, const picture_shape& shape, const style& how) {
  const std::string& word = map.queries[static_cast<size_t>(query)];
  if (!shape.numbered) return pad_right(clip(word, shape.label, how.ellipsis()), shape.label);
  return pad_left(std::to_string(query + 1), 2) + " " +
         pad_right(clip(word, shape.label - 3, how.ellipsis()), shape.label - 3);
}

// Text that knows how many columns it takes, whatever colours are in it.
struct block {
  int width = 0;
  std::vector<std::string> lines;
};

inline block draw(const heat_map& map, float top, int room, const style& how) {
  const picture_shape shape = shape_of(map, room);
  block all;
  all.width = indent + shape.label + 1 + shape.cell * map.weights.columns;
  all.width = std::max(all.width, indent + columns(map.title));
  if (!map.title.empty()) all.lines.push_back(pad_right(spaces(indent) + map.title, all.width));
  for (const std::string& line : key_lines(map, shape, how)) all.lines.push_back(pad_right(line, all.width));
  for (int query = 0; query < map.weights.rows; ++query) {
    std::string line = spaces(indent) + query_label(map, query, shape, how) + " ";
    for (int key = 0; key < map.weights.columns; ++key)
      line += heat_cell(map.weights.at(query, key), top, shape.cell, how);
    all.lines.push_back(line +
                        spaces(all.width - indent - shape.label - 1 - shape.cell * map.weights.columns));
  }
  return all;
}

inline std::string line_of(const block& one, size_t i) {
  return i < one.lines.size() ? one.lines[i] : spaces(one.width);
}

// Pictures side by side as long as they fit, then below.
inline std::vector<std::string> side_by_side(const std::vector<block>& blocks, int width) {
  std::vector<std::string> lines;
  for (size_t first = 0, last; first < blocks.size(); first = last) {
    int used = blocks[first].width;
    for (last = first + 1; last < blocks.size() && used + between + blocks[last].width <= width; ++last)
      used += between + blocks[last].width;
    size_t height = 0;
    for (size_t i = first; i < last; ++i) height = std::max(height, blocks[i].lines.size());
    if (first > 0) lines.emplace_back();
    for (size_t y = 0; y < height; ++y) {
      std::string line;
      for (size_t i = first; i < last; ++i)
        line += (i == first ? "" : spaces(between)) + line_of(blocks[i], y);
      lines.push_back(line);
    }
  }
  return lines;
}

// As many in a line as keep their numbers; all on one scale.
inline std::vector<std::string> picture_lines(const std::vector<heat_map>& maps, const style& how) {
  const float top = largest(maps);
  int in_line = static_cast<int>(maps.size());
  const auto room = [&] { return (how.width - between * (in_line - 1)) / in_line; };
  const auto narrow = [&](const heat_map& map) { return shape_of(map, room()).numbered; };
  while (in_line > 1 && std::any_of(maps.begin(), maps.end(), narrow)) --in_line;
  std::vector<block> blocks;
  for (const heat_map& map : maps) blocks.push_back(draw(map, top, room(), how));
  return side_by_side(blocks, how.width);
}

} // namespace demo
