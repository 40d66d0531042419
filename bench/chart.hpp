// The common ground of the pictures: one SVG page of drawings, one below the other, legible in light and in
// dark.
#pragma once
#include <cmath>
#include <string>
#include <vector>

namespace bench {

struct drawing {
  int width, height;
  std::string body; // drawn from 0, 0
};

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string escaped(const std::string& text);

// kind: classes of the style, such as "note", "end", "middle"; angle in degrees
std::string svg_text(double x, double y, const std::string& text, const char* kind = "", double angle = 0);
std::string svg_line(double x1, double y1, double x2, double y2, const char* kind);

// ISAs have a colour and a shape each, by their place among those measured. `tip` is shown where the pointer
// rests. kind: classes of the style beside that colour, such as "pale".
std::string svg_mark(size_t series, double x, double y, const std::string& tip, const char* kind = "");

// A line through points in the colour of that series.
struct point {
  double x, y;
};
std::string svg_curve(size_t series, const std::vector<point>& points);

// A logarithmic axis: from and to in pixels stand for low and high.
struct log_axis {
  double low, high, from, to;
  double operator()(double value) const {
    return from + (to - from) * std::log(value / low) / std::log(high / low);
  }
};

// note: one line below the drawings.
std::string svg_page(const std::string& title, const std::string& note, const std::vector<drawing>& drawings);

} // namespace bench
