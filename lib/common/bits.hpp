// Floats judged and made by their bits, so that a core without FPU links no float code for it.
#pragma once
#include <cstdint>
#include <cstring>

namespace fovea {

static inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
static inline bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
static inline bool is_denormal(float x) { return (bits_of(x) & 0x7f800000u) == 0; } // or zero
static inline bool is_zero(float x) { return (bits_of(x) & 0x7fffffffu) == 0; }

} // namespace fovea
