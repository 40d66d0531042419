// The loops of SSE, which has no fused multiply-add: a product and a sum count as its two operations. 12
// chains of 4 lanes. SSE2 is enough for them.
#pragma once
#include <immintrin.h>

#include "peak_loops.hpp"

namespace bench {
namespace {
struct sse {
  using vec = __m128;
  using words = __m128i;
  static constexpr int lanes = 4, chains = 12, loads = 8;
  static vec spread(float x) { return _mm_set1_ps(x); }
  static vec step(vec chain, vec x, vec y) {
    return _mm_add_ps(_mm_mul_ps(chain, x), y);
  } // x * y would be computed once
  static void keep(words w) { __asm__ volatile("" : : "x"(w)); }
  static float first(vec x) { return _mm_cvtss_f32(x); }
};
} // namespace
} // namespace bench
