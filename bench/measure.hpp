// Measures one work on one ISA: samples of the work alternate with samples of the limits it is judged by.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "conditions.hpp"
#include "disturbance.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "works.hpp"

namespace bench {

struct result {
  work what;
  int32_t isa;         // of floats, also for integers: the limits are its own
  int32_t integer_isa; // of integers; 0 = this is a work of floats
  scratch_size scratch;
  size_t scratch_bytes;
  int32_t status; // of the call; what follows is there when it is FOVEA_OK
  bool finite;
  uint64_t digest;
  int samples, parts;            // samples that count; parts > 1: each was one of them
  double seconds, quiet_seconds; // of the whole work: median, and 10th percentile
  double f32_seconds;            // integers: the same work in floats, sample after sample; else 0
  double peak,
      read; // medians: flop per second; bytes per second of K and V, 0 where only the peak is the limit
  double quiet_limit; // seconds at the limit, by 10th percentiles
  bool disturbed;     // by other programs, too often: the time, a limit, or the time in floats
  conditions at;      // behind the last sample

  const char* isa_name() const {
    return integer_isa ? fovea_fixed_isa_name(integer_isa) : fovea_isa_name(isa);
  }
  double cache_bytes() const { return static_cast<double>(what.cache_bytes()); }
  bool reading_binds() const { return read > 0 && cache_bytes() / read > what.flops() / peak; }
  double limit_seconds() const { return reading_binds() ? cache_bytes() / read : what.flops() / peak; }
  double share() const { return limit_seconds() / seconds; }
  double quiet_share() const { return quiet_limit / quiet_seconds; }
  double gflops() const { return what.flops() / seconds * 1e-9; }
  double gigabytes() const { return cache_bytes() / seconds * 1e-9; }
};

struct pace {
  int rounds, least_rounds; // samples of a result, and how few a slow one may end with
  double seconds;           // after so much time a result ends with the samples it has
  bool whole;               // never head by head
};
pace pace_of(const options& o);

// What computes a work: for floats the ISA itself, for integers the kernels whose floats that ISA has.
struct kernel {
  int32_t isa, integer_isa;
};
std::vector<kernel> kernels_of(const work& w, int32_t isa);

result measure(problem& p, const work& w, const kernel& by, scratch_size scratch, const pace& speed);

} // namespace bench
