// Draws a roof for each ISA and each level of memory, and a mark for each result. The peak of products of
// bytes was measured with each result of int8.
#include "roofline.hpp"

#include <algorithm>
#include <cmath>

#include "byte_peak.hpp"
#include "fovea/fovea.h"
#include "places.hpp"
#include "report.hpp"

namespace bench {
namespace {

constexpr double left = 58, top = 72, plot_width = 720, list = left + plot_width + 34, line_height = 15;
constexpr double word_width = 6; // of a small character

// operations for each byte of q, K, V and the result
double intensity(const work& w) {
  const double element = w.integers() ? sizeof(int8_t) : sizeof(float);
  return w.flops() /
         (static_cast<double>(w.cache_bytes()) + 2.0 * element * static_cast<double>(w.query_elements()));
}

const char* mark_if(bool disturbed) { return disturbed ? disturbed_mark : ""; }

struct roof {
  std::string name; // "avx2", "avx2 int8"
  double peak;      // operations per second
  bool integers;
};

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
    find_roofs();
    find_axes();
  }

  drawing draw() {
    body_ = svg_text(0, 14, "Roofline: what this core allows, and what attention makes of it", "title");
    draw_grid();
    draw_peaks();
    draw_memory();
    draw_marks();
    draw_legend();
    draw_list();
    if (any_disturbed(machine_) || any_disturbed(results_))
      body_ += svg_text(left, top + height_ + 68, note_on_disturbed(), "note");
    return {static_cast<int>(list) + 328, static_cast<int>(top + height_ + 74), body_};
  }

 private:
  void find_roofs() {
    for (const limits& m : machine_)
      roofs_.push_back(
          {fovea_isa_name(m.isa) + std::string(mark_if(m.peak.disturbed)), m.peak.per_second, false});
    std::vector<int32_t> seen;
    for (const result& r : results_) {
      if (multiply_bytes(r.integer_isa, 1) == 0 ||
          std::find(seen.begin(), seen.end(), r.integer_isa) != seen.end())
        continue;
      seen.push_back(r.integer_isa);
      std::vector<double> peaks;
      for (const result& other : results_)
        if (other.integer_isa == r.integer_isa) peaks.push_back(other.peak);
      roofs_.push_back({r.isa_name() + std::string(" int8"), median(peaks), true});
    }
    std::sort(roofs_.begin(), roofs_.end(), [](const roof& a, const roof& b) { return a.peak > b.peak; });
  }

