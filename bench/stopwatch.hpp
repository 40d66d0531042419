// Times a stretch of work by the wall clock and by the CPU time of this thread.
#pragma once
#include <chrono>

#include "disturbance.hpp"

namespace bench {

class stopwatch {
 public:
  stopwatch();         // starts
  timing read() const; // since the start

 private:
  using clock = std::chrono::steady_clock;
  double switches_;
  double cpu_;
  clock::time_point wall_; // read last: the span of the CPU clock holds that of the wall clock
};

// The timing of one call of `run`.
template <class Run>
timing time_of(Run run) {
  const stopwatch watch;
  run();
  return watch.read();
}

} // namespace bench
