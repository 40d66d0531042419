// What a run was made with: names, versions, the date.
#pragma once
#include <string>

namespace bench {

struct run_info {
  std::string board;     // "Raspberry Pi 4 Model B Rev 1.4"; empty where the system does not say
  std::string cpu;       // "Cortex-A72", or what emulates one
  std::string compiler;  // "gcc 12.2"
  std::string fovea;     // "0.5.0"
  std::string date;      // "2026-11-19T23:15:00Z"
  bool emulated = false; // times say nothing

  std::string text() const; // in one line
};
run_info this_run(const std::string& emulated_by); // empty: this is the machine itself

} // namespace bench
