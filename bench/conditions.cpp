// Asks Linux: cpufreq, thermal zones, and /proc/cpuinfo for a clock where there is no cpufreq.
#include "conditions.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#if __has_include(<sched.h>)
#include <sched.h>
#endif

namespace bench {
namespace {

std::string sys_folder() {
  const char* const given = std::getenv("FOVEA_SYS");
  return given && *given ? given : "/sys";
}

int this_core() {
#if defined(__linux__) && defined(_GNU_SOURCE)
  const int core = sched_getcpu();
  return core < 0 ? 0 : core;
#else
  return 0;
#endif
}

double number_in(const std::string& path) { // 0 where there is none
  std::ifstream file(path);
  double value = 0;
  return file >> value ? value : 0;
}

std::string word_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::string cpu_folder(const std::string& sys, int core) {
  return sys + "/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/";
}

double clock_in(const std::string& sys, int core) {
  double kilohertz = number_in(cpu_folder(sys, core) + "scaling_cur_freq");
  if (kilohertz <= 0) kilohertz = number_in(sys + "/devices/system/cpu/cpufreq/policy0/scaling_cur_freq");
  return kilohertz > 0 ? kilohertz / 1000 : 0;
}

double clock_of_cpuinfo(int core) { // x86
  std::ifstream file("/proc/cpuinfo");
  int seen = -1;
  for (std::string line; std::getline(file, line);)
    if (line.rfind("cpu MHz", 0) == 0 && ++seen == core) return std::atof(line.c_str() + line.find(':') + 1);
  return 0;
}

bool is_of_cpu(const std::string& type) {
  for (const char* part : {"cpu", "soc", "x86_pkg", "Tctl", "Package"})
    if (type.find(part) != std::string::npos) return true;
  return false;
}

// That of the CPU, or else the first.
double temperature_in(const std::string& sys) {
  double first = 0;
  for (int zone = 0; zone < 32; ++zone) {
    const std::string folder = sys + "/class/thermal/thermal_zone" + std::to_string(zone) + "/";
    const double degrees = number_in(folder + "temp") / 1000;
    if (degrees <= 0 || degrees > 200) continue;
    if (is_of_cpu(word_in(folder + "type"))) return degrees;
    if (first == 0) first = degrees;
  }
  return first;
}

} // namespace

conditions conditions_in(const std::string& sys, int core) {
  return {clock_in(sys, core), temperature_in(sys)};
}

conditions conditions_now() {
  const std::string sys = sys_folder();
  const int core = this_core();
  conditions now = conditions_in(sys, core);
  if (now.clock_mhz <= 0 && sys == "/sys") now.clock_mhz = clock_of_cpuinfo(core);
  return now;
}

std::string governor() { return word_in(cpu_folder(sys_folder(), this_core()) + "scaling_governor"); }

std::string conditions_text(const conditions& now) {
  std::string text;
  char part[48];
  if (now.clock_mhz > 0) {
    std::snprintf(part, sizeof part, "%.0f MHz", now.clock_mhz);
    text += part;
  }
  if (now.temperature_c > 0) {
    std::snprintf(part, sizeof part, "%s%.1f C", text.empty() ? "" : ", ", now.temperature_c);
    text += part;
  }
  return text;
}

} // namespace bench
