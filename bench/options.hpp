// The command line of fovea_bench, checked before anything is measured.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

enum class scratch_size { least, k64, best }; // the rungs of the memory ladder
const char* scratch_name(scratch_size size);

struct options {
  std::string filter, json, csv, svg, against;
  std::string emulated;      // what emulates this machine; empty = nothing does
  double most_flops = 0;     // works with more are left out; 0 = none is
  std::vector<int32_t> isas; // those to measure, each usable here
  bool every_isa = true;     // no --isa was given
  std::vector<scratch_size> scratch = {scratch_size::best};
  int rounds = 0;               // exactly so many samples of each result; 0 = as the pace says
  bool quick = false;           // the pace
  bool whole = false;           // never time a long call head by head
  std::vector<int> threads;     // counts, ascending; empty = one, without the table of threads
  double sustained_seconds = 0; // > 0: one work, for so long
  bool sweep = false;           // over sizes, instead of works
  bool list = false, help = false;
};

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

options parse(int argc, char** argv); // throws usage_error: one sentence that says what to do
std::string help_text();

} // namespace bench
