// What the benchmark says about the machine that it runs on: clock, temperature, runs of minutes, and several
// machines side by side.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/compare/boards.hpp"
#include "bench/conditions.hpp"
#include "bench/places.hpp"
#include "bench/sustained.hpp"

using namespace bench;

TEST_CASE("bench: clock and temperature as a system says them") {
  struct file {
    const char *path, *text;
  };
  const file of_core_1 = {"devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "1500000"},
             of_policy = {"devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "1000000"},
             of_cpu = {"class/thermal/thermal_zone1/temp", "61234"},
             type_of_cpu = {"class/thermal/thermal_zone1/type", "cpu-thermal"},
             of_board = {"class/thermal/thermal_zone0/temp", "40000"},
             type_of_board = {"class/thermal/thermal_zone0/type", "acpitz"};
  struct {
    std::vector<file> files;
    double clock, temperature;
    const char* why;
  } const rows[] = {
      {{}, 0, 0, "a system that says nothing"},
      {{of_core_1}, 1500, 0, "the clock of this core"},
      {{of_policy}, 1000, 0, "one clock for all cores"},
      {{of_core_1, of_policy}, 1500, 0, "this core's own clock first"},
      {{of_cpu, type_of_cpu, of_board, type_of_board}, 0, 61.234, "the zone of the CPU, not the first"},
      {{of_board, type_of_board}, 0, 40, "the first zone, where none is of the CPU"},
      {{{of_cpu.path, "-274000"}}, 0, 0, "a sensor that is off"},
      {{{of_cpu.path, "hot"}}, 0, 0, "no number"},
  };
  const std::filesystem::path root = std::filesystem::temp_directory_path() / "fovea_bench_test_sys";
  for (const auto& row : rows) {
    CAPTURE(row.why);
    std::filesystem::remove_all(root);
    for (const file& f : row.files) {
      std::filesystem::create_directories((root / f.path).parent_path());
      std::ofstream(root / f.path) << f.text << "\n";
    }
    const conditions found = conditions_in(root.string(), 1);
    CHECK(found.clock_mhz == doctest::Approx(row.clock));
    CHECK(found.temperature_c == doctest::Approx(row.temperature));
  }
  std::filesystem::remove_all(root);
  CHECK(conditions_text({1500, 61.25}) == "1500 MHz, 61.2 C");
  CHECK(conditions_text({0, 61.25}) == "61.2 C");
  CHECK(conditions_text({}) == "");
}

TEST_CASE("bench: a sustained run compares its first and its last minute") {
  const auto run = [](int seconds, double rate_of_first, double rate_of_last) {
    std::vector<moment> all;
    for (int i = 1; i <= seconds; ++i)
      all.push_back({double(i),
                     i <= seconds / 2 ? rate_of_first : rate_of_last,
                     {i <= seconds / 2 ? 1800.0 : 1200.0, 0}});
    return all;
  };
  struct {
    int seconds;
    double first, last, expected;
    const char* why;
  } const rows[] = {
      {600, 10, 8, -0.2, "slower in the second half: the last minute says so"},
      {600, 10, 10, 0, "steady"},
      {30, 10, 5, -0.5, "halves of a short run"},
      {1, 10, 10, 0, "one moment is both"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const endurance found = endurance_of(run(row.seconds, row.first, row.last));
    CHECK(found.change() == doctest::Approx(row.expected));
    CHECK(found.last.at.temperature_c == 0);
  }
  CHECK(endurance_of(run(600, 10, 8)).last.at.clock_mhz == 1200);
  CHECK(endurance_of({}).change() == 0);
}

TEST_CASE("bench: the bars of a sustained run") {
  struct {
    std::vector<double> values;
    size_t columns;
    const char *expected, *why;
  } const rows[] = {
      {{}, 60, "", "nothing yet"},
      {{5, 5, 5}, 60, "###", "steady: no noise is shown"},
      {{10, 10, 5, 5}, 60, "##__", "half the rate"},
      {{10, 10, 5, 5}, 2, "#_", "two moments for each column"},
      {{10, 0, 5}, 60, "#?_", "a moment without a value"},
      {{100, 99}, 60, "##", "a percent is less than a step"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    CHECK(bars(row.values, row.columns, false) == row.expected);
  }
  CHECK(bars({10, 5}, 60, true) == "\u2588\u2581");
}

TEST_CASE("bench: machines side by side") {
  const auto file = [](const char* path, std::vector<saved_object> results) {
    return machine_file{path, std::move(results)};
  };
  const saved_object shape = {{"q_heads", "1"}, {"dim", "10"}, {"queries", "1"}, {"keys", "5"}};
  const auto result = [&](saved_object more) {
    more.insert(shape.begin(), shape.end());
    more.emplace("work", "w");
    more.emplace("scratch", "best");
    return more;
  };
  const saved_object pi = result({{"isa", "neon64"}, {"seconds", "0.002"}, {"digest", "1"}, {"board", "Pi"}}),
                     m4 = result(
                         {{"isa", "scalar"}, {"cycles", "1000"}, {"digest", "1"}, {"seconds", "0.1"}}),
                     other = result({{"isa", "avx2"}, {"seconds", "1e-6"}, {"digest", "2"}}),
                     no_fma = result({{"isa", "sse41"}, {"seconds", "1e-6"}, {"digest", "2"}}),
                     emulated = result({{"isa", "scalar"}, {"seconds", "1e-3"}, {"emulated", "true"}});
  const auto table = [&](std::vector<saved_object> results, bool per_mac) {
    std::vector<machine_file> files;
    for (const saved_object& r : results) files.push_back(file("f", {r}));
    return boards_side_by_side(files, per_mac);
  };
  struct {
    std::vector<saved_object> results;
    bool per_mac, same_bits;
    const char *part, *why;
  } const rows[] = {
      {{pi, m4}, false, true, "2 ms      1000 cyc  same", "cycles where they are known"},
      {{pi, m4}, true, true, "20000.0000 ns    10.000 cyc  same", "100 multiply-adds"},
      {{pi, other}, false, false, "DIFFER", "bits that differ"},
      {{pi, no_fma}, false, true, "2 ms          1 us\n", "an ISA without fma has bits of its own"},
      {{emulated}, false, true, "(1 ms)\n", "an emulator's time stands in brackets"},
      {{emulated}, false, true, "emulated: says nothing", "and the legend says so"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.why);
    const boards_text found = table(row.results, row.per_mac);
    INFO(found.table);
    CHECK(found.table.find(row.part) != std::string::npos);
    CHECK(found.same_bits == row.same_bits);
  }
  CHECK_THROWS_WITH_AS(table({result({{"isa", "avx2"}})}, false),
                       "f: w has neither seconds nor cycles nor instructions", saved_error);
  CHECK_THROWS_WITH_AS(table({result({{"isa", "avx2"}, {"seconds", "1"}, {"second", "5"}})}, false),
                       "f is a sustained run, which has no table; give a run without --sustained",
                       saved_error);
}

TEST_CASE("bench: marks and words of a picture hide nothing") {
  places p;
  std::vector<box> marks;
  for (int i = 0; i < 15; ++i) {
    const double y = 100 + i % 3, x = p.take_mark(200, y);
    const box mark = {x - 4, y - 4, x + 4, y + 4};
    for (const box& other : marks) CHECK_FALSE(mark.meets(other));
    marks.push_back(mark);
  }
  CHECK(marks[0].left == 196); // the first stays in its place
  for (int i = 0; i < 10; ++i) {
    const places::spot at = p.take_word(200, 100, 12);
    const box word = {at.x, at.y - 8, at.x + 12, at.y};
    for (const box& other : marks) CHECK_FALSE(word.meets(other));
    marks.push_back(word);
  }
}
