// Float output by the floats of the core, for the kernels of systems. The bits are those of soft_float.hpp:
// the same two factors, each rounded once, and their product. No number on the way is denormal: a scale of at
// least 2^-86 divided by a sum below 2^32, times an integer.
#pragma once
#include <cstring>

#include "fovea/fixed.h"

namespace fovea::fixed {

// Plain numbers in plain loops, as write_integers: compilers make registers of them.
__attribute__((noinline)) static void multiply_sums(const int32_t* __restrict acc, float by, int32_t count,
                                                    float* __restrict out) {
  for (int32_t c = 0; c < count; ++c) out[c] = static_cast<float>(acc[c]) * by;
}
// A sum and what a zero point adds to it differ by up to 33 bits, which a double holds.
__attribute__((noinline)) static void multiply_differences(const int32_t* __restrict acc, int32_t zero_sum,
                                                           float by, int32_t count, float* __restrict out) {
  const double zero = zero_sum;
  for (int32_t c = 0; c < count; ++c) out[c] = static_cast<float>(static_cast<double>(acc[c]) - zero) * by;
}

// What a writer of integers adds to write floats, too.
struct float_writer {
  static inline __attribute__((always_inline)) void write_floats(const int32_t* acc, uint32_t sum,
                                                                 int32_t zero_sum,
                                                                 const fovea_fixed_scale& scale,
                                                                 int32_t count, float* out) {
    float by;
    std::memcpy(&by, &scale.f32_scale, sizeof by);
    by /= static_cast<float>(sum);
    if (zero_sum == 0) return multiply_sums(acc, by, count, out);
    multiply_differences(acc, zero_sum, by, count, out);
  }
};

} // namespace fovea::fixed
