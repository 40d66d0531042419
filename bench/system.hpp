// What the operating system says about the machine: names, and the sizes of caches.
#pragma once
#include <cstddef>
#include <string>

namespace bench {

std::string board_name();   // "Raspberry Pi 5 Model B"; empty where the system does not say
std::string cpu_name();     // "AMD EPYC", "Cortex-A76", or "unknown CPU"
std::string machine_name(); // the board, or else the CPU
std::string compiler_name();

// The size of the data cache of a level, 0 when there is none, or `otherwise` where the system does not say.
size_t cache_size(int level, size_t otherwise);

} // namespace bench
