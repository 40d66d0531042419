// One line a second goes into the files; the terminal shows the run in sixty columns.
#include "sustained.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "chart.hpp"
#include "chosen.hpp"
#include "files.hpp"
#include "fovea/fovea.h"
#include "part_job.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace bench {
namespace {

constexpr double interval = 1.0, least_sample = 20e-3;
constexpr const char* usual_work = "prefill 8x64 512";

work chosen_work(const options& o) {
  options one = o;
  if (one.filter.empty()) one.filter = usual_work;
  for (const work& w : works_of(one).attention)
    if (has_parts(w)) return w;
  throw usage_error("--sustained needs a work of attention, and --filter \"" + o.filter +
                    "\" names none that has parts; --list shows the names");
}

bool terminal_has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      const std::string text = value;
      return text.find("UTF-8") != std::string::npos || text.find("utf8") != std::string::npos;
    }
  return false;
}

std::string picture(const std::vector<moment>& all) {
  struct {
    const char *name, *unit;
    double (*value)(const moment&);
  } const lines[] = {{"rate", "GFLOP/s", [](const moment& m) { return m.gflops; }},
                     {"clock", "MHz", [](const moment& m) { return m.at.clock_mhz; }},
                     {"temperature", "C", [](const moment& m) { return m.at.temperature_c; }}};
  std::string text;
  for (const auto& line : lines) {
    std::vector<double> values;
    for (const moment& m : all) values.push_back(line.value(m));
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    text += *most <= 0 ? format("%-12s unknown\n", line.name)
                       : format("%-12s %s  %.1f to %.1f %s\n", line.name,
                                bars(values, 60, terminal_has_utf8()).c_str(), *least, *most, line.unit);
  }
  return text;
}

std::string verdict_text(const endurance& e, double seconds) {
  const char* const name = seconds >= 120 ? "minute" : "half";
  const auto side = [](const moment& m) {
    const std::string at = conditions_text(m.at);
    return format("%.1f GFLOP/s", m.gflops) + (at.empty() ? "" : ", " + at);
  };
  return format("\nfirst %s: %s\nlast %s: %s\nchange: %+.1f %%\n", name, side(e.first).c_str(), name,
                side(e.last).c_str(), 100 * e.change());
}

saved_fields fields(const work& w, const std::string& isa, int threads, const moment& m,
                    const run_info& about) {
  saved_fields known = fields_of_shape(w);
  known.insert(known.end(), {{"work", quoted(w.name())},
                             {"isa", quoted(isa)},
                             {"seconds", format("%.6g", w.flops() / m.gflops * 1e-9)},
                             {"gflops", format("%.6g", m.gflops)},
                             {"scratch", quoted("best")},
                             {"threads", format("%d", threads)},
                             {"second", format("%.1f", m.second)}});
  add_circumstances(known, about, m.at);
  return known;
}

// The last moment, on one line of the terminal.
void show(const progress& p, const moment& m, double end) {
  const std::string at = conditions_text(m.at);
  if (isatty(STDERR_FILENO))
    std::fprintf(stderr, "\r\033[K%.0f of %.0f s: %.1f GFLOP/s%s%s", m.second, end, m.gflops,
                 at.empty() ? "" : ", ", at.c_str());
  (void)p;
}

} // namespace

int run_sustained(const options& o) {
  const work w = chosen_work(o);
  const run_info about = this_run(o.emulated);
  const std::vector<kernel> kernels = kernels_of(w, o.isas.back());
  if (kernels.empty()) throw usage_error(w.name() + " has no kernel of the ISA chosen; give another --isa");
  const kernel by = kernels.back();
  const std::string isa = by.integer_isa ? fovea_fixed_isa_name(by.integer_isa) : fovea_isa_name(by.isa);
  const int threads = o.threads.empty() ? 1 : o.threads.back();
  progress p(1);
  print(p, about.text() + "\n" + w.name() + " on " + isa + ", " + std::to_string(threads) +
               (threads == 1 ? " thread, " : " threads, ") + format("%g", o.sustained_seconds / 60) +
               " minutes" + (governor().empty() ? "" : ", governor " + governor()) + "\n\n");
  problem data(w);
  team all(threads);
  part_job job(data, w, by, threads);
  const int calls = job.calls_for(all, least_sample);
  if (const int32_t s = job.status()) throw std::runtime_error(w.name() + ": " + fovea_reason_text(s));
  std::vector<moment> moments;
  const stopwatch watch;
  double begun = 0;
  for (double computed = 0; begun < o.sustained_seconds;) {
    job.sample(all, calls);
    computed += calls;
    const double now = watch.read().wall;
    if (now - begun < interval && now < o.sustained_seconds) continue;
    moments.push_back({now, w.flops() * computed / (now - begun) * 1e-9, conditions_now()});
    show(p, moments.back(), o.sustained_seconds);
    begun = now;
    computed = 0;
  }
  print(p, picture(moments) + verdict_text(endurance_of(moments), o.sustained_seconds));
  std::vector<saved_fields> rows;
  for (const moment& m : moments) rows.push_back(fields(w, isa, threads, m, about));
  return write_files(o, rows, "");
}

} // namespace bench
