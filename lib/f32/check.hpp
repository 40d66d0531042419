// Small questions of validation.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/bits.hpp"
#include "f32/plan.hpp"

namespace fovea::f32 {

inline bool misaligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % alignof(float) != 0; }

inline bool all_zero(const int32_t* words, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (words[i] != 0) return false;
  return true;
}

int32_t check_softcap(float softcap, modifiers& m);

} // namespace fovea::f32
