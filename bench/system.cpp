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

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown CPU";
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

} // namespace bench
