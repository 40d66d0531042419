// The square root of a float, rounded to nearest, without libm: one instruction where the core has it.
#pragma once
#include <cstdint>
#include <cstring>

namespace fovea {

#if (defined(__arm__) && (defined(__SOFTFP__) || !defined(__ARM_FP))) || \
    (defined(__riscv) && !defined(__riscv_flen))
constexpr bool has_square_root = false; // the compiler would call sqrtf
#else
constexpr bool has_square_root = true;
#endif

// In integers, bit by bit. x = fraction * 2^(exponent - 23) with an even exponent, and the root of
// fraction * 2^25 has one bit more than a float.
static inline float square_root_in_integers(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if (bits == 0x80000000u || bits == 0 || bits == 0x7f800000u) return x;
  if (bits > 0x7f800000u) return x - x + __builtin_nanf(""); // negative, or a NaN
  int32_t exponent = static_cast<int32_t>(bits >> 23);
  uint32_t fraction = bits & 0x7fffffu;
  if (exponent == 0) // denormal
    for (exponent = 1; !(fraction >> 23); --exponent) fraction <<= 1;
  fraction |= 0x800000u;
  exponent -= 127;
  if (exponent & 1) {
    fraction <<= 1;
    --exponent;
  }
  uint32_t root = 0, rest = 0;
  for (int32_t at = 24; at >= 0; --at) {
    const uint32_t pair = at >= 12 ? fraction << 1 >> (2 * (at - 12)) & 3 : 0;
    rest = rest << 2 | pair;
    const uint32_t trial = root << 2 | 1;
    root <<= 1;
    if (rest >= trial) {
      rest -= trial;
      root |= 1;
    }
  }
  // No root is halfway between two floats, so the last bit rounds.
  const uint32_t rounded = (root + 1) >> 1;
  bits = static_cast<uint32_t>(exponent / 2 + 126) * 0x800000u + rounded;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// The instruction. With -fmath-errno, a default, __builtin_sqrtf also calls libm for negative numbers.
static inline float square_root_instruction(float x) {
#if FOVEA_EXACT_FLAGS
  return __builtin_sqrtf(x);
#elif defined(__clang__) && __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#elif defined(__arm__) && defined(__ARM_FP)
  __asm__("vsqrt.f32 %0, %1" : "=t"(x) : "t"(x));
  return x;
#elif defined(__aarch64__)
  __asm__("fsqrt %s0, %s1" : "=w"(x) : "w"(x));
  return x;
#elif defined(__SSE2__)
  __asm__("sqrtss %1, %0" : "=x"(x) : "x"(x));
  return x;
#else
  return __builtin_sqrtf(x);
#endif
}

static inline float square_root(float x) {
  if constexpr (has_square_root) return square_root_instruction(x);
  return square_root_in_integers(x);
}

} // namespace fovea
