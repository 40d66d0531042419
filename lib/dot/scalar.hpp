// Cores with nothing but a multiplication, Cortex-M3 and any other: four lanes by two rows.
#pragma once
#include "dot/plain.hpp"

namespace fovea {

struct scalar_core {
  using element = int16_t;
  static constexpr int lanes = 4;
  static int place(int rows, int g, int i) { return i * rows + g; } // of element i of row g
  static FOVEA_COMPACT int32_t cap(int32_t u) { return u > 0x1fffff ? 0x1fffff : u; }

  template <class One, class T>
  static FOVEA_COMPACT void put_four(element* to, int rows, One&& one, const T* s) {
    for (int i = 0; i < 4; ++i) to[i * rows] = static_cast<element>(one(s[i]));
  }

  template <int G>
  static FOVEA_COMPACT void multiply(const element* a, const int8_t* b, int depth, int32_t (&o)[lanes][G]) {
    for (const element* end = a + depth * G; a != end; a += 4 * G, b += 64)
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
        for (int l = 0; l < lanes; ++l) {
          const int32_t x = b[l * 4 + i];
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) o[l][g] += x * a[i * G + g];
        }
  }
};

using scalar_dot = plain_dot<scalar_core>;

} // namespace fovea
