// Three float operations in integers, rounded to nearest even, as bits: cores without FPU link no float code
// for float output. Arguments and results are normal or zero; what would be smaller becomes zero, what would
// be larger infinite.
#pragma once
#include <cstdint>

#include "fixed/arithmetic.hpp"

namespace fovea::fixed {

constexpr uint32_t float_sign = 0x80000000u, float_infinity = 0x7f800000u;

// The float sign * mantissa * 2^exponent; the mantissa has its leading bit at 31, and its lowest bit is set
// when something was cut off.
static constexpr uint32_t round_to_float(uint32_t sign, uint32_t mantissa, int32_t exponent) {
  uint32_t bits = mantissa >> 8;
  const uint32_t rest = mantissa & 255;
  bits += rest > 128 || (rest == 128 && (bits & 1));
  const int32_t biased = exponent + 31 + 127;
  if (biased < 1) return sign;
  if (biased > 254) return sign | float_infinity;
  return sign |
         ((static_cast<uint32_t>(biased - 1) << 23) + bits); // the leading bit adds one to the exponent
}

static constexpr uint32_t float_from_integer(int64_t x) {
  if (x == 0) return 0;
  const uint32_t sign = x < 0 ? float_sign : 0;
  uint64_t size = x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  int32_t exponent = 0;
  uint32_t cut = 0;
  while (size >> 32) {
    cut |= static_cast<uint32_t>(size & 1);
    size >>= 1;
    ++exponent;
  }
  const int zeros = leading_zeros(static_cast<uint32_t>(size));
  return round_to_float(sign, static_cast<uint32_t>(size) << zeros | cut, exponent - zeros);
}

static constexpr uint32_t mantissa_of(uint32_t x) { return (x & 0x7fffffu) | 0x800000u; }
static constexpr int32_t exponent_of(uint32_t x) { return static_cast<int32_t>(x >> 23 & 255) - 150; }

static constexpr uint32_t multiply_floats(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & float_sign;
  if (!(a & ~float_sign) || !(b & ~float_sign)) return sign;
  const uint64_t product = (static_cast<uint64_t>(mantissa_of(a)) << 8) *
                           (mantissa_of(b) << 8); // leading bit at 62 or 63
  uint32_t high = static_cast<uint32_t>(product >> 32), low = static_cast<uint32_t>(product);
  int32_t exponent = exponent_of(a) + exponent_of(b) + 16;
  if (!(high >> 31)) {
    high = high << 1 | low >> 31;
    low <<= 1;
    --exponent;
  }
  return round_to_float(sign, high | (low != 0), exponent);
}

// One bit of the quotient at a time: it is needed once a row.
static constexpr uint32_t divide_floats(uint32_t a, uint32_t b) {
  const uint32_t sign = (a ^ b) & float_sign;
  if (!(a & ~float_sign)) return sign;
  uint32_t rest = mantissa_of(a), by = mantissa_of(b), quotient = 0;
  int32_t exponent = exponent_of(a) - exponent_of(b);
  if (rest < by) {
    rest <<= 1;
    --exponent;
  }
  for (int bit = 31; bit >= 0; --bit, rest <<= 1)
    if (rest >= by) {
      rest -= by;
      quotient |= 1u << bit;
    }
  return round_to_float(sign, quotient | (rest != 0), exponent - 31);
}

} // namespace fovea::fixed
