// Bars: as text to the left and right of no change, as a picture in pairs.
#include "against.hpp"

#include <algorithm>
#include <cmath>

#include "fovea/fovea.h"
#include "report.hpp"

namespace bench {
namespace {

struct pair {
  std::string name;
  double before, now; // shares
  bool disturbed;     // one of them
  double change() const { return now / before - 1; }
};

saved_result as_saved(const result& r) {
  return {r.what.name(), r.isa_name(), scratch_name(r.scratch), "", r.share(), r.quiet_share(),
          r.disturbed,   true};
}

std::vector<pair> pairs_of(const std::vector<result>& now, const std::vector<saved_result>& before) {
  std::vector<pair> all;
  for (const result& r : now) {
    const std::string name = as_saved(r).name();
    const auto old = std::find_if(before.begin(), before.end(),
                                  [&](const saved_result& s) { return s.name() == name; });
    if (old != before.end()) all.push_back({name, old->share, r.share(), r.disturbed || old->disturbed});
  }
  return all;
}

// Ten columns each way, one for 2 %.
std::string text_bar(double change) {
  const int length = std::min(10, static_cast<int>(std::lround(std::fabs(change) * 50)));
  const std::string bar(static_cast<size_t>(length), '#'), room(static_cast<size_t>(10 - length), ' ');
  return change < 0 ? room + bar + "|" : std::string(10, ' ') + "|" + bar;
}

} // namespace

std::string against_table(const std::vector<result>& now, const std::vector<saved_result>& before,
                          const std::string& path) {
  const std::vector<pair> all = pairs_of(now, before);
  std::string text = format("\n%-44s %8s %8s %8s  %s\n", ("against " + path).c_str(), "then %", "now %",
                            "speed", "    slower|faster");
  for (const pair& p : all)
    text += format("%-44s %8.1f %8.1f %+7.1f%%%1s %s\n", p.name.c_str(), 100 * p.before, 100 * p.now,
                   100 * p.change(), p.disturbed ? disturbed_mark : "", text_bar(p.change()).c_str());
  if (any_disturbed(all)) text += note_on_disturbed();
  if (all.size() < now.size())
    text += format("%zu of %zu results have no counterpart there.\n", now.size() - all.size(), now.size());
  return text + "One run against one run: fovea_compare tells a slowdown from noise.\n";
}

drawing against_bars(const std::vector<result>& now, const std::vector<saved_result>& before,
                     const std::string& path) {
  constexpr double names = 300, full = 560, row = 22, top = 44; // full = a share of 100 %
  const std::vector<pair> all = pairs_of(now, before);
  const double bottom = top + row * static_cast<double>(all.size());
  std::string body = svg_text(0, 14, "Share of the limit: now, and in grey " + path, "title");
  for (int percent = 0; percent <= 100; percent += 20)
    body += svg_line(names + full * percent / 100, top - 6, names + full * percent / 100, bottom, "grid") +
            svg_text(names + full * percent / 100, top - 10, format("%d %%", percent), "note middle");
  for (size_t i = 0; i < all.size(); ++i) {
    const pair& p = all[i];
    const double y = top + row * static_cast<double>(i);
    const auto bar = [&](const char* kind, double at, double share) {
      return format("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"8\"/>\n", kind, names,
                    at, full * std::min(share, 1.1));
    };
    body += svg_text(names - 8, y + 12, p.name, "end") + bar("s0", y, p.now) + bar("before", y + 9, p.before);
    body += svg_text(names + full * std::min(std::max(p.now, p.before), 1.1) + 6, y + 12,
                     format("%+.1f %%%s", 100 * p.change(), p.disturbed ? disturbed_mark : ""), "note");
  }
  if (any_disturbed(all)) body += svg_text(0, bottom + 18, note_on_disturbed(), "note");
  return {static_cast<int>(names + full * 1.1) + 70, static_cast<int>(bottom) + 24, body};
}

} // namespace bench
