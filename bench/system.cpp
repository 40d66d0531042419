// Asks Linux.
#include "system.hpp"

#include <fstream>

namespace bench {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line, '\0');
  return line;
}

// What stands behind the colon of the first such line of /proc/cpuinfo.
std::string cpuinfo(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(name, 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "";
}

// Arm's own cores; /proc/cpuinfo has only their numbers.
std::string arm_core(const std::string& part) {
  constexpr struct {
    const char *part, *name;
  } cores[] = {{"0xb76", "ARM1176"},     {"0xc07", "Cortex-A7"},  {"0xc08", "Cortex-A8"},
               {"0xc09", "Cortex-A9"},   {"0xd03", "Cortex-A53"}, {"0xd04", "Cortex-A35"},
               {"0xd05", "Cortex-A55"},  {"0xd07", "Cortex-A57"}, {"0xd08", "Cortex-A72"},
               {"0xd09", "Cortex-A73"},  {"0xd0a", "Cortex-A75"}, {"0xd0b", "Cortex-A76"},
               {"0xd0c", "Neoverse N1"}, {"0xd40", "Neoverse V1"}};
  for (const auto& core : cores)
    if (part == core.part) return core.name;
  return "Arm core " + part;
}

} // namespace

size_t cache_size(int wanted, size_t otherwise) {
  bool found = false;
  for (int index = 0; index < 5; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int level = 0;
    std::string type;
    size_t kilobytes = 0;
    if (!(level_file >> level) || !(type_file >> type) || !(size_file >> kilobytes)) continue;
    found = true;
    if (level == wanted && type != "Instruction") return kilobytes * 1024;
  }
  return found ? 0 : otherwise;
}

std::string board_name() { return first_line("/proc/device-tree/model"); }

std::string cpu_name() {
  const std::string part = cpuinfo("CPU implementer") == "0x41" ? cpuinfo("CPU part") : "";
  if (!part.empty()) return arm_core(part);
  for (const char* line : {"model name", "uarch", "isa"})
    if (const std::string name = cpuinfo(line); !name.empty()) return name;
  return "unknown CPU";
}

std::string machine_name() {
  const std::string board = board_name();
  return board.empty() ? cpu_name() : board;
}

std::string compiler_name() {
#if defined(__clang__)
  return "clang " + std::to_string(__clang_major__) + "." + std::to_string(__clang_minor__);
#else
  return "gcc " + std::to_string(__GNUC__) + "." + std::to_string(__GNUC_MINOR__);
#endif
}

} // namespace bench
