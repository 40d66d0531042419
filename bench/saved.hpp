// Results of an earlier run, read back from the file that --json wrote.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct saved_result {
  std::string work, isa, scratch, digest;
  double share, quiet; // of the limit, at the median and at the 10th percentile of the time

  std::string name() const; // "prefill 8x64 512, avx2": what results of two runs are matched by
};

struct saved_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::vector<saved_result> read_saved(const std::string& path); // throws saved_error: one sentence that says what to do

} // namespace bench
