// Samples are short and alternate: a peak, a pass over K and V, the work. What disturbs one disturbs its neighbours, and their
// medians stay comparable. This is why the loop is plain code: nanobench times one thing after another, and shares of limits that
// were measured at another moment say little on a shared machine. Its clock and its doNotOptimizeAway serve here all the same.
#include "measure.hpp"

#include <nanobench.h>

#include <algorithm>
#include <cmath>

#include "peak.hpp"

namespace bench {
namespace {

using stopwatch = ankerl::nanobench::Clock;

constexpr double least_sample = 150e-6; // far above the resolution of any clock
constexpr double long_call = 5e-3;      // samples beyond this meet interrupts and neighbours

double seconds_since(stopwatch::time_point start) { return std::chrono::duration<double>(stopwatch::now() - start).count(); }

// One work ready to run: the call, its scratch, and how it is cut into samples.
struct job {
  fovea_attention call;
  page_buffer scratch;
  int32_t parts = 1; // a long call is timed head by head, in turn: the caches hold what the loop over heads leaves in them
  int32_t next_part = 0;
  int calls = 1; // a short one is repeated
  int32_t status = FOVEA_OK;

  void run() {
    const int32_t now = fovea_attend(&call, scratch.data(), scratch.size());
    if (now != FOVEA_OK) status = now;
  }

  double sample() {
    if (parts > 1) call.part = {next_part, parts};
    next_part = (next_part + 1) % parts;
    const auto start = stopwatch::now();
    for (int i = 0; i < calls; ++i) run();
    const double seconds = seconds_since(start);
    ankerl::nanobench::doNotOptimizeAway(call.out.data);
    return seconds / calls * parts;
  }
};

size_t bytes_of(scratch_size size, const fovea_attention& call) {
  switch (size) {
    case scratch_size::least:
      return fovea_scratch_least(&call);
    case scratch_size::k64:
      return std::max(size_t{64} * 1024, fovea_scratch_least(&call));
    default:
      return fovea_scratch_best(&call);
  }
}

// The first call checks the result and warms up, the second tells how to cut the samples.
void check_and_cut(job& j, problem& p, const pace& speed, result& r) {
  p.spoil();
  j.run();
  r.finite = p.finite();
  r.digest = p.digest();
  const double once = j.sample();
  j.calls = std::max(1, static_cast<int>(std::ceil(least_sample / once)));
  if (once > long_call && !speed.whole) j.parts = j.call.kv_heads;
}

void take_samples(job& j, const page_buffer& cache, const pace& speed, result& r) {
  const peak_meter meter(r.isa);
  const isa_loops& loops = *loops_of(r.isa);
  const int passes = std::max(1, static_cast<int>(least_sample * 50e9 / static_cast<double>(cache.size())));
  std::vector<double> work, peak, read;
  const auto start = stopwatch::now();
  while (r.samples < speed.rounds && (r.samples < speed.least_rounds || seconds_since(start) < speed.seconds)) {
    peak.push_back(meter.sample());
    if (r.what.decode()) read.push_back(read_rate(loops, cache.data(), cache.size(), passes));
    work.push_back(j.sample());
    ++r.samples;
  }
  r.seconds = median(work);
  r.quiet_seconds = lowest_tenth(work);
  r.peak = median(peak);
  r.read = r.what.decode() ? median(read) : 0;
}

} // namespace

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const size_t middle = samples.size() / 2;
  return samples.size() % 2 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

double lowest_tenth(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 10];
}

pace pace_of(const options& o) {
  if (o.rounds > 0) return {o.rounds, o.rounds, 0, o.whole};
  return o.quick ? pace{31, 5, 0.5, o.whole} : pace{61, 7, 2.0, o.whole};
}

result measure(problem& p, const work& w, int32_t isa, scratch_size scratch, const pace& speed) {
  result r{};
  r.what = w;
  r.isa = isa;
  r.scratch = scratch;
  const fovea_attention call = p.call(isa);
  r.status = fovea_check(&call);
  if (r.status != FOVEA_OK) return r;
  r.scratch_bytes = bytes_of(scratch, call);
  job j{call, page_buffer(r.scratch_bytes)};
  check_and_cut(j, p, speed, r);
  if (j.status == FOVEA_OK) take_samples(j, p.cache(), speed, r);
  r.status = j.status;
  r.parts = j.parts;
  return r;
}

} // namespace bench
