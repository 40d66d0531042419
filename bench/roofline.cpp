// Draws the roofs of the best ISA, the peaks of the others, and a mark for each result.
#include "roofline.hpp"

#include <algorithm>
#include <cmath>

#include "fovea/fovea.h"
#include "report.hpp"

namespace bench {
namespace {

constexpr double left = 58, top = 54, plot_width = 640, list = left + plot_width + 34, line_height = 15;

// flop for each byte of q, K, V and the result
double intensity(const work& w) {
  const double rows = 2.0 * sizeof(float) * w.q_heads * w.queries * w.dim;
  return w.flops() / (static_cast<double>(w.cache_bytes()) + rows);
}

const char* mark_if(bool disturbed) { return disturbed ? disturbed_mark : ""; }

class picture {
 public:
  picture(const std::vector<level>& levels, const std::vector<limits>& machine,
          const std::vector<result>& results)
      : levels_(levels), machine_(machine), results_(results) {
    for (const result& r : results_)
      if (names_.empty() || names_.back() != r.what.name()) names_.push_back(r.what.name());
    height_ = std::max(440.0, line_height * static_cast<double>(names_.size()));
    best_ = machine.back();
    for (const limits& m : machine)
      if (m.isa == fovea_isa()) best_ = m;
    find_axes();
  }

  drawing draw() {
    body_ = svg_text(0, 14, "Roofline: what this core allows, and what attention makes of it", "title");
    draw_grid();
    draw_roofs();
    draw_marks();
    draw_list();
    if (any_disturbed(machine_) || any_disturbed(results_))
      body_ += svg_text(left, top + height_ + 52, note_on_disturbed(), "note");
    return {static_cast<int>(list) + 300, static_cast<int>(top + height_ + 58), body_};
  }

 private:
  void find_axes() {
    double least_x = HUGE_VAL, most_x = 0, least_y = best_.peak.per_second, most_y = best_.peak.per_second;
    for (const result& r : results_) {
      least_x = std::min(least_x, intensity(r.what)), most_x = std::max(most_x, intensity(r.what));
      least_y = std::min(least_y, r.gflops() * 1e9);
    }
    x_ = {least_x / 2, most_x * 2, left, left + plot_width};
    y_ = {least_y / 1.6, most_y * 1.4, top + height_, top};
  }

  void draw_grid() {
    for (int power = -10; power <= 40; ++power) {
      const double byte = std::ldexp(1.0, power);
      if (byte < x_.low || byte > x_.high) continue;
      body_ += svg_line(x_(byte), top, x_(byte), top + height_, "grid") +
               svg_text(x_(byte), top + height_ + 16,
                        power < 0 ? format("1/%.0f", 1 / byte) : format("%.0f", byte), "note middle");
    }
    for (double decade = 1e3; decade < 1e18; decade *= 10)
      for (int step : {1, 2, 5})
        if (decade * step > y_.low && decade * step < y_.high)
          body_ += svg_line(left, y_(decade * step), left + plot_width, y_(decade * step), "grid") +
                   svg_text(left - 6, y_(decade * step) + 4, format("%g", decade * step * 1e-9), "note end");
    body_ += svg_text(left + plot_width / 2, top + height_ + 34,
                      "flop for each byte of q, K, V and the result", "note middle");
    body_ += svg_text(left, top - 10, "GFLOP/s", "note middle");
  }

