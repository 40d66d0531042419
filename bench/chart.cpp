// Writes SVG.
#include "chart.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace bench {
namespace {

constexpr int margin = 20;

constexpr const char* style = R"(<style>
text { font-family: ui-sans-serif, system-ui, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 12px; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 } .note { font-size: 11px; fill: #59636e } .small { font-size: 10px }
.end { text-anchor: end } .middle { text-anchor: middle }
.ground { fill: #ffffff } .grid { stroke: #d1d9e0; stroke-width: 0.7 } .roof { stroke: #59636e; stroke-width: 1.6 }
.dashed { stroke-dasharray: 6 3 } .leader { stroke: #59636e; stroke-width: 0.6 } .hollow { fill: none; stroke-width: 1.5 }
.curve { fill: none; stroke-width: 1.2 } .before { fill: #afb8c1 } .mark { stroke: #ffffff; stroke-width: 0.8 } .pale { fill-opacity: 0.35; stroke-opacity: 0.5 }
.s0 { fill: #0969da } .s1 { fill: #bc4c00 } .s2 { fill: #1a7f37 } .s3 { fill: #8250df } .s4 { fill: #cf222e }
.l0 { stroke: #0969da } .l1 { stroke: #bc4c00 } .l2 { stroke: #1a7f37 } .l3 { stroke: #8250df } .l4 { stroke: #cf222e }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .note { fill: #9198a1 } .ground { fill: #0d1117 } .grid { stroke: #3d444d } .roof { stroke: #9198a1 }
  .before { fill: #656c76 } .leader { stroke: #9198a1 } .mark { stroke: #0d1117 }
  .s0 { fill: #4493f8 } .s1 { fill: #f0883e } .s2 { fill: #3fb950 } .s3 { fill: #ab7df8 } .s4 { fill: #ff7b72 }
  .l0 { stroke: #4493f8 } .l1 { stroke: #f0883e } .l2 { stroke: #3fb950 } .l3 { stroke: #ab7df8 } .l4 { stroke: #ff7b72 }
}
</style>
)";

} // namespace

std::string format(const char* pattern, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return safe;
}

std::string svg_text(double x, double y, const std::string& text, const char* kind, double angle) {
  const std::string turn = angle == 0 ? "" : format(" transform=\"rotate(%.1f %.1f %.1f)\"", angle, x, y);
  return format("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"%s>", kind, x, y, turn.c_str()) + escaped(text) +
         "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* kind) {
  return format("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1, y1, x2,
                y2);
}

std::string svg_mark(size_t series, double x, double y, const std::string& tip, const char* kind) {
  constexpr const char* shapes[] = {"M-4 0A4 4 0 1 0 4 0A4 4 0 1 0 -4 0Z", "M-3.6 -3.6H3.6V3.6H-3.6Z",
                                    "M0 -5L5 0L0 5L-5 0Z", "M0 -4.6L4.8 3.8H-4.8Z", "M0 4.6L4.8 -3.8H-4.8Z"};
  const size_t one = series % 5;
  const bool hollow = std::string(kind).rfind("hollow", 0) == 0;
  return format("<path class=\"%s%zu %s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"><title>",
                hollow ? "l" : "mark s", one, kind, x, y, shapes[one]) +
         escaped(tip) + "</title></path>\n";
}

std::string svg_curve(size_t series, const std::vector<point>& points) {
  std::string text = format("<polyline class=\"curve l%zu\" points=\"", series % 5);
  for (const point& p : points) text += format("%.1f,%.1f ", p.x, p.y);
  return text + "\"/>\n";
}

std::string svg_page(const std::string& title, const std::string& note,
                     const std::vector<drawing>& drawings) {
  int width = 0, height = margin;
  std::string body;
  for (const drawing& d : drawings) {
    body += format("<g transform=\"translate(%d %d)\">\n", margin, height) + d.body + "</g>\n";
    width = std::max(width, d.width + 2 * margin);
    height += d.height + margin;
  }
  body += svg_text(margin, height, note, "note");
  height += margin;
  return format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 "
             "0 %d %d\">\n",
             width, height, width, height) +
         "<title>" + escaped(title) + "</title>\n" + style +
         "<rect class=\"ground\" width=\"100%\" height=\"100%\" rx=\"10\"/>\n" + body + "</svg>\n";
}

} // namespace bench
