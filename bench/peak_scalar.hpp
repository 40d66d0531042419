// The loops of scalar code: 12 chains of one float, loads of one machine word. `alone` keeps the compiler
// from joining them into vectors.
#pragma once
#include "peak_loops.hpp"

namespace bench {
namespace {
#if defined(__x86_64__) || defined(__i386__)
#define BENCH_FLOAT_REGISTER "+x"
#elif defined(__aarch64__)
#define BENCH_FLOAT_REGISTER "+w"
#elif defined(__arm__) && defined(__ARM_FP)
#define BENCH_FLOAT_REGISTER "+t"
#elif defined(__arm__)
#define BENCH_FLOAT_REGISTER "+r"
#else
#define BENCH_FLOAT_REGISTER "+f"
#endif

template <bool HasFma>
struct scalar {
  using vec = float;
  using words = uintptr_t;
  static constexpr int lanes = 1, chains = 12, loads = 4;
  static vec spread(float x) { return x; }
  static vec step(vec chain, vec x, vec y) {
    vec alone = HasFma ? __builtin_fmaf(x, y, chain) : chain * x + y; // x * y would be computed once
    __asm__("" : BENCH_FLOAT_REGISTER(alone));
    return alone;
  }
  static void keep(words w) { __asm__ volatile("" : : "r"(w)); }
  static float first(vec x) { return x; }
};
} // namespace
} // namespace bench
