// Products with packed weights, judged by what binds: the FMA peak, or reading the weights once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "measure.hpp"

namespace bench {

struct linear_work {
  int32_t rows, in, out, dtype, activation;

  std::string name() const; // "linear 128x384x1536 f16 gelu"
  double flops() const { return 2.0 * rows * in * out; }
  size_t weight_bytes() const;
};

struct linear_result {
  linear_work what;
  int32_t isa, status;
  double seconds, quiet_seconds; // median, and 10th percentile
  double peak, read;             // flop per second, 0 = not known; bytes of weights per second
  double quiet_limit;            // seconds at the limit, by 10th percentiles
  uint64_t digest;
  int samples;
  bool disturbed; // by other programs, too often: the time or a limit
  conditions at;  // behind the last sample

  double weight_bytes() const { return static_cast<double>(what.weight_bytes()); }
  bool reading_binds() const { return peak <= 0 || weight_bytes() / read > what.flops() / peak; }
  double limit_seconds() const { return reading_binds() ? weight_bytes() / read : what.flops() / peak; }
};

std::vector<linear_work> linear_works_with(const std::string& filter);
linear_result measure(const linear_work& w, int32_t isa, const pace& speed);

std::string linear_table_head();
std::string table_row(const linear_result& r);

} // namespace bench
