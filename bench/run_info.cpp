// Asks the compiler, the library and the system.
#include "run_info.hpp"

#include <ctime>

#include "fovea/fovea.h"
#include "system.hpp"

namespace bench {
namespace {

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  char text[32] = "";
  if (const std::tm* utc = std::gmtime(&now)) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", utc);
  return text;
}

std::string version_text() {
  const int32_t version = fovea_version();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

} // namespace

run_info this_run(const std::string& emulated_by) {
  run_info about;
  about.board = emulated_by.empty() ? board_name() : "";
  about.cpu = emulated_by.empty() ? cpu_name() : emulated_by;
  about.compiler = compiler_name();
  about.fovea = version_text();
  about.date = date_now();
  about.emulated = !emulated_by.empty();
  return about;
}

std::string run_info::text() const {
  const std::string machine = board.empty() ? cpu : board + " (" + cpu + ")";
  return "fovea " + fovea + " on " + machine + ", built with " + compiler + ", " + date.substr(0, 10) +
         (emulated ? ", emulated: times and shares say nothing about the board" : "");
}

} // namespace bench
