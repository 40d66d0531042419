// Numbers of 16 and 32 bits, moved and rounded by their bits, so that a core without FPU packs the same
// bytes.
#pragma once
#include <cstdint>

namespace fovea::linear {

struct f32_bits {
  using stored = uint32_t;
  static uint32_t widen(stored x) { return x; }
  static stored narrow(uint32_t x) { return x; }
};
struct bf16_bits {
  using stored = uint16_t;
  static uint32_t widen(stored x) { return uint32_t{x} << 16; }
  static stored narrow(uint32_t x) {
    if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<stored>(x >> 16 | 0x40u); // NaN
    return static_cast<stored>((x + 0x7fffu + (x >> 16 & 1)) >> 16);
  }
};
struct f16_bits {
  using stored = uint16_t;
  static uint32_t widen(stored x) {
    const uint32_t sign = uint32_t{x} << 16 & 0x80000000u;
    uint32_t exponent = x >> 10 & 31u, fraction = x & 0x3ffu;
    if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
    if (exponent == 0) {
      if (fraction == 0) return sign;
      for (exponent = 1; !(fraction & 0x400u); --exponent) fraction <<= 1; // may go below 0, and wraps
      fraction &= 0x3ffu;
    }
    return sign | (exponent + 112) << 23 | fraction << 13;
  }
  static stored narrow(uint32_t x) {
    const uint32_t sign = x >> 16 & 0x8000u, size = x & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<stored>(sign | 0x7e00u | (size >> 13 & 0x3ffu)); // NaN
    if (size >= 0x477ff000u) return static_cast<stored>(sign | 0x7c00u); // from 65,520 on infinity
    if (size < 0x33000000u) return static_cast<stored>(sign);            // below half of the least one: 0
    // Bits that are dropped: 13, and in a denormal as many more as its exponent is too small.
    const uint32_t exponent = size >> 23, drop = exponent > 112 ? 13 : 126 - exponent;
    const uint32_t whole = exponent > 112 ? size - (112u << 23) : (size & 0x7fffffu) | 0x800000u;
    const uint32_t rounded = whole + (1u << (drop - 1)) - 1 + (whole >> drop & 1);
    return static_cast<stored>(sign | rounded >> drop);
  }
};

} // namespace fovea::linear
