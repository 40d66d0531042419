// Times the bare loops of every ISA that this build has.
#include "peak.hpp"

#include <algorithm>

#include "fovea/fovea.h"
#include "stopwatch.hpp"

namespace bench {

namespace {

volatile float kept_float; // a result that nobody reads could be optimised away

timing time_of_turns(const isa_loops& loops, int64_t turns) {
  return time_of([&] { kept_float = loops.multiply_add(turns, 1.0000001f, 1e-9f); });
}

} // namespace

const isa_loops* loops_of(int32_t isa) {
  const loops_of_isa* row = all_loops;
  while (row->isa != 0 && row->isa != isa) ++row;
  return row->loops;
}

peak_meter::peak_meter(int32_t isa) : loops_(loops_of(isa)) {
  constexpr double enough = 100e-6; // doubled until it takes 0.1 to 0.2 ms
  while (loops_ && ran(time()) < enough) turns_ *= 2;
}

timing peak_meter::time() const { return time_of_turns(*loops_, turns_); }

double peak_meter::flops() const { return loops_ ? loops_->flops_per_turn * static_cast<double>(turns_) : 0; }

double peak_meter::sample() const {
  return loops_ ? flops() / ran(undisturbed([&] { return time(); })) : 0;
}

timing time_of_reading(const isa_loops& loops, int loop, const void* data, size_t bytes, int passes) {
  return time_of([&] {
    for (int pass = 0; pass < passes; ++pass) loops.read[loop](data, bytes);
  });
}

double read_rate(const isa_loops& loops, const void* data, size_t bytes, int passes) {
  double rate = 0;
  for (int loop = 0; loop < read_loops; ++loop) {
    const timing t = undisturbed([&] { return time_of_reading(loops, loop, data, bytes, passes); });
    rate = std::max(rate, static_cast<double>(bytes) * passes / ran(t));
  }
  return rate;
}

summary loop_samples::fastest() const {
  std::vector<summary> loops;
  for (const std::vector<timing>& samples : of_loops_) loops.push_back(summarise(samples));
  return fastest_of(loops);
}

} // namespace bench
