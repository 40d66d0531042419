// Weights of four bits: groups of 32 numbers that share a float16 scale, number = scale * (four bits - 8).
// Sixteen outputs stand in one panel: [groups][16] scales, then [groups][256] bytes. A byte holds the numbers
// c and c + 16 of a group, as a byte of GGUF's Q4_0 does, in the order of the first sixteen numbers in a
// panel of bytes.
#pragma once
#include <cstring>

#include "common/system.hpp"
#include "fixed/panels.hpp"

// Cores without vectors expand four bytes at a time; elsewhere compilers make vectors of single bytes.
#if !FOVEA_HAS_SYSTEM && !defined(__ARM_FEATURE_MVE)
#define FOVEA_WORDS_OF_NIBBLES 1
#else
#define FOVEA_WORDS_OF_NIBBLES 0
#endif

namespace fovea::fixed {

constexpr int group_depth = 32;
constexpr int group_bytes = 256;             // of sixteen outputs
constexpr int group_scales = 32;             // bytes of sixteen scales
constexpr int group_panel = 2 * group_bytes; // bytes of a group as a panel of bytes

// Numbers 0 .. 15 of sixteen outputs come in runs, each followed by the run of numbers 16 .. 31.
constexpr int group_run = fixed_panel_order == 2 ? 64 : 256;

// Where number c = 0 .. 15 of an output stands among the bytes of a group.
constexpr int in_group(int lane, int c) {
  const int at = static_cast<int>(key_at(lane, c, group_depth));
  return at / (2 * group_run) * group_run + at % group_run;
}

#if FOVEA_WORDS_OF_NIBBLES
// Numbers of four bytes, less 8 each: bit 7 keeps borrows inside their bytes.
constexpr uint32_t less_eight(uint32_t fours) { return ((fours | 0x80808080u) - 0x08080808u) ^ 0x80808080u; }
#endif

// A group becomes a panel of bytes that is 32 deep.
static inline void expand_group(const unsigned char* __restrict from, int8_t* __restrict to) {
#if FOVEA_WORDS_OF_NIBBLES // four bytes at a time; groups and panels stand at multiples of four
  for (int run = 0; run < group_bytes; run += group_run, from += group_run, to += 2 * group_run)
    for (int i = 0; i < group_run; i += 4) {
      uint32_t word;
      std::memcpy(&word, __builtin_assume_aligned(from + i, 4), sizeof word);
      const uint32_t low = less_eight(word & 0x0f0f0f0fu), high = less_eight(word >> 4 & 0x0f0f0f0fu);
      std::memcpy(__builtin_assume_aligned(to + i, 4), &low, sizeof low);
      std::memcpy(__builtin_assume_aligned(to + group_run + i, 4), &high, sizeof high);
    }
#else
  for (int run = 0; run < group_bytes; run += group_run, from += group_run, to += 2 * group_run)
    for (int i = 0; i < group_run; ++i) {
      to[i] = static_cast<int8_t>((from[i] & 15) - 8);
      to[i + group_run] = static_cast<int8_t>((from[i] >> 4) - 8);
    }
#endif
}

// Sixteen finite float16 as floats, without a denormal on the way: 32-bit NEON has none. Sizes below 2^-14
// are steps of 2^-24 above 2^-14, which is taken away again.
static inline void floats_of_halves(const unsigned char* __restrict from, float* __restrict to) {
  uint16_t halves[16];
  uint32_t sizes[16], offsets[16];
  std::memcpy(halves, from, sizeof halves);
  for (int i = 0; i < 16; ++i) {
    const uint32_t size = halves[i] & 0x7fffu, tiny = 0u - (size < 0x400);
    sizes[i] = (size << 13) + (112u << 23) + (tiny & 1u << 23);
    offsets[i] = tiny & 113u << 23;
  }
  float x[16], y[16];
  std::memcpy(x, sizes, sizeof x);
  std::memcpy(y, offsets, sizeof y);
  for (int i = 0; i < 16; ++i) x[i] -= y[i];
  std::memcpy(sizes, x, sizeof sizes);
  for (int i = 0; i < 16; ++i) sizes[i] |= (halves[i] & 0x8000u) << 16;
  std::memcpy(to, sizes, sizeof sizes);
}

} // namespace fovea::fixed
