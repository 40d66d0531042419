// Runs a sweep and prints its table, its cliffs, its CSV and its picture.
#include <algorithm>

#include "files.hpp"
#include "fovea/fovea.h"
#include "progress.hpp"
#include "sweep.hpp"

namespace bench {
namespace {

std::string table_line(const std::string& name, const std::string& isa, const std::string& least,
                       const std::string& most, const std::string& flags, const std::string& worst) {
  return format("%-62s %-13s %16s %16s %6s  %s\n", name.c_str(), isa.c_str(), least.c_str(), most.c_str(),
                flags.c_str(), worst.c_str());
}

std::string table_row(const swept& s) {
  if (s.status != FOVEA_OK)
    return format("%-62s %-13s refused: %s: %s\n", s.what.name().c_str(), s.isa_name(),
                  fovea_argument_text(s.status), fovea_reason_text(s.status));
  const auto [least, most] = std::minmax_element(
      s.points.begin(), s.points.end(),
      [](const sweep_point& a, const sweep_point& b) { return a.per_mac() < b.per_mac(); });
  const auto cost = [](const sweep_point& p) { return format("%.4f at %3d", p.per_mac() * 1e9, p.n); };
  const cliff worst = steepest_of(s.points);
  return table_line(s.what.name(), s.isa_name(), cost(*least), cost(*most),
                    s.cliffs.empty() ? "-" : format("%zu", s.cliffs.size()),
                    format("%.2f at %d -> %d", worst.ratio, s.points[worst.at].n, s.points[worst.at + 1].n));
}

std::string cliffs_text(const swept& s) {
  if (s.cliffs.empty()) return "";
  std::string text = "\n" + s.what.name() + " on " + s.isa_name() + "\n";
  for (const cliff& c : s.cliffs) {
    const sweep_point &small = s.points[c.at], &large = s.points[c.at + 1];
    text += format("  %3d -> %3d  %5.2f times ", small.n, large.n, c.ratio) +
            (c.smaller_is_slower
                 ? format("as long for the smaller call: %.3g us instead of %.3g\n", small.seconds * 1e6,
                          large.seconds * 1e6)
                 : format("as long per MAC: %.4f ns, %.4f\n", small.per_mac() * 1e9, large.per_mac() * 1e9));
  }
  return text;
}

std::string as_csv(const std::vector<swept>& all, const run_info& about) {
  std::string text =
      "curve,isa,n,macs,ns,ns_per_mac,cliff_before,cpu,compiler,fovea,date,clock_mhz,"
      "temperature_c,emulated\n"; // cliff: the step from the size before
  const auto known = [](double x) { return x > 0 ? format("%.1f", x) : std::string(); };
  for (const swept& s : all)
    for (size_t i = 0; i < s.points.size(); ++i) {
      const sweep_point& p = s.points[i];
      const bool flagged = std::any_of(s.cliffs.begin(), s.cliffs.end(),
                                       [&](const cliff& c) { return c.at + 1 == i; });
      text += format("\"%s\",%s,%d,%.0f,%.6g,%.6g,%s,", s.what.name().c_str(), s.isa_name(), p.n, p.macs,
                     p.seconds * 1e9, p.per_mac() * 1e9, flagged ? "true" : "false") +
              quoted(about.cpu) + "," + quoted(about.compiler) + "," + about.fovea + "," + about.date + "," +
              known(s.at.clock_mhz) + "," + known(s.at.temperature_c) +
              (about.emulated ? ",true\n" : ",false\n");
    }
  return text;
}

} // namespace

int run_sweep(const options& o) {
  const std::vector<curve> curves = curves_with(o.filter);
  progress p(curves.size() * o.isas.size());
  std::vector<swept> all;
  std::vector<drawing> drawings;
  const run_info about = this_run(o.emulated);
  print(p, about.text() + "\n\n");
  print(p, table_line("curve", "isa", "least ns per MAC", "most ns per MAC", "flags", "steepest step"));
  for (const curve& c : curves) {
    work type = {};
    type.type = c.type;
    std::vector<swept> of_curve;
    for (int32_t isa : o.isas) {
      p.step(c.name() + ", " + fovea_isa_name(isa));
      for (const kernel& by : kernels_of(type, isa)) {
        const swept s = sweep(c, by, o);
        print(p, table_row(s));
        if (s.status == FOVEA_OK) of_curve.push_back(s);
      }
    }
    if (!of_curve.empty()) drawings.push_back(sweep_chart(of_curve));
    all.insert(all.end(), of_curve.begin(), of_curve.end());
  }
  std::string flagged;
  for (const swept& s : all) flagged += cliffs_text(s);
  if (flagged.empty())
    print(p, all.empty() ? "\nNothing was measured: no chosen ISA computes such a curve.\n"
                         : "\nNo step is a cliff.\n");
  else
    print(p, "\nCliffs, each measured twice\n" + flagged);
  return write_files(
      {{o.csv, as_csv(all, about)}, {o.svg, svg_page("Sweeps on " + about.cpu, about.text(), drawings)}});
}

} // namespace bench
