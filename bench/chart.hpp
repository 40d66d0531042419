// The common ground of the pictures: one SVG page of drawings, one below the other, legible in light and in
// dark.
#pragma once
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

std::string svg_page(const std::string& title, const std::vector<drawing>& drawings);

} // namespace bench
