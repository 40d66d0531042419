// Row operations (not attention), judged by memory: how fast this core moves exactly these bytes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

struct row_work {
  enum operation { softmax, matvec, exp2, quantise, quantise_tokens } what;
  int32_t rows, columns;

  std::string name() const; // "softmax 197x197", "matvec 512x512", "dot 4096", "exp2 64x256"
  bool only_reads() const { return what == matvec || quantises(); } // what it writes is small
  bool quantises() const { return what == quantise || what == quantise_tokens; }
  double elements() const { return static_cast<double>(rows) * columns; }
};

struct row_result {
  row_work what;
  int32_t isa, status;
  double seconds, quiet_seconds; // median, and 10th percentile
  double limit_seconds;          // of a copy from input to output, or of a pass over the matrix or the floats
  double quiet_limit;            // the same, the 10th percentile
  uint64_t digest;
  int samples;
  bool disturbed; // by other programs, too often: the time or the limit
  conditions at;  // behind the last sample
};

std::vector<row_work> row_works_with(const std::string& filter);
row_result measure(const row_work& w, int32_t isa, const pace& speed);

std::string row_table_head();
std::string table_row(const row_result& r);

} // namespace bench
