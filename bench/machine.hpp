// The machine under the results: its name, its caches, and the limits of each ISA on it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "system.hpp"

namespace bench {

struct level {
  std::string name; // "L1", "L2", "L3", "DRAM"
  size_t bytes;     // a working set that lives there
};
std::vector<level> memory_levels();

struct rate {
  double per_second;
  bool disturbed; // by other programs, in too many samples
};

struct limits {
  int32_t isa;
  rate peak;              // flop per second
  std::vector<rate> read; // bytes per second, for each level
};
bool any_disturbed(const std::vector<limits>& machine);
limits limits_of(int32_t isa, const std::vector<level>& levels, bool quick);

} // namespace bench
