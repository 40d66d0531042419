// fovea_compare: is the new build slower, or was the machine busy? Takes runs of an old and a new build that
// were made in turn, and calls only that a slowdown which every pair of runs shows, which is larger than what
// runs of one build differ by, and which the 10th percentile of the time shows too. Results that other
// programs disturbed are left out. With --boards it shows the results of several machines side by side.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "../finish.hpp"
#include "../saved.hpp"
#include "boards.hpp"
#include "judge.hpp"

namespace {

using namespace bench;

std::vector<saved_result> results_in(const char* path) {
  const std::vector<saved_result> all = read_saved(path);
  if (!all.front().watched)
    std::printf(
        "%s was written by an older fovea_bench, which did not notice when other programs disturbed it.\n",
        path);
  return all;
}

std::map<std::string, runs> gather(int count, char** paths) {
  std::map<std::string, runs> all;
  for (int i = 0; i < count; i += 2) {
    std::map<std::string, saved_result> before;
    for (const saved_result& r : results_in(paths[i])) before.emplace(r.name(), r);
    for (const saved_result& r : results_in(paths[i + 1])) {
      const auto old = before.find(r.name());
      if (old == before.end()) continue;
      add_pair(all[r.name()], old->second, r);
    }
  }
  return all;
}

double usual_noise(const std::map<std::string, runs>& all) {
  std::vector<double> noises;
  for (const auto& [name, r] : all)
    if (!r.old_share.empty()) noises.push_back(noise_of(r));
  return noises.empty() ? 0 : median(noises);
}

const char* words(verdict what) {
  switch (what) {
    case verdict::faster:
      return "faster";
    case verdict::slower:
      return "SLOWER";
    case verdict::unclear:
      return "unclear: noise may be all of it";
    case verdict::disturbed:
      return "not compared: disturbed by other programs";
    default:
      return "same";
  }
}

void print_row(const std::string& name, const runs& r, const finding& f) {
  if (f.what == verdict::disturbed) {
    std::printf("%-44s %8s %8s %8s %8s  %s%s\n", name.c_str(), "-", "-", "-", "-", words(f.what),
                r.same_bits ? "" : "; other bits");
    return;
  }
  std::printf("%-44s %8.1f %8.1f %+8.1f %8.1f  %s%s\n", name.c_str(), 100 * median(r.old_share),
              100 * median(r.new_share), 100 * f.change, 100 * f.doubt, words(f.what),
              r.same_bits ? "" : "; other bits");
}

void print_end(size_t pairs, int left_out, const std::map<verdict, int>& counts) {
  const auto count = [&](verdict what) { return counts.count(what) ? counts.at(what) : 0; };
  std::printf("\n%d slower, %d faster, %d the same within %.0f %%, %d unclear.\n", count(verdict::slower),
              count(verdict::faster), count(verdict::same), 100 * worth_saying, count(verdict::unclear));
  if (left_out > 0)
    std::printf(
        "Left out: %d pairs of results, because other programs disturbed one of the two; %d results are not "
        "compared at all.\n",
        left_out, count(verdict::disturbed));
  if (pairs < least_pairs)
    std::printf(
        "One slow run proves nothing: give at least %zu pairs, made in turn (old, new, old, new, ...).\n",
        least_pairs);
  else if (count(verdict::unclear) > 0)
    std::printf("More pairs, or a quieter machine, would settle what is unclear.\n");
}

int compare(int count, char** paths) {
  const std::map<std::string, runs> all = gather(count, paths);
  if (all.empty())
    throw saved_error("the files have no result in common; run the same works on the same ISAs");
  const double noise = usual_noise(all);
  const size_t pairs = static_cast<size_t>(count) / 2;
  std::printf("%zu %s of runs; shares of the limit and changes of speed in %%, medians\n\n", pairs,
              pairs == 1 ? "pair" : "pairs");
  std::printf("%-44s %8s %8s %8s %8s  verdict\n", "work", "old", "new", "change", "doubt");
  std::map<verdict, int> counts;
  int left_out = 0;
  for (const auto& [name, r] : all) {
    const finding f = judge(r, noise);
    ++counts[f.what];
    left_out += r.left_out;
    print_row(name, r, f);
  }
  print_end(pairs, left_out, counts);
  return counts.count(verdict::slower) ? 1 : 0;
}

int show_boards(int count, char** arguments) {
  std::vector<machine_file> files;
  bool per_mac = false;
  for (int i = 0; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--per-mac")
      per_mac = true;
    else if (word.rfind("--", 0) == 0)
      throw saved_error("--boards takes files and --per-mac, not " + word);
    else
      files.push_back({word, read_objects(word)});
  }
  if (files.empty()) throw saved_error("--boards needs files that --json wrote, one for each machine");
  const boards_text found = boards_side_by_side(files, per_mac);
  std::fputs(found.table.c_str(), stdout);
  if (!found.same_bits)
    std::printf("Bits differ where they should not: compare versions of fovea, and run the tests there.\n");
  return found.same_bits ? 0 : 1;
}

int run(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--boards") return show_boards(argc - 2, argv + 2);
  if (argc < 3 || argc % 2 == 0) {
    std::fputs(
        "fovea_compare OLD.json NEW.json [OLD.json NEW.json ...]\n"
        "  files that fovea_bench --json wrote, in the order in which the runs were made: old and new in "
        "turn, three pairs or more.\n"
        "  Ends with 1 when something has become slower beyond doubt, with 0 when not, with 2 when the files "
        "cannot be used.\n"
        "fovea_compare --boards [--per-mac] FILE.json...\n"
        "  one file for each machine: its results side by side, a column for each ISA; per MAC: for each "
        "multiply-add.\n"
        "  Ends with 1 when bits differ that should not.\n",
        stderr);
    return 2;
  }
  return compare(argc - 1, argv + 1);
}

} // namespace

int main(int argc, char** argv) {
  try {
    return finish("fovea_compare", run(argc, argv));
  } catch (const saved_error& error) {
    std::fprintf(stderr, "fovea_compare: %s\n", error.what());
    return 2;
  }
}
