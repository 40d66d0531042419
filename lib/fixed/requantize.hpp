// TFLite's requantisation, of one number and of sixteen outputs: docs/fixed_point.md, linear layers.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fixed/tile.hpp"

namespace fovea::fixed {

// What a panel of a packed layer has behind its bytes.
struct requantize_numbers {
  int32_t bias[16], multiplier[16], shift[16];
};

struct output_range {
  int32_t zero, low, high;
};

// x * multiplier / 2^31, to nearest, halves up: SaturatingRoundingDoublingHighMul of a multiplier that is not
// negative. Then / 2^down, to nearest, halves away from zero: RoundingDivideByPOT. x is not -2^31, so nothing
// overflows.
static constexpr int32_t requantized(int32_t x, int32_t multiplier, int32_t shift) {
  const int32_t up = shift > 0 ? shift : 0, down = shift < 0 ? -shift : 0;
  const int32_t shifted = left_shift(x, up), high = high_product(shifted, multiplier);
  const uint32_t low = static_cast<uint32_t>(shifted) * static_cast<uint32_t>(multiplier);
  const int32_t y = static_cast<int32_t>(static_cast<uint32_t>(high) << 1 | low >> 31) +
                    static_cast<int32_t>(low >> 30 & 1);
  return down == 0 ? y : (((y + (y >> 31)) >> (down - 1)) + 1) >> 1;
}

static constexpr int8_t output_of(int32_t sum, int32_t multiplier, int32_t shift, const output_range& range) {
  const int32_t y = requantized(sum, multiplier, shift);
  // A byte and a zero point: what lies beyond them is clamped anyway, and the sum cannot overflow.
  const int32_t near = y < -512 ? -512 : y > 512 ? 512 : y, z = near + range.zero;
  return static_cast<int8_t>(z < range.low ? range.low : z > range.high ? range.high : z);
}

// A plain loop that compilers make into vectors. Each ISA has a copy of its own.
static inline void requantize_sums(const int32_t* __restrict sums, const requantize_numbers& numbers,
                                   const output_range& range, int32_t count, int8_t* __restrict y) {
  int8_t all[16];
  for (int i = 0; i < 16; ++i)
    all[i] = output_of(sums[i] + numbers.bias[i], numbers.multiplier[i], numbers.shift[i], range);
  for (int32_t i = 0; i < count; ++i) y[i] = all[i];
}

} // namespace fovea::fixed
