// What the benchmark believes: which samples other programs disturbed, what the rest say, which sizes are
// cost cliffs, and what fovea_compare makes of saved runs.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "bench/cliffs.hpp"
#include "bench/compare/judge.hpp"
#include "bench/disturbance.hpp"
#include "bench/saved.hpp"

using namespace bench;

namespace {

constexpr double us = 1e-6, ms = 1e-3;

constexpr timing quiet(double wall) { return {wall, wall, 0}; }
constexpr timing halved(double wall) {
  return {wall, wall / 2, 1};
} // another program had the core for half of the time

std::vector<timing> times(int count, timing t) { return std::vector<timing>(static_cast<size_t>(count), t); }

std::vector<timing> operator+(std::vector<timing> a, const std::vector<timing>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Takes the given timings one after the other, and counts them.
struct player {
  std::vector<timing> of;
  size_t taken = 0;
  timing operator()() { return of[taken++]; }
};

std::string saved(const char* share, const char* end) {
  return std::string(R"([{"work":"w","isa":"avx2","scratch":"best","digest":"1","share":)") + share +
         R"(,"share_quiet":)" + share + end + "}]";
}

} // namespace

TEST_CASE("bench: which samples are disturbed") {
  struct {
    timing t;
    bool expected;
    const char* why;
  } const rows[] = {
      {{150 * us, 150 * us, 0}, false, "nothing happened"},
      {{150 * us, 151 * us, 0}, false, "the CPU clock is read outside the wall clock, so it may say more"},
      {{150 * us, 148 * us, 0}, false, "an interrupt of 2 us is less than 2 %"},
      {{150 * us, 140 * us, 0}, true, "10 us of 150 are more than 2 %"},
      {{150 * us, 150 * us, 1}, true, "one switch leaves cold caches: much for a short sample"},
      {{14 * ms, 13.99 * ms, 1}, false, "one switch of 10 us: little for a long sample"},
      {{14 * ms, 14 * ms, 20}, true, "many switches: much for a long sample, too"},
      {{4150 * us, 150 * us, 1}, true, "another program had a slice of 4 ms"},
      {{482 * ms, 120 * ms, 30}, true, "three other programs on the same core"},
      {{0, 0, 0}, false, "no time at all: the rival of a work that has none"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(disturbed(row.t) == row.expected);
  }
}

TEST_CASE("bench: a disturbed sample is taken again, a few times") {
  struct {
    std::vector<timing> timings;
    size_t taken;
    double wall;
    const char* why;
  } const rows[] = {
      {{quiet(1 * ms), quiet(2 * ms)}, 1, 1 * ms, "the first is undisturbed"},
      {{halved(4 * ms), quiet(2 * ms), quiet(1 * ms)},
       2,
       2 * ms,
       "the first undisturbed one counts, not the fastest"},
      {{halved(4 * ms), halved(3 * ms), halved(3 * ms), quiet(2 * ms)}, 4, 2 * ms, "the last try"},
      {{halved(4 * ms), {3 * ms, 2 * ms, 1}, halved(5 * ms), halved(5 * ms), quiet(ms)},
       4,
       3 * ms,
       "never: the one that lost least"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    player take{row.timings};
    CHECK(undisturbed([&] { return take(); }).wall == row.wall);
    CHECK(take.taken == row.taken);
  }
}

TEST_CASE("bench: what samples say together") {
  struct {
    std::vector<timing> samples;
    double median;
    int counted;
    bool marked;
    const char* why;
  } const rows[] = {
      {times(31, quiet(1 * ms)), 1 * ms, 31, false, "an idle machine"},
      {times(5, quiet(1 * ms)) + times(26, halved(8 * ms)), 1 * ms, 5, false,
       "five undisturbed samples are enough, whatever the rest says"},
      {times(4, quiet(1 * ms)) + times(27, halved(8 * ms)), 4 * ms, 31, true,
       "four are not: CPU time of all"},
      {times(31, halved(8 * ms)), 4 * ms, 31, true, "a busy machine: CPU time of all"},
      {times(2, quiet(1 * ms)), 1 * ms, 2, false, "--rounds 2 asks for no more"},
      {times(1, quiet(1 * ms)) + times(1, halved(2 * ms)), 1 * ms, 2, true,
       "--rounds 2, of which one was disturbed"},
      {{}, 0, 0, false, "a work that is judged by no such limit"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const summary found = summarise(row.samples);
    CHECK(found.median == doctest::Approx(row.median));
    CHECK(found.samples == row.counted);
    CHECK(found.disturbed == row.marked);
  }
}

TEST_CASE("bench: the fastest of several loops is the limit") {
  const summary none = {}, one = {3 * us, 2 * us, 9, false}, other = {2 * us, 1.5 * us, 8, true},
                lucky = {4 * us, 1 * us, 7, false};
  struct {
    std::vector<summary> ways;
    summary expected;
    const char* why;
  } const rows[] = {
      {{none, none}, none, "nothing was sampled"},
      {{one, none, none}, one, "a copy has one loop"},
      {{one, other, none}, other, "the least median, with its mark"},
      {{one, lucky}, {3 * us, 1 * us, 9, false}, "the 10th percentile of another loop"},
      {{lucky, other, one}, {2 * us, 1 * us, 8, true}, "in any order"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const summary found = fastest_of(row.ways);
    CHECK(found.median == row.expected.median);
    CHECK(found.lowest_tenth == row.expected.lowest_tenth);
    CHECK(found.samples == row.expected.samples);
    CHECK(found.disturbed == row.expected.disturbed);
  }
}

TEST_CASE("bench: saved results say whether they were disturbed") {
  struct {
    const char* end;
    bool disturbed, watched;
    const char* why;
  } const rows[] = {
      {R"(,"disturbed":true)", true, true, "marked"},
      {R"(,"disturbed":false)", false, true, "measured"},
      {"", false, false, "a file of an older fovea_bench"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const std::vector<saved_result> found = saved_in(saved("0.5", row.end), "file");
    REQUIRE(found.size() == 1);
    CHECK(found[0].disturbed == row.disturbed);
    CHECK(found[0].watched == row.watched);
  }
  CHECK_THROWS_WITH_AS(saved_in(saved("0.5", R"(,"disturbed":7)"), "file"),
                       "file: disturbed is \"7\", not true or false", saved_error);
}

TEST_CASE("bench: text before the array is skipped") {
  const std::string array = saved("0.5", R"(,"disturbed":false)");
  CHECK(saved_in("work  isa\nw [1]  avx2\n\n" + array, "file").size() == 1);
  CHECK_THROWS_WITH_AS(saved_in("work  isa\nw  avx2\n", "file"),
                       "file does not hold results of fovea_bench; make such a file with --json",
                       saved_error);
  CHECK_THROWS_WITH_AS(saved_in("[]", "file"), "file holds no results", saved_error);
  CHECK_THROWS_WITH_AS(saved_in(saved("null", ""), "file"),
                       "file has a result without share; fovea_compare --boards shows such results",
                       saved_error);
}

TEST_CASE("bench: fovea_compare leaves out disturbed pairs") {
  const auto run = [](double share, bool disturbed) {
    return saved_result{"w", "avx2", "best", "1", share, share, disturbed, true};
  };
  struct {
    int slow, disturbed_old,
        disturbed_new; // pairs: old 0.60 and new 0.40; the same with the one or the other disturbed
    verdict expected;
    const char* why;
  } const rows[] = {
      {3, 0, 0, verdict::slower, "three pairs that show it"},
      {3, 1, 1, verdict::slower, "three are left"},
      {2, 0, 1, verdict::unclear, "two are left: too few"},
      {0, 3, 0, verdict::disturbed, "the old build was always disturbed"},
      {0, 0, 3, verdict::disturbed, "the new build was always disturbed"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    runs all;
    for (int i = 0; i < row.slow; ++i) add_pair(all, run(0.60, false), run(0.40, false));
    for (int i = 0; i < row.disturbed_old; ++i) add_pair(all, run(0.15, true), run(0.40, false));
    for (int i = 0; i < row.disturbed_new; ++i) add_pair(all, run(0.60, false), run(0.10, true));
    CHECK(all.left_out == row.disturbed_old + row.disturbed_new);
    CHECK(judge(all, 0.001).what == row.expected);
  }
}

TEST_CASE("bench: which steps from size to size are cliffs") {
  struct {
    sweep_point small, large;
    bool expected, smaller_is_slower;
    double ratio;
    const char* why;
  } const rows[] = {
      {{16, 1600, 16 * us}, {17, 1700, 17 * us}, false, false, 1.0, "time grows with the work"},
      {{16, 1600, 16 * us}, {17, 1700, 17 * 1.49 * us}, false, false, 1.49, "a little less than half more"},
      {{16, 1600, 16 * us}, {17, 1700, 17 * 1.51 * us}, true, false, 1.51, "more than half more per MAC"},
      {{1, 100, 2 * us}, {2, 200, 3 * us}, false, false, 0.75, "a longer call for twice the work is none"},
      {{1, 100, 2 * us}, {2, 200, 7 * us}, true, false, 1.75, "per MAC, not per call: the work doubles"},
      {{15, 1500, 14.9 * us}, {16, 1600, 10 * us}, false, true, 1.49, "a smaller call a little slower"},
      {{15, 1500, 15.1 * us}, {16, 1600, 10 * us}, true, true, 1.51, "a smaller call half as long again"},
      {{13, 1300, 40 * us}, {16, 1600, 10 * us}, true, true, 4.0, "the next size of a quick sweep"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const std::vector<sweep_point> points = {row.small, row.large};
    const cliff step = step_at(points, 0);
    CHECK(is_cliff(step) == row.expected);
    CHECK(step.smaller_is_slower == row.smaller_is_slower);
    CHECK(step.ratio == doctest::Approx(row.ratio));
    CHECK(cliffs_of(points).size() == (row.expected ? 1 : 0));
  }
}

TEST_CASE("bench: cliffs of a curve, and its steepest step") {
  const std::vector<sweep_point> points = {
      {1, 10, 1 * us}, {2, 20, 4 * us}, {3, 30, 5 * us}, {4, 40, 3 * us}, {5, 50, 8 * us}};
  const std::vector<cliff> found = cliffs_of(points);
  REQUIRE(found.size() == 3);
  CHECK(found[0].at == 0);
  CHECK_FALSE(found[0].smaller_is_slower);
  CHECK(found[1].at == 2);
  CHECK(found[1].smaller_is_slower);
  CHECK(found[2].at == 3);
  CHECK(steepest_of(points).at == 3);
  CHECK(cliffs_of({}).empty());
  CHECK(cliffs_of({points[0]}).empty());
}

TEST_CASE("bench: a cliff is measured again before it is believed") {
  struct {
    std::vector<double> first, later; // microseconds of each size; all sizes have the same work
    std::vector<size_t> cliffs, again;
    const char* why;
  } const rows[] = {
      {{1, 1, 1}, {9, 9, 9}, {}, {}, "no cliff: nothing is measured again"},
      {{1, 3, 3}, {1, 3, 3}, {0}, {0, 1}, "a cliff that stays"},
      {{1, 3, 1}, {1, 1, 1}, {}, {0, 1, 2}, "noise on one size"},
      {{3, 3, 3}, {3, 1, 1}, {}, {}, "without a cliff an error in all sizes stays"},
      {{1, 2, 2.9}, {1, 1.4, 2.9}, {1}, {0, 1, 2}, "a size that falls makes a cliff behind it"},
      {{1, 3, 3}, {4, 9, 9}, {0}, {0, 1}, "noise in the second measurement only"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    std::vector<sweep_point> points;
    for (size_t i = 0; i < row.first.size(); ++i)
      points.push_back({static_cast<int32_t>(i + 1), 1000, row.first[i] * us});
    std::set<size_t> sampled;
    const std::vector<cliff> found = confirmed(points, 3, [&](size_t i) {
      sampled.insert(i);
      return row.later[i] * us;
    });
    std::vector<size_t> at;
    for (const cliff& c : found) at.push_back(c.at);
    CHECK(at == row.cliffs);
    CHECK(std::vector<size_t>(sampled.begin(), sampled.end()) == row.again);
  }
}

TEST_CASE("bench: sizes of a sweep") {
  CHECK(sizes_to(5, false) == std::vector<int32_t>{1, 2, 3, 4, 5});
  CHECK(sizes_to(19, true) == std::vector<int32_t>{1, 4, 7, 8, 9, 10, 13, 15, 16, 17, 19});
  CHECK(sizes_to(300, false).size() == 300);
}
