// Whether other programs disturbed a measurement: pure decisions about what the clocks said.
// stopwatch.hpp reads the clocks.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

// One timed stretch of work.
struct timing {
  double wall = 0;     // seconds
  double cpu = 0;      // seconds in which this thread ran; equal to `wall` where the system has no such clock
  double switches = 0; // how often the system ran another thread instead; 0 where it does not count
};

constexpr double tolerated_loss = 0.02;  // of the wall time
constexpr double cost_of_switch = 20e-6; // seconds: the caches now hold data of the other program

inline double ran(const timing& t) { return std::min(t.wall, t.cpu); } // seconds in which this thread ran

// Seconds that went to other programs.
inline double lost(const timing& t) { return std::max(0.0, t.wall - t.cpu) + cost_of_switch * t.switches; }

inline bool disturbed(const timing& t) { return lost(t) > tolerated_loss * t.wall; }

constexpr const char* disturbed_mark = "*"; // behind a number in tables and pictures; report.hpp explains it

constexpr int most_tries = 4; // of one sample

// Calls `take` until its timing is undisturbed, at most `most_tries` times. If all are disturbed, returns
// the one that lost the smallest part of its time.
template <class Take>
timing undisturbed(Take take) {
  timing best = take();
  for (int tries = 1; tries < most_tries && disturbed(best); ++tries) {
    const timing next = take();
    if (!disturbed(next) || lost(next) * best.wall < lost(best) * next.wall) best = next;
  }
  return best;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

inline double lowest_tenth(std::vector<double> values) { // the 10th percentile
  std::sort(values.begin(), values.end());
  return values[values.size() / 10];
}

constexpr size_t enough_samples = 5;

// What the samples of one quantity say together.
struct summary {
  double median = 0, lowest_tenth = 0; // seconds
  int samples = 0;                     // how many count
  bool disturbed = false;              // too few were undisturbed
};

// The undisturbed samples count, if there are enough of them. Otherwise the CPU time of all samples counts,
// and the summary is marked: CPU time leaves out the other programs, but not the cold caches after them.
inline summary summarise(const std::vector<timing>& all) {
  std::vector<double> wall, cpu;
  for (const timing& t : all) {
    if (!disturbed(t)) wall.push_back(t.wall);
    cpu.push_back(ran(t));
  }
  const bool too_few = wall.size() < std::min(enough_samples, all.size());
  const std::vector<double>& counted = too_few ? cpu : wall;
  if (counted.empty()) return {};
  return {median(counted), lowest_tenth(counted), static_cast<int>(counted.size()), too_few};
}

// What several ways to do the same say together: the least median and the least 10th percentile. A way
// without samples says nothing.
inline summary fastest_of(const std::vector<summary>& ways) {
  summary found;
  for (const summary& s : ways) {
    if (s.samples == 0) continue;
    const double lowest = found.samples == 0 ? s.lowest_tenth : std::min(found.lowest_tenth, s.lowest_tenth);
    if (found.samples == 0 || s.median < found.median) found = s;
    found.lowest_tenth = lowest;
  }
  return found;
}

// Whether one of these results, each with a member `disturbed`, is.
template <class Result>
bool any_disturbed(const std::vector<Result>& results) {
  return std::any_of(results.begin(), results.end(), [](const Result& r) { return r.disturbed; });
}

} // namespace bench
