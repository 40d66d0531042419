// Weights of a row and a block in 16-bit lanes of NEON, 32 keys at a time.
#pragma once
#include "dot/neon_registers.hpp"

namespace fovea {

#if defined(__ARM_FEATURE_QRDMX)
static const int16_t cubic_summands[3][16] = {
    {7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513, 7513},
    {-22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478, -22478},
    {32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510, 32510}};
#endif

// Constants are pinned to registers: gcc would make them again in each row.
struct neon_weigher : neon_registers {
  int16x8_t least = vdupq_n_s16(-16);
  uint16x8_t odd = vdupq_n_u16(65534);
#if defined(__ARM_FEATURE_QRDMX)
  int16x8_t cubic = vdupq_n_s16(-1291);
#else
  int16x8_t cubic = vdupq_n_s16(1291);
#endif
  FOVEA_INLINE neon_weigher() { asm("" : "+w"(least), "+w"(odd), "+w"(cubic)); }

  static FOVEA_INLINE int32_t greatest_of_block(const int32_t* s) {
    reg top = spread(INT32_MIN);
#pragma GCC unroll 4
    for (int j = 0; j < 64; j += 16) {
      const reg a = larger(load(s + j), load(s + j + 4)), b = larger(load(s + j + 8), load(s + j + 12));
      top = j ? larger(top, larger(a, b)) : larger(a, b);
    }
    return greatest(top);
  }

  // 2^-f for f = 0 .. 1 in Q15, given -f.
#if defined(__ARM_FEATURE_QRDMX)
  // The sums take the place of their summands: these are loaded, two at a time, where else they would be copied.
  FOVEA_INLINE void exp2(const int16x8_t (&f)[2], int16x8_t (&y)[2]) const {
    const int16_t* c = cubic_summands[0];
    asm volatile("" : "+r"(c)); // so that they are not kept
    y[0] = y[1] = cubic;
#pragma GCC unroll 3
    for (int n = 0; n < 3; ++n) {
      const int16x8_t first = vld1q_s16(c + 16 * n), second = vld1q_s16(c + 16 * n + 8);
      y[0] = vqrdmlshq_s16(first, y[0], f[0]);
      y[1] = vqrdmlshq_s16(second, y[1], f[1]);
    }
  }
#else
  FOVEA_INLINE void exp2(const int16x8_t (&f)[2], int16x8_t (&y)[2]) const {
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) { // the first two steps with their signs turned
      y[i] = vsubq_s16(vdupq_n_s16(-7513), vqrdmulhq_s16(cubic, f[i]));
      y[i] = vsubq_s16(vdupq_n_s16(22478), vqrdmulhq_s16(y[i], f[i]));
      y[i] = vaddq_s16(vqrdmulhq_s16(y[i], f[i]), vdupq_n_s16(32510));
    }
  }
#endif

  // above: t - (reference << 16) + 65535, whose high half is -k and whose low half 65535 - (u & 65535).
  FOVEA_INLINE void weights(const reg (&above)[4], int16x8_t (&y)[2]) const {
    int16x8_t f[2], k[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const int16x8x2_t half = vuzpq_s16(vreinterpretq_s16_s32(above[2 * i]), vreinterpretq_s16_s32(above[2 * i + 1]));
      f[i] = vreinterpretq_s16_u16(vhsubq_u16(vreinterpretq_u16_s16(half.val[0]), odd));
      k[i] = vmaxq_s16(half.val[1], least);
    }
    exp2(f, y);
    y[0] = vrshlq_s16(y[0], k[0]), y[1] = vrshlq_s16(y[1], k[1]);
  }

  // leave(j, y): keys j .. j + 31. No key lies above the reference: to look first costs less than weights that are made in vain.
  template <bool Octaves, class Leave>
  FOVEA_INLINE void weigh_by(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int32_t* sum, const int16_t* factors,
                             Leave leave) const {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16) - 65535);
    const reg multiplier = spread(scale.score_multiplier), up = spread(31 - scale.score_shift);
    reg sums = load(sum);
#pragma GCC unroll 2
    for (int j = 0; j < 64; j += 32) {
      int16x8_t y[4];
#pragma GCC unroll 2
      for (int h = 0; h < 4; h += 2) {
        reg above[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
          const reg x = load(s + j + 8 * h + 4 * i);
          above[i] = vsubq_s32(Octaves ? x : vqdmulhq_s32(vshlq_s32(x, up), multiplier), base);
        }
        int16x8_t two[2];
        weights(above, two);
        y[h] = two[0], y[h + 1] = two[1];
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) sums = vpadalq_s16(sums, y[i]);
#pragma GCC unroll 4
      for (int i = 0; factors && i < 4; ++i) y[i] = vqrdmulhq_s16(y[i], vld1q_s16(factors + j + 8 * i));
      leave(j, y);
    }
    store(sum, sums);
  }
};

} // namespace fovea
