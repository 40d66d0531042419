// Cores with nothing but a multiplication, Cortex-M3 and any other: four lanes by two rows, or eight by one.
#pragma once
#include "fixed/dot/plain.hpp"

namespace fovea::fixed {

struct scalar_core : plain_weights<int16_t, scalar_core>, lane_tiles<scalar_core> {
  using element = int16_t;
  static constexpr int most_rows = 2, lanes[] = {0, 8, 4};
  static int place(int rows, int g, int i) { return i * rows + g; } // of element i of row g

#if defined(__ARM_FEATURE_SAT)
  static FOVEA_COMPACT int32_t cap(int32_t u) {
    return static_cast<int32_t>(__builtin_arm_usat(u, 21));
  } // below zero: `sign` tells
  template <int Bits>
  static FOVEA_COMPACT int32_t saturate(int32_t x) {
    return __builtin_arm_ssat(x, Bits);
  }
#endif

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth,
                                     int32_t (&o)[lanes[G]][G]) {
    for (const element* end = a + depth * G; a != end; a += 4 * G, b += 64)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
#pragma GCC unroll 8
        for (int l = 0; l < lanes[G]; ++l) {
          const int32_t x = b[l * 4 + i];
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) o[l][g] += x * a[i * G + g];
        }
  }
};

using scalar_dot = plain_dot<scalar_core>;

} // namespace fovea::fixed
