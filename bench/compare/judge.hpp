// What pairs of runs say about one result: faster, slower, the same, or nothing certain. Pure decisions;
// main.cpp reads and prints.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "../disturbance.hpp"
#include "../saved.hpp"

namespace bench {

constexpr size_t least_pairs = 3;
constexpr double worth_saying = 0.03; // changes below are not looked at
constexpr double certainty = 3;       // standard errors

// The runs of one result; old and new of one place were made one after the other.
struct runs {
  std::vector<double> old_share, new_share, old_quiet, new_quiet;
  int left_out = 0; // pairs in which one run was disturbed
  bool same_bits = true;
};

inline void add_pair(runs& to, const saved_result& before, const saved_result& now) {
  to.same_bits = to.same_bits && now.digest == before.digest;
  if (before.disturbed || now.disturbed) {
    ++to.left_out;
    return;
  }
  to.old_share.push_back(before.share);
  to.old_quiet.push_back(before.quiet);
  to.new_share.push_back(now.share);
  to.new_quiet.push_back(now.quiet);
}

// New over old: above 1 is faster. By pairs, so that what changes from minute to minute drops out.
inline std::vector<double> speed_ups(const std::vector<double>& old_share,
                                     const std::vector<double>& new_share) {
  std::vector<double> all;
  for (size_t i = 0; i < old_share.size(); ++i) all.push_back(new_share[i] / old_share[i]);
  return all;
}

// How far runs of one build lie from their median, relative to it: the median of the distances, scaled to a
// standard deviation.
inline double noise_of(const runs& r) {
  std::vector<double> distances;
  for (const auto* side : {&r.old_share, &r.new_share}) {
    const double middle = median(*side);
    for (double share : *side) distances.push_back(std::fabs(share / middle - 1));
  }
  return 1.4826 * median(distances);
}

enum class verdict { same, faster, slower, unclear, disturbed };

struct finding {
  verdict what;
  double change, doubt; // relative: of the median speed, and three standard errors of it
};

inline finding judge(const runs& r, double usual_noise) {
  const std::vector<double> ratios = speed_ups(r.old_share, r.new_share);
  if (ratios.empty()) return {verdict::disturbed, 0, 0};
  const double change = median(ratios) - 1;
  const double quiet = median(speed_ups(r.old_quiet, r.new_quiet)) - 1;
  const double noise = std::max(noise_of(r), usual_noise);
  const double doubt = certainty * 1.25 * noise * std::sqrt(2.0 / static_cast<double>(ratios.size()));
  if (std::fabs(change) < worth_saying) return {verdict::same, change, doubt};
  const bool in_all = std::all_of(ratios.begin(), ratios.end(),
                                  [&](double ratio) { return (ratio > 1) == (change > 0); });
  const bool quiet_agrees = quiet / change > 0.5; // the same way, and at least half as far
  const bool certain = ratios.size() >= least_pairs && in_all && quiet_agrees && std::fabs(change) >= doubt;
  if (!certain) return {verdict::unclear, change, doubt};
  return {change > 0 ? verdict::faster : verdict::slower, change, doubt};
}

} // namespace bench
