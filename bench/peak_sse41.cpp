// The limits of SSE4.1, which has no fused multiply-add: a product and a sum count as its two operations. 12
// chains of 4 lanes.
#include <immintrin.h>

#include "peak_loops.hpp"

namespace bench {
namespace {
struct sse41 {
  using vec = __m128;
  using words = __m128i;
  static constexpr int lanes = 4, chains = 12, loads = 8;
  static vec spread(float x) { return _mm_set1_ps(x); }
  static vec step(vec chain, vec x, vec y) {
    return _mm_add_ps(_mm_mul_ps(chain, x), y);
  } // x * y would be computed once
  static words merge(words a, words b) { return _mm_xor_si128(a, b); }
  static float first(vec x) { return _mm_cvtss_f32(x); }
};
} // namespace
extern const isa_loops sse41_loops;
const isa_loops sse41_loops = loops_for<sse41>;
} // namespace bench
