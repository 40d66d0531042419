// Asks Linux for names and cache sizes, and nanobench for the rates: here one thing is timed after another, as it likes to.
#include "machine.hpp"

#include <nanobench.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "peak.hpp"
#include "problem.hpp"

namespace bench {
namespace {

constexpr size_t kib = 1024, mib = 1024 * kib;

// The size of the data cache of a level, 0 when there is none, or `otherwise` where the system does not say.
size_t cache_size(int wanted, size_t otherwise) {
  bool told = false;
  for (int index = 0; index < 5; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int level = 0;
    std::string type;
    size_t kilobytes = 0;
    if (!(level_file >> level) || !(type_file >> type) || !(size_file >> kilobytes)) continue;
    told = true;
    if (level == wanted && type != "Instruction") return kilobytes * kib;
  }
  return told ? 0 : otherwise;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line, '\0');
  return line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
  return "unknown CPU";
}

double median_seconds(bool quick, void (*op)(const isa_loops&, const page_buffer&), const isa_loops& loops, const page_buffer& data) {
  using namespace std::chrono_literals;
  ankerl::nanobench::Bench bench;
  bench.output(nullptr).epochs(quick ? 7 : 21).minEpochTime(200us);
  bench.run([&] { op(loops, data); });
  return bench.results().front().median(ankerl::nanobench::Result::Measure::elapsed);
}

void read_once(const isa_loops& loops, const page_buffer& data) {
  ankerl::nanobench::doNotOptimizeAway(loops.read(data.data(), data.size()));
}

} // namespace

std::string machine_name() {
  const std::string board = first_line("/proc/device-tree/model");
  return board.empty() ? cpu_model() : board;
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

// Half of a cache leaves room for others; of a large shared L3 nobody owns more than a few megabytes.
std::vector<level> memory_levels() {
  const size_t l1 = cache_size(1, 32 * kib), l2 = cache_size(2, 512 * kib), l3 = cache_size(3, 0);
  std::vector<level> levels = {{"L1", l1 / 2}};
  if (l2 > 0) levels.push_back({"L2", l2 / 2});
  if (l3 > 2 * l2) levels.push_back({"L3", std::min(l3 / 2, 8 * mib)});
  levels.push_back({"DRAM", std::clamp(4 * std::max(l2, l3), 64 * mib, 256 * mib)});
  return levels;
}

limits limits_of(int32_t isa, const std::vector<level>& levels, bool quick) {
  limits found{isa, fma_peak(isa), {}};
  for (const level& l : levels) {
    const page_buffer data(l.bytes);
    found.read.push_back(static_cast<double>(l.bytes) / median_seconds(quick, read_once, *loops_of(isa), data));
  }
  return found;
}

} // namespace bench
