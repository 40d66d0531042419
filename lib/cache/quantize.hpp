// From floats to int8 with a scale for each token and head: the arithmetic of docs/cache.md, in the order
// that it says.
#pragma once
#include <cstdint>

#include "common/bits.hpp"
#include "fovea/cache.h"

namespace fovea::cache {

constexpr int32_t greatest_weight = 32767;

// What one step of a multiplier, or of a weight, is worth.
inline float unit_of(float largest, int32_t greatest) { return largest / 127 / static_cast<float>(greatest); }

constexpr float least_normal = 1.17549435e-38f;
inline bool scales_are_normal(const fovea_cache_shape& s) {
  return unit_of(s.k_largest, s.score_multiplier) >= least_normal &&
         unit_of(s.v_largest, greatest_weight) >= least_normal;
}

// A multiplier of at most `greatest` under which a number of this size fits into 127 steps, and hardly more
// than the least of them.
inline int32_t multiplier_for(float size, float largest, int32_t greatest) {
  const int32_t share = static_cast<int32_t>(size / largest * 1073741824.0f) + 1; // of 2^30, rounded up
  const int64_t floor = (int64_t{greatest} * share) >> 30;
  return floor < greatest ? static_cast<int32_t>(floor) + 1 : greatest;
}

// To nearest, halves to even: the sum has no bits behind the point, and its lowest byte is the integer. It
// holds each quotient of a row with the step of its multiplier, because these are at most 127 (1 + 2^-22).
inline int8_t quantize(float x, float step) { return static_cast<int8_t>(bits_of(x / step + 12582912.0f)); }

} // namespace fovea::cache
