// The arithmetic of integer attention, one key or one number at a time. Every kernel equals it bit for bit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fovea::fixed {

// Keys of a block. The reference of a row rises at most once per block. Block 0 begins with absolute key 0.
constexpr int fixed_block = 64;
// Octaves in Q16 are less than this, and more than its negative.
constexpr int32_t fixed_octave_limit = 1 << 28;
// Octaves of a key that is not seen: its weight is 0 under any reference.
constexpr int32_t fixed_absent = -(1 << 29);
// In whole octaves: below the octaves of every seen key, above those of every absent one.
constexpr int32_t fixed_lowest_reference = -4097;

static constexpr int32_t multiply_round(int32_t a, int32_t b) { return (a * b + (1 << 14)) >> 15; }

// 2^-f for f = 0 .. 1 in Q15; 2^0 is 32510 of 32768 (32512 by the quartic). PMULHRSW, SQRDMULH and VQRDMULH
// are multiply_round. In h = f - 1 each step falls with f as the product of two numbers that grow in size, so
// a larger f never has a larger weight, however steps are rounded.
// Each step is multiply_round and the sum after it in one: a product, a sum, a shift.
static constexpr int32_t exp2_cubic(int32_t f) {
  constexpr auto summand = [](int32_t c) { return c * (1 << 15) + (1 << 14); };
  const int32_t h = f - 32768, y = (-1270 * h + summand(3672)) >> 15, z = (y * h + summand(-11313)) >> 15;
  return (z * h + summand(16255)) >> 15;
}
static constexpr int32_t exp2_quartic(int32_t f) {
  const int32_t h = f - 32768;
  const int32_t y = multiply_round(multiply_round(232, h) - 820, h) + 3942;
  return multiply_round(multiply_round(y, h) - 11262, h) + 16256;
}
static constexpr int32_t shift_weight(int32_t y, uint32_t whole) {
  return whole >= 16 ? 0 : ((y << (15 - whole)) + (1 << 14)) >> 15;
}
// The weight of a key that lies u octaves (Q16) below the reference.
static constexpr int32_t weight_of(uint32_t u) {
  return shift_weight(exp2_cubic(static_cast<int32_t>(u & 65535) >> 1), u >> 16);
}

static constexpr int32_t octaves_of(int32_t score, int32_t multiplier, int32_t shift) {
  return static_cast<int32_t>((static_cast<int64_t>(score) * multiplier) >> shift);
}
// The least reference for a key of t octaves: the next whole octave.
static constexpr int32_t reference_of(int32_t t) { return (t + 65535) >> 16; }
static constexpr int32_t below(int32_t reference, int32_t t) { // wraps like the registers of every core
  return static_cast<int32_t>((static_cast<uint32_t>(reference) << 16) - static_cast<uint32_t>(t));
}

// x / 2^shift, rounded half up, in 32 bits; 0 for a shift beyond 30.
static constexpr int32_t shift_round(int32_t x, int shift) {
  return shift == 0 ? x : shift > 30 ? 0 : (x >> shift) + ((x >> (shift - 1)) & 1);
}
static constexpr uint32_t shift_round_sum(uint32_t x, int shift) {
  return shift == 0 ? x : shift > 30 ? 0 : (x >> shift) + ((x >> (shift - 1)) & 1);
}

// The high word of a product; b >= 0.
static constexpr int32_t high_product(int32_t a, int32_t b) {
#if defined(__arm__) && __ARM_ARCH < 7
  const uint32_t a_low = static_cast<uint32_t>(a) & 0xffff; // four products of 16 bits
  const uint32_t b_low = static_cast<uint32_t>(b) & 0xffff;
  const int32_t a_high = a >> 16, b_high = b >> 16;
  const int32_t middle = a_high * static_cast<int32_t>(b_low) + static_cast<int32_t>((a_low * b_low) >> 16);
  const uint32_t rest = static_cast<uint32_t>(b_high) * a_low + (static_cast<uint32_t>(middle) & 0xffff);
  return a_high * b_high + (middle >> 16) + static_cast<int32_t>(rest >> 16);
#else
  return static_cast<int32_t>((static_cast<int64_t>(a) * b) >> 32);
#endif
}
static constexpr int32_t left_shift(int32_t x, int by) {
  return static_cast<int32_t>(static_cast<uint32_t>(x) << by);
}

static constexpr int leading_zeros(uint32_t x) {
#if defined(__arm__) && __ARM_ARCH < 7
  int n = 0; // no instruction for it, and the call that replaces one needs a table
  for (int step = 16; step; step /= 2)
    if (!(x >> (32 - step))) {
      n += step;
      x <<= step;
    }
  return n;
#else
  return __builtin_clz(x);
#endif
}

// By how many bits the sums of a block are shifted right before they are added, so that sums over max_keys
// fit 32 bits. Up to free_keys keys need no shift.
static constexpr int spill_of(int32_t max_keys, int32_t free_keys) {
  int spill = 0;
  while (free_keys << spill < max_keys) ++spill;
  return spill;
}

} // namespace fovea::fixed
