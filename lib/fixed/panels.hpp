// Where a byte of K or V stands in panels.
//
// Order 1 serves every core but Helium: sixteen lanes side by side, four deep. A panel of sixteen lanes is
// one stream of memory.
//   K  [keys / 16][depth / 4][16 keys][4 dims]
//   V  [keys / 64][width / 16][64 / 4][16 dims][4 keys]
//
// Order 2 serves Helium, whose dot product takes sixteen elements of one lane.
//   K  [keys / 4][depth / 16][4 keys][16 dims]
//   V  [keys / 64][width][64 keys]
#pragma once
#include <cstddef>
#include <cstdint>

#include "fixed/arithmetic.hpp"

namespace fovea::fixed {

#if defined(__ARM_FEATURE_MVE)
constexpr int fixed_panel_order = 2;
#else
constexpr int fixed_panel_order = 1;
#endif

// Element (lane, c) of 16 lanes that are `depth` deep. No number here is negative.
inline __attribute__((always_inline)) constexpr ptrdiff_t in_panel(int lane, int c) {
  return static_cast<ptrdiff_t>(c & ~3) * 16 + lane * 4 + (c & 3);
}

constexpr ptrdiff_t key_at(int32_t key, int c, int depth, int order = fixed_panel_order) {
  if (order == 2) return static_cast<ptrdiff_t>(key & ~3) * depth + (c & ~15) * 4 + (key & 3) * 16 + (c & 15);
  return static_cast<ptrdiff_t>(key & ~15) * depth + in_panel(key & 15, c);
}
constexpr ptrdiff_t value_at(int32_t key, int c, int width, int order = fixed_panel_order) {
  const int lane = key & (fixed_block - 1);
  const ptrdiff_t block = static_cast<ptrdiff_t>(key - lane) * width;
  if (order == 2) return block + c * fixed_block + lane;
  return block + (c & ~15) * fixed_block + in_panel(c & 15, lane);
}

} // namespace fovea::fixed