  // Memory allows rate * intensity, as long as that is below the peak.
  void draw_roofs() {
    for (const limits& m : machine_) {
      if (m.peak.per_second < y_.low) continue;
      const double begin = std::max(x_.low, m.peak.per_second / best_.read.front().per_second);
      body_ += svg_line(x_(begin), y_(m.peak.per_second), left + plot_width, y_(m.peak.per_second), "roof");
    }
    const double slope = std::atan2(y_(best_.peak.per_second) - y_(best_.peak.per_second * 2),
                                    x_(2) - x_(1)) *
                         180 / 3.14159265;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const double rate = best_.read[i].per_second, begin = std::max(x_.low, y_.low / rate),
                   end = best_.peak.per_second / rate;
      if (end <= begin) continue;
      body_ += svg_line(x_(begin), y_(begin * rate), x_(std::min(end, x_.high)),
                        y_(std::min(end, x_.high) * rate), "roof");
      const double at = begin *
                        std::pow(std::min(end, x_.high) / begin, 0.06 + 0.2 * static_cast<double>(i % 3));
      body_ += svg_text(
          x_(at) - 2, y_(at * rate) - 5,
          format("%s %.0f GB/s%s", levels_[i].name.c_str(), rate * 1e-9, mark_if(best_.read[i].disturbed)),
          "note", -slope);
    }
  }

  size_t series_of(int32_t isa) const {
    return static_cast<size_t>(
        std::find_if(machine_.begin(), machine_.end(), [&](const limits& m) { return m.isa == isa; }) -
        machine_.begin());
  }

  size_t number_of(const result& r) const {
    return 1 + static_cast<size_t>(std::find(names_.begin(), names_.end(), r.what.name()) - names_.begin());
  }

  // A number stands right of each mark of the best ISA, lower where another number is in its way.
  void draw_marks() {
    struct label {
      double x, y;
      size_t number;
    };
    std::vector<label> labels;
    for (const result& r : results_) {
      const double x = x_(intensity(r.what)), y = y_(r.gflops() * 1e9);
      body_ += svg_mark(series_of(r.isa), x, y,
                        format("%zu: %s on %s, %.1f GFLOP/s, %.1f %% of the limit%s", number_of(r),
                               r.what.name().c_str(), fovea_isa_name(r.isa), r.gflops(), 100 * r.share(),
                               r.disturbed ? ", estimated from CPU time" : ""),
                        r.disturbed ? "pale" : "");
      if (r.isa == best_.isa) labels.push_back({x, y, number_of(r)});
    }
    std::sort(labels.begin(), labels.end(), [](const label& a, const label& b) { return a.y < b.y; });
    for (size_t i = 0; i < labels.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (std::fabs(labels[i].x - labels[j].x) < 20) labels[i].y = std::max(labels[i].y, labels[j].y + 10);
      body_ += svg_text(labels[i].x + 7, labels[i].y + 4, format("%zu", labels[i].number), "small");
    }
  }

  // The names behind the numbers, with the share on the best ISA; above it what the marks mean.
  void draw_list() {
    double x = left + 70;
    for (size_t i = 0; i < machine_.size(); ++i, x += 142) {
      body_ += svg_mark(i, x, top - 14, fovea_isa_name(machine_[i].isa));
      body_ += svg_text(x + 9, top - 10,
                        format("%s, peak %.0f%s", fovea_isa_name(machine_[i].isa),
                               machine_[i].peak.per_second * 1e-9, mark_if(machine_[i].peak.disturbed)),
                        "note");
    }
    body_ += svg_text(list + 268, top - 10, format("%s, %% of limit", fovea_isa_name(best_.isa)), "note end");
    for (size_t i = 0; i < names_.size(); ++i) {
      const double y = top + 10 + line_height * static_cast<double>(i);
      body_ += svg_text(list + 20, y, format("%zu", i + 1), "note end") + svg_text(list + 28, y, names_[i]);
      for (const result& r : results_)
        if (r.isa == best_.isa && r.what.name() == names_[i]) {
          body_ += svg_text(list + 268, y, format("%.1f%s", 100 * r.share(), mark_if(r.disturbed)), "end");
          break;
        }
    }
  }

  const std::vector<level>& levels_;
  const std::vector<limits>& machine_;
  const std::vector<result>& results_;
  std::vector<std::string> names_;
  limits best_;
  log_axis x_{}, y_{};
  double height_;
  std::string body_;
};

} // namespace

drawing roofline(const std::vector<level>& levels, const std::vector<limits>& machine,
                 const std::vector<result>& results) {
  return picture(levels, machine, results).draw();
}

} // namespace bench
