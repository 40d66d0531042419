// fovea_peers: fovea and what else there is, one after another in one process on one thread, as shares of the
// limit of this core.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "../peak.hpp"
#include "../problem.hpp"
#include "fovea/fovea.h"
#include "peer.hpp"
#include "reference.hpp"

namespace {

using namespace bench;
using stopwatch = std::chrono::steady_clock;

constexpr bool wide = FOVEA_PEERS_ISA == FOVEA_AVX512;
constexpr double least_sample = 150e-6, long_call = 5e-3, tolerance = 1e-4;

// The libraries read these when they are loaded, so the program starts itself again with them.
constexpr const char* settings[][2] = {{"OPENBLAS_CORETYPE", wide ? "SKYLAKEX" : "HASWELL"},
                                       {"ONEDNN_MAX_CPU_ISA", wide ? "AVX512_CORE" : "AVX2"},
                                       {"DNNL_MAX_CPU_ISA", wide ? "AVX512_CORE" : "AVX2"},
                                       {"OPENBLAS_NUM_THREADS", "1"},
                                       {"OMP_NUM_THREADS", "1"}};

void start_with_settings(char** argv) {
  bool all = true;
  for (const auto& [name, value] : settings) {
    const char* now = std::getenv(name);
    all = all && now && std::strcmp(now, value) == 0;
    setenv(name, value, 1);
  }
  if (!all) execv("/proc/self/exe", argv);
}

double seconds_since(stopwatch::time_point start) {
  return std::chrono::duration<double>(stopwatch::now() - start).count();
}

double at(std::vector<double> samples, double place) {
  std::sort(samples.begin(), samples.end());
  return samples[static_cast<size_t>(place * static_cast<double>(samples.size() - 1))];
}

// One way to compute a work, and its samples. A long call is timed one KV head at a time, in turn.
struct contender {
  std::string name;
  std::function<void(int32_t first, int32_t heads)> run;
  int32_t heads, each, next = 0;
  int calls = 1;
  double error = 0;
  std::vector<double> seconds = {};

  // The first call, untimed, brings this one's keys and values into the caches, which it shares with the
  // others.
  double sample() {
    run(next, each);
    const auto start = stopwatch::now();
    for (int i = 0; i < calls; ++i) run(next, each);
    const double taken = seconds_since(start) / calls * heads / each;
    next = (next + each) % heads;
    return taken;
  }

  void prepare() {
    sample();
    const double once = sample();
    calls = std::max(1, static_cast<int>(std::ceil(least_sample / once)));
    if (once > long_call) each = 1;
  }
};

struct fovea_call {
  fovea_attention call;
  page_buffer scratch;

  void run(int32_t first, int32_t heads) {
    const int32_t of = call.kv_heads;
    call.part = heads == of ? fovea_part{0, 1} : fovea_part{first, of};
    const int32_t status = fovea_attend(&call, scratch.data(), scratch.size());
    if (status == FOVEA_OK) return;
    std::fprintf(stderr, "fovea_peers: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
    std::exit(2);
  }
};

struct limit {
  std::vector<double> peak = {}, read = {};

  double seconds(const work& w) const {
    const double computing = w.flops() / at(peak, 0.5);
    return read.empty() ? computing
                        : std::max(computing, static_cast<double>(w.cache_bytes()) / at(read, 0.5));
  }
};

void measure(const work& w, const problem& data, int rounds, std::vector<contender>& all, limit& of) {
  const peak_meter meter(FOVEA_PEERS_ISA);
  const int passes = std::max(1,
                              static_cast<int>(least_sample * 50e9 / static_cast<double>(w.cache_bytes())));
  for (int round = 0; round < rounds; ++round) {
    of.peak.push_back(meter.sample());
    for (int warm = 0; warm < 2 && w.decode(); ++warm) {
      const double rate = read_rate(*loops_of(FOVEA_PEERS_ISA), data.cache().data(), data.cache().size(),
                                    passes);
      if (warm) of.read.push_back(rate);
    }
    for (contender& c : all) c.seconds.push_back(c.sample());
  }
}

bool check(problem& data, const tensors& t, std::vector<contender>& all) {
  bool right = true;
  for (contender& c : all) {
    data.spoil();
    c.run(0, c.heads);
    c.error = largest_error(t);
    if (c.error < tolerance) continue;
    std::printf("%s: %s is off by %.1e\n", t.what.name().c_str(), c.name.c_str(), c.error);
    right = false;
  }
  return right;
}

fovea_call made(const fovea_attention& call) { return {call, page_buffer(fovea_scratch_best(&call))}; }

contender contender_of(const work& w, fovea_call& ours) {
  return {"fovea", [&ours](int32_t first, int32_t heads) { ours.run(first, heads); }, w.kv_heads, w.kv_heads};
}

tensors tensors_of(const work& w, const problem& data) {
  const fovea_attention call = data.call(FOVEA_PEERS_ISA);
  return {w, static_cast<const float*>(call.q.data), static_cast<const float*>(call.k.data),
          static_cast<const float*>(call.v.data), static_cast<float*>(call.out.data)};
}

// One problem, all who solve it, and the limit that was sampled between them.
struct race {
  std::vector<contender> all;
  limit of = {};

