// Small questions of validation. Floats are judged by their bits, so that a core without FPU links no float
// code for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "f32/plan.hpp"

namespace fovea::f32 {

inline uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
inline bool is_finite(float x) { return (bits_of(x) & 0x7f800000u) != 0x7f800000u; }
inline bool is_denormal(float x) { return (bits_of(x) & 0x7f800000u) == 0; } // or zero
inline bool is_zero(float x) { return (bits_of(x) & 0x7fffffffu) == 0; }

inline bool misaligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % alignof(float) != 0; }

inline bool all_zero(const int32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (words[i] != 0) return false;
  return true;
}

int32_t check_softcap(float softcap, modifiers& m);

} // namespace fovea::f32
