// The clock and the temperature of a moment, as the system says.
#pragma once
#include <string>

namespace bench {

// 0 where the system does not say.
struct conditions {
  double clock_mhz = 0, temperature_c = 0;
};

// Of the core that this thread runs on. FOVEA_SYS in the environment names another folder than /sys.
conditions conditions_now();
conditions conditions_in(const std::string& sys, int core);
std::string governor(); // "performance"; empty where the system does not say

std::string conditions_text(const conditions& now); // "1800 MHz, 52.1 C"; empty where nothing is known

} // namespace bench
