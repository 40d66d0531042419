// Draws a curve: the size to the right, the time per multiply-accumulate upwards, logarithmic; a line for
// each ISA, and a mark at the end of each cliff.
#include <algorithm>
#include <cmath>

#include "fovea/fovea.h"
#include "sweep.hpp"

namespace bench {

drawing sweep_chart(const std::vector<swept>& of_one_curve) {
  constexpr double left = 58, top = 46, width = 860, height = 220, bottom = top + height;
  const curve& c = of_one_curve.front().what;
  double least = HUGE_VAL, most = 0;
  for (const swept& s : of_one_curve)
    for (const sweep_point& p : s.points) {
      least = std::min(least, p.per_mac() * 1e9);
      most = std::max(most, p.per_mac() * 1e9);
    }
  const log_axis y = {least / 1.15, most * 1.15, bottom, top};
  const auto x = [&](int32_t n) { return left + width * (n - 1) / std::max(1, c.most() - 1); };

  std::string body = svg_text(0, 14, c.name(), "title");
  const int32_t step = c.most() > 30 ? 16 : 2;
  for (int32_t n = step; n <= c.most(); n += step)
    body += svg_line(x(n), top, x(n), bottom, "grid") +
            svg_text(x(n), bottom + 15, format("%d", n), "note middle");
  for (double decade = 1e-4; decade < 1e4; decade *= 10)
    for (int digit : {1, 2, 5})
      if (decade * digit > y.low && decade * digit < y.high)
        body += svg_line(left, y(decade * digit), left + width, y(decade * digit), "grid") +
                svg_text(left - 6, y(decade * digit) + 4, format("%g", decade * digit), "note end");
  body += svg_text(left - 6, top - 8, "ns per MAC", "note end");

  double legend = left + 40;
  for (size_t i = 0; i < of_one_curve.size(); ++i, legend += 130) {
    const swept& s = of_one_curve[i];
    std::vector<point> line;
    for (const sweep_point& p : s.points) line.push_back({x(p.n), y(p.per_mac() * 1e9)});
    body += svg_curve(i, line);
    for (const cliff& found : s.cliffs) {
      const sweep_point& p = s.points[found.at + (found.smaller_is_slower ? 0 : 1)];
      body += svg_mark(i, x(p.n), y(p.per_mac() * 1e9),
                       format("%s, %d -> %d: %.2f", s.isa_name(), s.points[found.at].n,
                              s.points[found.at + 1].n, found.ratio));
    }
    body += svg_mark(i, legend, top - 12, s.isa_name()) + svg_text(legend + 9, top - 8, s.isa_name(), "note");
  }
  return {static_cast<int>(left + width) + 10, static_cast<int>(bottom) + 24, body};
}

} // namespace bench
