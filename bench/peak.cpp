// Times the bare loops of every ISA that this build has.
#include "peak.hpp"

#include <algorithm>

#include "fovea/fovea.h"
#include "stopwatch.hpp"

namespace bench {

extern const isa_loops scalar_loops, scalar_no_fma_loops, sse41_loops, avx2_loops, avx512_loops, neon_loops;

namespace {

volatile float kept_float; // a result that nobody reads could be optimised away
volatile uint32_t kept_word;

timing time_of_turns(const isa_loops& loops, int64_t turns) {
  return time_of([&] { kept_float = loops.multiply_add(turns, 1.0000001f, 1e-9f); });
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
  while (loops_ && ran(time()) < enough) turns_ *= 2;
}

timing peak_meter::time() const { return time_of_turns(*loops_, turns_); }

double peak_meter::flops() const { return loops_ ? loops_->flops_per_turn * static_cast<double>(turns_) : 0; }

double peak_meter::sample() const {
  return loops_ ? flops() / ran(undisturbed([&] { return time(); })) : 0;
}

timing time_of_reading(const isa_loops& loops, const void* data, size_t bytes, int passes) {
  return time_of([&] {
    for (int pass = 0; pass < passes; ++pass) kept_word = loops.read(data, bytes);
  });
}

double read_rate(const isa_loops& loops, const void* data, size_t bytes, int passes) {
  const timing t = undisturbed([&] { return time_of_reading(loops, data, bytes, passes); });
  return static_cast<double>(bytes) * passes / ran(t);
}

} // namespace bench
