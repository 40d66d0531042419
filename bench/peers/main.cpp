// fovea_peers: fovea and what else there is, one after another in one process on one thread, as shares of the limit of this core.
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

double seconds_since(stopwatch::time_point start) { return std::chrono::duration<double>(stopwatch::now() - start).count(); }

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

  double sample() {
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
  std::vector<double> peak, read;

  double seconds(const work& w) const {
    const double computing = w.flops() / at(peak, 0.5);
    return read.empty() ? computing : std::max(computing, static_cast<double>(w.cache_bytes()) / at(read, 0.5));
  }
};

void measure(const work& w, const problem& data, int rounds, std::vector<contender>& all, limit& of) {
  const peak_meter meter(FOVEA_PEERS_ISA);
  const int passes = std::max(1, static_cast<int>(least_sample * 50e9 / static_cast<double>(w.cache_bytes())));
  for (int round = 0; round < rounds; ++round) {
    of.peak.push_back(meter.sample());
    if (w.decode()) of.read.push_back(read_rate(*loops_of(FOVEA_PEERS_ISA), data.cache().data(), data.cache().size(), passes));
    for (contender& c : all) c.seconds.push_back(c.sample());
  }
}

std::vector<contender> contenders(const work& w, fovea_call& ours, std::vector<composite>& theirs) {
  std::vector<contender> all = {{"fovea", [&](int32_t first, int32_t heads) { ours.run(first, heads); }, w.kv_heads, w.kv_heads}};
  for (composite& c : theirs) all.push_back({c.name(), [&](int32_t first, int32_t heads) { c.run(first, heads); }, w.kv_heads, w.kv_heads});
  return all;
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

// Shares of the limit in per cent: the median, and behind it the 10th percentile of the time.
void print_row(const work& w, const limit& of, const std::vector<contender>& all) {
  const double ideal = of.seconds(w);
  std::printf("%-28s %9.4g", w.name().c_str(), ideal * 1e6);
  double best = HUGE_VAL, best_quiet = HUGE_VAL;
  for (const contender& c : all) {
    const double median = at(c.seconds, 0.5);
    std::printf("  %6.1f (%5.1f)", 100 * ideal / median, 100 * ideal / at(c.seconds, 0.1));
    if (&c == &all.front()) continue;
    best = std::min(best, median);
    best_quiet = std::min(best_quiet, at(c.seconds, 0.1));
  }
  std::printf("  %6.2f (%4.2f)\n", best / at(all.front().seconds, 0.5), best_quiet / at(all.front().seconds, 0.1));
  std::fflush(stdout);
}

bool run_work(const work& w, int rounds) {
  problem data(w);
  fovea_attention call = data.call(FOVEA_PEERS_ISA);
  const tensors t{w, static_cast<const float*>(call.q.data), static_cast<const float*>(call.k.data), static_cast<const float*>(call.v.data),
                  static_cast<float*>(call.out.data)};
  call.kv_heads = w.kv_heads;
  fovea_call ours{call, page_buffer(fovea_scratch_best(&call))};
  std::vector<composite> theirs;
  theirs.emplace_back(eigen_products(), t);
  theirs.emplace_back(openblas_products(), t);
  theirs.emplace_back(onednn_products(), t);
  std::vector<contender> all = contenders(w, ours, theirs);
  if (!check(data, t, all)) return false;
  for (contender& c : all) c.prepare();
  limit of;
  measure(w, data, rounds, all, of);
  print_row(w, of, all);
  return true;
}

int usage() {
  std::puts("fovea_peers [FILTER] [ROUNDS]: works whose name contains FILTER, so many samples of each (without it 31)");
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
  std::printf("one thread, %s; shares of the limit in %%: median (10th percentile of the time); x: fovea against the fastest peer\n",
              fovea_isa_name(FOVEA_PEERS_ISA));
  std::printf("%-28s %9s  %14s  %14s  %14s  %14s  %6s\n", "work", "limit us", "fovea", "Eigen", "OpenBLAS", "oneDNN", "x");
  bool right = true;
  for (const work& w : works_with(argc > 1 ? argv[1] : ""))
    if (w.k_layout == FOVEA_ROWS) right = run_work(w, rounds) && right;
  return right ? 0 : 1;
}
