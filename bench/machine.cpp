// Times the bare loops for the rates.
#include "machine.hpp"

#include <algorithm>
#include <cmath>

#include "peak.hpp"
#include "problem.hpp"

namespace bench {
namespace {

constexpr size_t kib = 1024, mib = 1024 * kib;

constexpr double least_sample = 200e-6;
constexpr size_t longest_stretch = 8 *
                                   mib; // read in a few milliseconds, which other programs rarely cut in two

rate peak_of(int32_t isa) {
  constexpr int rounds = 31;
  const peak_meter meter(isa);
  std::vector<timing> samples;
  for (int round = 0; round < rounds; ++round) samples.push_back(undisturbed([&] { return meter.time(); }));
  const summary found = summarise(samples);
  return {meter.flops() / found.median, found.disturbed};
}

// Small working sets are read many times in a sample; a large one stretch after stretch, in turn.
rate read_rate_of(const isa_loops& loops, size_t bytes, bool quick) {
  const page_buffer data(bytes);
  const size_t stretch = std::min(bytes, longest_stretch), stretches = bytes / stretch;
  size_t next = 0;
  const auto sample = [&](int loop, int passes) {
    const char* const at = static_cast<const char*>(data.data()) + next * stretch;
    next = (next + 1) % stretches;
    return time_of_reading(loops, loop, at, stretch, passes);
  };
  for (size_t i = 0; i < stretches; ++i) sample(0, 1); // into the caches
  const int passes = stretches > 1
                         ? 1
                         : std::max(1, static_cast<int>(std::ceil(least_sample / ran(sample(0, 1)))));
  const int rounds = quick ? 15 : 61;
  loop_samples samples;
  for (int round = 0; round < rounds; ++round)
    samples.take(read_loops, [&](int loop) { return sample(loop, passes); });
  const summary found = samples.fastest();
  return {static_cast<double>(stretch) * passes / found.median, found.disturbed};
}

} // namespace

// Half of a cache leaves room for others; of a large shared L3 nobody owns more than a few megabytes.
std::vector<level> memory_levels() {
  const size_t l1 = cache_size(1, 32 * kib), l2 = cache_size(2, 512 * kib), l3 = cache_size(3, 0);
  std::vector<level> levels = {{"L1", l1 / 2}};
  if (l2 > 0) levels.push_back({"L2", l2 / 2});
  if (l3 > 2 * l2) levels.push_back({"L3", std::min(l3 / 2, 8 * mib)});
  levels.push_back({"DRAM", std::clamp(4 * std::max(l2, l3), 64 * mib, 256 * mib)});
  return levels;
}

bool any_disturbed(const std::vector<limits>& machine) {
  return std::any_of(machine.begin(), machine.end(),
                     [](const limits& m) { return m.peak.disturbed || any_disturbed(m.read); });
}

limits limits_of(int32_t isa, const std::vector<level>& levels, bool quick) {
  limits found{isa, peak_of(isa), {}};
  for (const level& l : levels) found.read.push_back(read_rate_of(*loops_of(isa), l.bytes, quick));
  return found;
}

} // namespace bench
