// Results of an earlier run, read back from the file that --json wrote.
#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

struct saved_result {
  std::string work, isa, scratch, digest;
  double share, quiet; // of the limit, at the median and at the 10th percentile of the time
  bool disturbed;      // by other programs
  bool watched;        // false: an older fovea_bench wrote this, which did not notice such disturbance

  std::string name() const; // "prefill 8x64 512, avx2": what results of two runs are matched by
};

struct saved_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The fields of one result as they stand in the file; strings without their quotes.
using saved_object = std::map<std::string, std::string>;

// All throw saved_error: one sentence that says what to do.
std::vector<saved_result> read_saved(const std::string& path);
std::vector<saved_result> saved_in(const std::string& text,
                                   const std::string& path); // `path` is for that sentence
// The array begins on a line of its own; what a board printed before it is skipped.
std::vector<saved_object> read_objects(const std::string& path);
std::vector<saved_object> objects_in(const std::string& text, const std::string& path);

} // namespace bench
