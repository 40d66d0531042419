// Asks the system for the CPU time and the involuntary switches of this thread, where it has them.
#include "stopwatch.hpp"

#if __has_include(<sys/resource.h>)
#include <sys/resource.h>
#include <time.h>
#endif

namespace bench {
namespace {

constexpr double no_clock = -1;

double thread_seconds() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0)
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
#endif
  return no_clock;
}

double involuntary_switches() {
#if defined(RUSAGE_THREAD)
  rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage) == 0) return static_cast<double>(usage.ru_nivcsw);
#endif
  return 0;
}

// Samples take 150 us and more: a clock that advances in steps of milliseconds says nothing about them.
bool thread_clock_is_fine() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec step;
  return clock_getres(CLOCK_THREAD_CPUTIME_ID, &step) == 0 && step.tv_sec == 0 && step.tv_nsec <= 1000;
#else
  return false;
#endif
}

} // namespace

stopwatch::stopwatch() : switches_(involuntary_switches()), cpu_(thread_seconds()), wall_(clock::now()) {}

timing stopwatch::read() const {
  timing t;
  t.wall = std::chrono::duration<double>(clock::now() - wall_).count();
  const double cpu = thread_seconds();
  static const bool has_thread_clock = thread_clock_is_fine();
  t.cpu = has_thread_clock && cpu_ != no_clock && cpu != no_clock ? cpu - cpu_ : t.wall;
  t.switches = involuntary_switches() - switches_;
  return t;
}

} // namespace bench