  // Room for the names of the roofs is on both sides.
  void find_axes() {
    double least_x = HUGE_VAL, most_x = 0, least_y = best_.peak.per_second, most_y = roofs_.front().peak;
    for (const result& r : results_) {
      least_x = std::min(least_x, intensity(r.what)), most_x = std::max(most_x, intensity(r.what));
      least_y = std::min(least_y, r.gflops() * 1e9);
    }
    x_ = {least_x / 9, most_x * 8, left, left + plot_width};
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
                      "operations for each byte of q, K, V and the result (a multiply-add is two)",
                      "note middle") +
             svg_text(left + plot_width / 2, top + height_ + 50,
                      "marks that would hide another one are moved sideways", "note middle") +
             svg_text(left, top - 10, "GFLOP/s, int8 GOP/s", "note middle");
  }

  // From the fastest memory on. Roofs that lie together share their words.
  void draw_peaks() {
    for (size_t i = 0; i < roofs_.size();) {
      const roof& first = roofs_[i];
      std::string names;
      size_t end = i;
      for (; end < roofs_.size() && y_(roofs_[end].peak) - y_(first.peak) < 12; ++end) {
        const roof& r = roofs_[end];
        const double begin = std::max(x_.low, r.peak / best_.read.front().per_second);
        body_ += svg_line(x_(begin), y_(r.peak), left + plot_width, y_(r.peak),
                          r.integers ? "roof dashed" : "roof");
        names += (names.empty() ? "" : ", ") + r.name + format(" %.0f", r.peak * 1e-9);
      }
      const double width = word_width * static_cast<double>(names.size()), y = y_(first.peak) - 4;
      body_ += svg_text(left + plot_width - 3, y, names, "note end");
      taken_.take({left + plot_width - 3 - width, y - 9, left + plot_width, y + 2});
      i = end;
    }
  }

  // Memory allows rate * intensity, as long as that is below the greatest peak.
  void draw_memory() {
    const double most = roofs_.front().peak;
    const double slope = std::atan2(y_(most) - y_(most * 2), x_(2) - x_(1)) * 180 / 3.14159265;
    for (size_t i = 0; i < levels_.size(); ++i) {
      const double rate = best_.read[i].per_second, begin = std::max(x_.low, y_.low / rate),
                   end = std::min(most / rate, x_.high);
      if (end <= begin) continue;
      body_ += svg_line(x_(begin), y_(begin * rate), x_(end), y_(end * rate), "roof");
      // Where the roof above is near, the words stand below their own.
      const bool below = i > 0 && best_.read[i - 1].per_second / rate < 1.7;
      const double at = begin * std::pow(end / begin, 0.05);
      body_ += svg_text(x_(at) + (below ? 11 : -2), y_(at * rate) + (below ? 8 : -5),
                        format("%s %.0f GB/s, %s%s", levels_[i].name.c_str(), rate * 1e-9,
                               fovea_isa_name(best_.isa), mark_if(best_.read[i].disturbed)),
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

  static const char* kind_of(const result& r) {
    return r.what.integers() ? (r.disturbed ? "hollow pale" : "hollow") : r.disturbed ? "pale" : "";
  }

  // The best ISA first: its marks stay where they belong. Its numbers go where there is room.
  void draw_marks() {
    std::vector<const result*> order;
    for (const result& r : results_) order.push_back(&r);
    std::sort(order.begin(), order.end(), [&](const result* a, const result* b) { // of an ISA as they were
      const bool a_first = a->isa == best_.isa, b_first = b->isa == best_.isa;
      return a_first != b_first ? a_first : a < b;
    });
    struct placed {
      double x, y;
      size_t number;
    };
    std::vector<placed> numbered;
    for (const result* r : order) {
      const double y = y_(r->gflops() * 1e9), x = taken_.take_mark(x_(intensity(r->what)), y);
      body_ += svg_mark(
          series_of(r->isa), x, y,
          format("%zu: %s on %s, %.1f %s, %.1f %% of the limit%s", number_of(*r), r->what.name().c_str(),
                 r->isa_name(), r->gflops(), r->what.integers() ? "GOP/s" : "GFLOP/s", 100 * r->share(),
                 r->disturbed ? ", estimated from CPU time" : ""),
          kind_of(*r));
      if (r->isa == best_.isa) numbered.push_back({x, y, number_of(*r)});
    }
    for (const placed& p : numbered) {
      const std::string number = format("%zu", p.number);
      const places::spot at = taken_.take_word(p.x, p.y, word_width * static_cast<double>(number.size()));
      const double near_end = at.x < p.x ? at.x + word_width * static_cast<double>(number.size()) : at.x;
      if (at.far) body_ += svg_line(p.x, p.y, near_end, at.y - 3.5, "leader");
      body_ += svg_text(at.x, at.y, number, "small");
    }
  }

  void draw_legend() {
    double x = left + 8;
    for (size_t i = 0; i < machine_.size(); ++i, x += 118) {
      body_ += svg_mark(i, x, top - 32, fovea_isa_name(machine_[i].isa));
      body_ += svg_text(x + 9, top - 28, fovea_isa_name(machine_[i].isa), "note");
    }
    if (std::any_of(results_.begin(), results_.end(), [](const result& r) { return r.what.integers(); }))
      body_ += svg_mark(series_of(best_.isa), x, top - 32, "int8", "hollow") +
               svg_text(x + 9, top - 28, "hollow, dashed: int8", "note");
  }

  // The names behind the numbers, with the share on the best ISA.
  void draw_list() {
    body_ += svg_text(list + 296, top - 10, format("%s, %% of limit", fovea_isa_name(best_.isa)), "note end");
    for (size_t i = 0; i < names_.size(); ++i) {
      const double y = top + 10 + line_height * static_cast<double>(i);
      body_ += svg_text(list + 20, y, format("%zu", i + 1), "note end") + svg_text(list + 28, y, names_[i]);
      for (const result& r : results_)
        if (r.isa == best_.isa && r.what.name() == names_[i]) {
          body_ += svg_text(list + 296, y, format("%.1f%s", 100 * r.share(), mark_if(r.disturbed)), "end");
          break;
        }
    }
  }

  const std::vector<level>& levels_;
  const std::vector<limits>& machine_;
  const std::vector<result>& results_;
  std::vector<std::string> names_;
  std::vector<roof> roofs_; // greatest first
  limits best_;
  log_axis x_{}, y_{};
  double height_;
  places taken_;
  std::string body_;
};

} // namespace

drawing roofline(const std::vector<level>& levels, const std::vector<limits>& machine,
                 const std::vector<result>& results) {
  return picture(levels, machine, results).draw();
}

} // namespace bench
