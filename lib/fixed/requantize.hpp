// TFLite's requantisation: docs/fixed_point.md, linear layers.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fixed/tile.hpp"

namespace fovea::fixed {

// Of four outputs of a packed layer. down is -1 - shift.
struct requantize_numbers {
  int32_t bias[4], multiplier[4], down[4];
};

struct output_range {
  int32_t zero, low, high;
};

// Sums with their biases stay below it, so twice a sum is an int32, too.
constexpr int64_t linear_sums_limit = int64_t{1} << 30;
// A layer is gentle if all its shifts go to the right, by one at least.
constexpr bool gentle_shift(int32_t shift) { return shift < 0; }

// x * multiplier / 2^31, to nearest, halves up: SaturatingRoundingDoublingHighMul of a multiplier that is not
// negative. Then / 2^-shift, to nearest, halves away from zero: RoundingDivideByPOT. x is not -2^31, so
// nothing overflows.
static constexpr int32_t requantized(int32_t x, int32_t multiplier, int32_t down) {
  const int32_t shifted = down < -1 ? left_shift(x, -1 - down) : x;
  const int32_t high = high_product(shifted, multiplier);
  const uint32_t low = static_cast<uint32_t>(shifted) * static_cast<uint32_t>(multiplier);
  const int32_t y = static_cast<int32_t>(static_cast<uint32_t>(high) << 1 | low >> 31) +
                    static_cast<int32_t>(low >> 30 & 1);
  return down < 0 ? y : (((y + (y >> 31)) >> down) + 1) >> 1;
}

static constexpr int8_t output_of(int32_t sum, int32_t multiplier, int32_t down, const output_range& range) {
  const int32_t y = requantized(sum, multiplier, down);
  // What lies beyond a byte and a zero point is clamped anyway, and the sum cannot overflow.
  const int32_t near = y < -512 ? -512 : y > 512 ? 512 : y, z = near + range.zero;
  return static_cast<int8_t>(z < range.low ? range.low : z > range.high ? range.high : z);
}

// The first `count` of sums become bytes. A plain loop that compilers make into vectors; each ISA has a copy
// of its own.
static inline void requantize_sums(const int32_t* sums, const requantize_numbers* numbers,
                                   const output_range& given, int32_t count, int8_t* y) {
  const output_range range = given;
  for (; count > 0; count -= 4, sums += 4, y += 4, ++numbers)
    for (int i = 0; i < 4 && i < count; ++i) {
      const uint32_t bias = static_cast<uint32_t>(numbers->bias[i]);
      const int32_t sum = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + bias);
      y[i] = output_of(sum, numbers->multiplier[i], numbers->down[i], range);
    }
}

} // namespace fovea::fixed