  bool run(problem& data, const tensors& t, int rounds) {
    if (!check(data, t, all)) return false;
    for (contender& c : all) c.prepare();
    measure(t.what, data, rounds, all, of);
    return true;
  }
  double share(const contender& c, double place = 0.5) const { return of_work / at(c.seconds, place); }
  double of_work = 0; // seconds at the limit
};

// Shares of the limit in per cent: the median, and behind it the 10th percentile of the time. Then the
// fastest of the others, and how many times as fast fovea is. Panels hold another copy of the keys, which
// would push the first out of the caches: they run alone, behind the others, and are compared by shares.
void print_row(const work& w, const race& rows, const race& panels) {
  const auto text = [](const race& r, const contender& c) {
    char cell[32];
    std::snprintf(cell, sizeof cell, "%.1f (%.1f)", 100 * r.share(c), 100 * r.share(c, 0.1));
    return std::string(cell);
  };
  std::printf("%-24s %9.4g  %14s  %14s", w.name().c_str(), rows.of_work * 1e6,
              text(rows, rows.all[0]).c_str(),
              panels.all.empty() ? "-" : text(panels, panels.all[0]).c_str());
  const contender* fastest = &rows.all[1];
  for (size_t i = 1; i < rows.all.size(); ++i) {
    std::printf("  %14s", text(rows, rows.all[i]).c_str());
    if (rows.share(rows.all[i]) > rows.share(*fastest)) fastest = &rows.all[i];
  }
  std::printf("  %-8s %6.2f", fastest->name.c_str(), rows.share(rows.all[0]) / rows.share(*fastest));
  if (!panels.all.empty()) std::printf(" %6.2f", panels.share(panels.all[0]) / rows.share(*fastest));
  std::puts("");
  std::fflush(stdout);
}

bool race_rows(const work& w, int rounds, race& r) {
  problem data(w);
  const tensors t = tensors_of(w, data);
  fovea_call ours = made(data.call(FOVEA_PEERS_ISA));
  std::vector<composite> theirs;
  theirs.emplace_back(eigen_products(), t);
  theirs.emplace_back(openblas_products(), t);
  theirs.emplace_back(onednn_products(), t);
  r.all = {contender_of(w, ours)};
  for (composite& c : theirs)
    r.all.push_back(
        {c.name(), [&c](int32_t first, int32_t heads) { c.run(first, heads); }, w.kv_heads, w.kv_heads});
  const bool right = r.run(data, t, rounds);
  r.of_work = r.of.seconds(w);
  return right;
}

bool race_panels(work w, int rounds, race& r) {
  problem rows(w);
  w.k_layout = FOVEA_PANELS;
  problem data(w);
  tensors t = tensors_of(w, data);
  t.k = tensors_of(w, rows).k; // the textbook reads rows
  fovea_call ours = made(data.call(FOVEA_PEERS_ISA));
  r.all = {contender_of(w, ours)};
  const bool right = r.run(data, t, rounds);
  r.of_work = r.of.seconds(w);
  return right;
}

bool run_work(const work& w, int rounds) {
  race rows, panels;
  if (!race_rows(w, rounds, rows) || (w.decode() && !race_panels(w, rounds, panels))) return false;
  print_row(w, rows, panels);
  return true;
}

int usage() {
  std::puts(
      "fovea_peers [FILTER] [ROUNDS]: works whose name contains FILTER, so many samples of each (without it "
      "31)");
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  start_with_settings(argv);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 31;
  if (argc > 3 || rounds < 1 || (argc > 1 && argv[1][0] == '-')) return usage();
  if (fovea_has_isa(FOVEA_PEERS_ISA) != 1) {
    std::fprintf(stderr, "fovea_peers: this machine does not run %s\n", fovea_isa_name(FOVEA_PEERS_ISA));
    return 2;
  }
  std::printf(
      "one thread, %s; shares of the limit in %%: median (10th percentile of the time); x: times as fast as "
      "the fastest other\n",
      fovea_isa_name(FOVEA_PEERS_ISA));
  std::printf("%-24s %9s  %14s  %14s  %14s  %14s  %14s  %-8s %6s %6s\n", "work", "limit us", "fovea",
              "from panels", "Eigen", "OpenBLAS", "oneDNN", "fastest", "x", "panels");
  bool right = true;
  for (const work& w : works_with(argc > 1 ? argv[1] : ""))
    if (w.k_layout == FOVEA_ROWS && !w.integers()) right = run_work(w, rounds) && right;
  return right ? 0 : 1;
}
