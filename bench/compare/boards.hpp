// Results of several machines side by side: a column for each machine and ISA.
#pragma once
#include <string>
#include <vector>

#include "../saved.hpp"

namespace bench {

struct machine_file {
  std::string path;
  std::vector<saved_object> results;
};

struct boards_text {
  std::string table;
  bool same_bits; // false: results of one work differ where they should not
};

// Throws saved_error where a file holds no such results. per_mac: time, cycles or instructions for each
// multiply-add.
boards_text boards_side_by_side(const std::vector<machine_file>& files, bool per_mac);

} // namespace bench
