// The limits of AVX-512: 16 chains of 16 lanes, 64-byte loads.
#include <immintrin.h>

#include "peak_loops.hpp"

namespace bench {
namespace {
struct avx512 {
  using vec = __m512;
  using words = __m512i;
  static constexpr int lanes = 16, chains = 16, loads = 8;
  static vec spread(float x) { return _mm512_set1_ps(x); }
  static vec step(vec chain, vec x, vec y) { return _mm512_fmadd_ps(x, y, chain); }
  static void keep(words w) { __asm__ volatile("" : : "v"(w)); }
  static float first(vec x) { return _mm512_cvtss_f32(x); }
};
} // namespace
extern const isa_loops avx512_loops;
const isa_loops avx512_loops = loops_for<avx512>;
} // namespace bench
