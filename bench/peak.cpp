// Times the bare loops of every ISA that this build has.
#include "peak.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "fovea/fovea.h"

namespace bench {

extern const isa_loops scalar_loops, scalar_no_fma_loops, sse41_loops, avx2_loops, avx512_loops, neon_loops;

namespace {

using stopwatch = std::chrono::steady_clock;

volatile float kept_float; // a result that nobody reads could be optimised away
volatile uint32_t kept_word;

double seconds_since(stopwatch::time_point start) { return std::chrono::duration<double>(stopwatch::now() - start).count(); }

double seconds_of(const isa_loops& loops, int64_t turns) {
  const auto start = stopwatch::now();
  kept_float = loops.multiply_add(turns, 1.0000001f, 1e-9f);
  return seconds_since(start);
}

} // namespace

const isa_loops* loops_of(int32_t isa) {
  switch (isa) {
#if BENCH_PEAK_OF_SCALAR
    case FOVEA_SCALAR:
      return &scalar_loops;
#endif
#if BENCH_PEAK_OF_SCALAR_NO_FMA
    case FOVEA_SCALAR_NO_FMA:
      return &scalar_no_fma_loops;
#endif
#if BENCH_PEAK_OF_SSE41
    case FOVEA_SSE41:
      return &sse41_loops;
#endif
#if BENCH_PEAK_OF_AVX2
    case FOVEA_AVX2:
      return &avx2_loops;
#endif
#if BENCH_PEAK_OF_AVX512
    case FOVEA_AVX512:
      return &avx512_loops;
#endif
#if BENCH_PEAK_OF_NEON
    case FOVEA_NEON:
      return &neon_loops;
#endif
#if BENCH_PEAK_OF_NEON64
    case FOVEA_NEON64:
      return &neon_loops;
#endif
    default:
      return nullptr;
  }
}

peak_meter::peak_meter(int32_t isa) : loops_(loops_of(isa)) {
  constexpr double enough = 100e-6; // doubled until it takes 0.1 to 0.2 ms
  while (loops_ && seconds_of(*loops_, turns_) < enough) turns_ *= 2;
}

double peak_meter::sample() const {
  return loops_ ? loops_->flops_per_turn * static_cast<double>(turns_) / seconds_of(*loops_, turns_) : 0;
}

double fma_peak(int32_t isa) {
  const peak_meter meter(isa);
  std::array<double, 31> samples;
  for (double& sample : samples) sample = meter.sample();
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

double read_rate(const isa_loops& loops, const void* data, size_t bytes, int passes) {
  const auto start = stopwatch::now();
  for (int pass = 0; pass < passes; ++pass) kept_word = loops.read(data, bytes);
  return static_cast<double>(bytes) * passes / seconds_since(start);
}

} // namespace bench
