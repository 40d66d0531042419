// The limits of AVX2 with FMA: 12 chains of 8 lanes (up to 5 cycles on 2 pipes), 32-byte loads.
#include <immintrin.h>

#include "peak_loops.hpp"

namespace bench {
namespace {
struct avx2 {
  using vec = __m256;
  using words = __m256i;
  static constexpr int lanes = 8, chains = 12, loads = 8;
  static vec spread(float x) { return _mm256_set1_ps(x); }
  static vec step(vec chain, vec x, vec y) { return _mm256_fmadd_ps(x, y, chain); }
  static void keep(words w) { __asm__ volatile("" : : "x"(w)); }
  static float first(vec x) { return _mm256_cvtss_f32(x); }
};
} // namespace
extern const isa_loops avx2_loops;
const isa_loops avx2_loops = loops_for<avx2>;
} // namespace bench
