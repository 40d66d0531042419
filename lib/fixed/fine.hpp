// Weights of 22 bits, and a reciprocal of 30 bits: for where 15 bits are not enough.
#pragma once
#include "common/visible.hpp"
#include "fixed/arithmetic.hpp"

namespace fovea::fixed {

struct weights_of_22_bits {
  static constexpr int fraction = 22;
  static int64_t weight(int64_t u) {
    const int whole = static_cast<int>(larger(0, smaller(u >> fraction, 23)));
    const int64_t y = exp2(static_cast<int32_t>(u & ((1 << fraction) - 1)) << 9);
    return whole == 23 ? 0 : (y + (1 << (7 + whole))) >> (8 + whole);
  }

 private:
  // 2^-f for f in Q31, in Q30: a polynomial of degree 6, off by at most 4e-9.
  static int64_t exp2(int64_t f) {
    constexpr int32_t factors[] = {117391, -1369601, 10286296, -59582935, 257938912, -744260973, 1 << 30};
    int64_t y = 0;
    for (int32_t factor : factors) y = ((y * f) >> 31) + factor;
    return y;
  }
};

static constexpr int length_of(int64_t x) { // in bits, at least 1
  int length = 1;
  while (length < 63 && x >> length) ++length;
  return length;
}

// 2^(30 + length) / x for x of so many bits: 16 bits by a 32-bit division, 30 by one step of Newton's.
static constexpr int64_t inverse_of(int64_t x, int length) {
  const uint32_t top = static_cast<uint32_t>(length > 32 ? x >> (length - 32) : x << (32 - length));
  const int64_t r = static_cast<int64_t>(0xffffffffu / (top >> 15)) << 15;
  const int64_t rest = (int64_t{1} << 62) - r * top;
  return smaller(r + ((r * (rest >> 31)) >> 31), 0x7fffffff);
}

} // namespace fovea::fixed
