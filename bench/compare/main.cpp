// fovea_compare: is the new build slower, or was the machine busy? Takes runs of an old and a new build that were made in turn, and
// calls only that a slowdown which every pair of runs shows, which is larger than what runs of one build differ by, and which the
// undisturbed samples show too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../saved.hpp"

namespace {

using namespace bench;

constexpr size_t least_pairs = 3;
constexpr double worth_saying = 0.03; // changes below are not looked at
constexpr double certainty = 3;       // standard errors

// The runs of one result; old and new of one place were made one after the other.
struct runs {
  std::vector<double> old_share, new_share, old_quiet, new_quiet;
  bool same_bits = true;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// New over old: above 1 is faster. By pairs, so that what changes from minute to minute drops out.
std::vector<double> speed_ups(const std::vector<double>& old_share, const std::vector<double>& new_share) {
  std::vector<double> all;
  for (size_t i = 0; i < old_share.size(); ++i) all.push_back(new_share[i] / old_share[i]);
  return all;
}

// How far runs of one build lie from their median, relative to it: the median of the distances, scaled to a standard deviation.
double noise_of(const runs& r) {
  std::vector<double> distances;
  for (const auto* side : {&r.old_share, &r.new_share}) {
    const double middle = median(*side);
    for (double share : *side) distances.push_back(std::fabs(share / middle - 1));
  }
  return 1.4826 * median(distances);
}

enum class verdict { same, faster, slower, unclear };

struct finding {
  verdict what;
  double change, doubt; // relative: of the median speed, and three standard errors of it
};

finding judge(const runs& r, double usual_noise) {
  const std::vector<double> ratios = speed_ups(r.old_share, r.new_share);
  const double change = median(ratios) - 1, quiet = median(speed_ups(r.old_quiet, r.new_quiet)) - 1;
  const double noise = std::max(noise_of(r), usual_noise);
  const double doubt = certainty * 1.25 * noise * std::sqrt(2.0 / static_cast<double>(ratios.size()));
  if (std::fabs(change) < worth_saying) return {verdict::same, change, doubt};
  const bool in_all = std::all_of(ratios.begin(), ratios.end(), [&](double ratio) { return (ratio > 1) == (change > 0); });
  const bool undisturbed = quiet / change > 0.5; // the same way, and at least half as far
  if (ratios.size() < least_pairs || !in_all || !undisturbed || std::fabs(change) < doubt) return {verdict::unclear, change, doubt};
  return {change > 0 ? verdict::faster : verdict::slower, change, doubt};
}

std::map<std::string, runs> gather(int count, char** paths) {
  std::map<std::string, runs> all;
  for (int i = 0; i < count; i += 2) {
    std::map<std::string, saved_result> before;
    for (const saved_result& r : read_saved(paths[i])) before.emplace(r.name(), r);
    for (const saved_result& r : read_saved(paths[i + 1])) {
      const auto old = before.find(r.name());
      if (old == before.end()) continue;
      runs& to = all[r.name()];
      to.old_share.push_back(old->second.share), to.old_quiet.push_back(old->second.quiet);
      to.new_share.push_back(r.share), to.new_quiet.push_back(r.quiet);
      to.same_bits = to.same_bits && r.digest == old->second.digest;
    }
  }
  return all;
}

double usual_noise(const std::map<std::string, runs>& all) {
  std::vector<double> noises;
  for (const auto& [name, r] : all) noises.push_back(noise_of(r));
  return median(noises);
}

const char* words(verdict what) {
  switch (what) {
    case verdict::faster:
      return "faster";
    case verdict::slower:
      return "SLOWER";
    case verdict::unclear:
      return "unclear: noise may be all of it";
    default:
      return "same";
  }
}

void print_row(const std::string& name, const runs& r, const finding& f) {
  std::printf("%-44s %8.1f %8.1f %+8.1f %8.1f  %s%s\n", name.c_str(), 100 * median(r.old_share), 100 * median(r.new_share), 100 * f.change,
              100 * f.doubt, words(f.what), r.same_bits ? "" : "; other bits");
}

void print_end(size_t pairs, const std::map<verdict, int>& counts) {
  const auto count = [&](verdict what) { return counts.count(what) ? counts.at(what) : 0; };
  std::printf("\n%d slower, %d faster, %d the same within %.0f %%, %d unclear.\n", count(verdict::slower), count(verdict::faster),
              count(verdict::same), 100 * worth_saying, count(verdict::unclear));
  if (pairs < least_pairs)
    std::printf("One slow run proves nothing: give at least %zu pairs, made in turn (old, new, old, new, ...).\n", least_pairs);
  else if (count(verdict::unclear) > 0)
    std::printf("More pairs, or a quieter machine, would settle what is unclear.\n");
}

int compare(int count, char** paths) {
  const std::map<std::string, runs> all = gather(count, paths);
  if (all.empty()) throw saved_error("the files have no result in common; run the same works on the same ISAs");
  const double noise = usual_noise(all);
  const size_t pairs = static_cast<size_t>(count) / 2;
  std::printf("%zu %s of runs; shares of the limit and changes of speed in %%, medians\n\n", pairs, pairs == 1 ? "pair" : "pairs");
  std::printf("%-44s %8s %8s %8s %8s  verdict\n", "work", "old", "new", "change", "doubt");
  std::map<verdict, int> counts;
  for (const auto& [name, r] : all) {
    const finding f = judge(r, noise);
    ++counts[f.what];
    print_row(name, r, f);
  }
  print_end(pairs, counts);
  return counts.count(verdict::slower) ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) {
    std::fputs(
        "fovea_compare OLD.json NEW.json [OLD.json NEW.json ...]\n"
        "  files that fovea_bench --json wrote, in the order in which the runs were made: old and new in turn, three pairs or more.\n"
        "  Ends with 1 when something has become slower beyond doubt, with 0 when not, with 2 when the files cannot be used.\n",
        stderr);
    return 2;
  }
  try {
    return compare(argc - 1, argv + 1);
  } catch (const saved_error& error) {
    std::fprintf(stderr, "fovea_compare: %s\n", error.what());
    return 2;
  }
}
