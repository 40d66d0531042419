// Where one size more changes the cost of a call by a jump: pure decisions about measured numbers. A step
// from one size to the next is a cliff if the time per multiply-accumulate rises by more than half, or if the
// call of the smaller size takes more than 1.5 times as long as that of the larger one.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace bench {

struct sweep_point {
  int32_t n;      // the size
  double macs;    // multiply-accumulates of one call
  double seconds; // of one call

  double per_mac() const { return seconds / macs; }
};

struct cliff {
  size_t at;              // between points[at] and points[at + 1]
  double ratio;           // of the times per multiply-accumulate, or of those of the calls
  bool smaller_is_slower; // of the calls: the smaller size takes `ratio` times as long as the larger one
};

constexpr double steep = 1.5;

// The worse of both ways in which a step from size to size can be a cliff.
inline cliff step_at(const std::vector<sweep_point>& points, size_t at) {
  const sweep_point &small = points[at], &large = points[at + 1];
  const double rise = large.per_mac() / small.per_mac(), drop = small.seconds / large.seconds;
  return {at, std::max(rise, drop), drop > rise};
}

inline bool is_cliff(const cliff& step) { return step.ratio > steep; }

inline std::vector<cliff> cliffs_of(const std::vector<sweep_point>& points) {
  std::vector<cliff> found;
  for (size_t i = 0; i + 1 < points.size(); ++i)
    if (const cliff step = step_at(points, i); is_cliff(step)) found.push_back(step);
  return found;
}

// The steepest step, cliff or not; there must be two points.
inline cliff steepest_of(const std::vector<sweep_point>& points) {
  cliff worst = step_at(points, 0);
  for (size_t i = 1; i + 1 < points.size(); ++i)
    if (const cliff step = step_at(points, i); step.ratio > worst.ratio) worst = step;
  return worst;
}

// Measures both sizes of each cliff again, in turn, until no cliff is left that was not measured again. A
// point keeps its least time. sample(i) returns the seconds of points[i].
template <class Sample>
std::vector<cliff> confirmed(std::vector<sweep_point>& points, int rounds, Sample sample) {
  std::set<size_t> again;
  for (bool all_known = false; !all_known;) {
    all_known = true;
    for (const cliff& c : cliffs_of(points)) {
      if (!again.insert(c.at).second) continue;
      all_known = false;
      for (int round = 0; round < rounds; ++round)
        for (size_t i : {c.at, c.at + 1}) points[i].seconds = std::min(points[i].seconds, sample(i));
    }
  }
  return cliffs_of(points);
}

// Sizes from 1 to `most`; a quick sweep takes each third one, and those around multiples of 8.
inline std::vector<int32_t> sizes_to(int32_t most, bool quick) {
  std::vector<int32_t> sizes;
  for (int32_t n = 1; n <= most; ++n)
    if (!quick || n % 3 == 1 || n % 8 <= 1 || n % 8 == 7) sizes.push_back(n);
  return sizes;
}

} // namespace bench
