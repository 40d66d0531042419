// The limits of this core, measured by bare loops: multiply-adds that stay in registers, and reading memory.
// Needs no nanobench, so that other programs may use it too. A rate is that of an undisturbed sample, or of
// CPU time where every try was disturbed: a limit that is too low would give shares that are too high.
#pragma once
#include <cstddef>
#include <cstdint>

#include "disturbance.hpp"

namespace bench {

constexpr int read_loops = 3; // of each ISA: no loop is the fastest one on each core and each level of memory

// The loops of one ISA, each compiled in its own file with the flags of that ISA.
struct isa_loops {
  double flops_per_turn;
  float (*multiply_add)(int64_t turns, float a, float b); // a * b is added to many chains, over and over
  // Reads whole 512 bytes, once: in order, as one, two and four streams.
  void (*read[read_loops])(const void* data, size_t bytes);
  void (*copy)(const void* from, void* to, size_t bytes); // in order, and writes them elsewhere
};

struct loops_of_isa {
  int32_t isa;
  const isa_loops* loops;
};
extern const loops_of_isa all_loops[]; // CMake makes it; the last one has isa 0

const isa_loops* loops_of(int32_t isa); // isa: FOVEA_AVX2 ...; null when this build has no loops for it

// Takes samples of one ISA's multiply-add rate, each about 0.2 ms long: short enough to fall between the
// interrupts.
class peak_meter {
 public:
  explicit peak_meter(int32_t isa);
  double sample() const; // flop per second; 0 when this build has no loops for the ISA
  timing time() const;   // of one sample as it comes, disturbed or not; needs loops
  double flops() const;  // of one sample

 private:
  const isa_loops* loops_;
  int64_t turns_ = 1;
};

timing time_of_reading(const isa_loops& loops, int loop, const void* data, size_t bytes,
                       int passes); // one sample as it comes

// The rate of the fastest read loop, in bytes per second.
double read_rate(const isa_loops& loops, const void* data, size_t bytes, int passes);

// Samples of one reading by several loops. All are sampled as often as the work, at the same moments; the
// fastest is the limit.
class loop_samples {
 public:
  template <class Time>
  void take(int loops, Time time) { // time(loop) returns a timing
    for (int loop = 0; loop < loops; ++loop)
      of_loops_[loop].push_back(undisturbed([&] { return time(loop); }));
  }
  summary fastest() const; // zeros where nothing was sampled

 private:
  std::vector<timing> of_loops_[read_loops];
};

} // namespace bench
