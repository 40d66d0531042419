// Weights of a row and a block in 16-bit lanes of NEON.
#pragma once
#include "dot/neon_registers.hpp"
#include "fixed/arithmetic.hpp"

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

  // How far a key lies below the reference, eight keys each: whole octaves, and the rest in Q15. A reference that rises leaves the rest.
  struct way {
    int16x8_t whole[8], rest[8];
  };

  // above: t - (reference << 16) + 65535, whose high half is -k and whose low half 65535 - (u & 65535).
  template <bool Octaves>
  FOVEA_INLINE void ways(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, way& to) const {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16) - 65535);
    const reg multiplier = spread(scale.score_multiplier), up = spread(31 - scale.score_shift);
#pragma GCC unroll 4
    for (int j = 0; j < 8; j += 2) {
      reg x[4];
      take_4(s, x);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) x[i] = vsubq_s32(Octaves ? x[i] : vqdmulhq_s32(vshlq_s32(x[i], up), multiplier), base);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const int16x8x2_t half = vuzpq_s16(vreinterpretq_s16_s32(x[2 * i]), vreinterpretq_s16_s32(x[2 * i + 1]));
        to.rest[j + i] = vreinterpretq_s16_u16(vhsubq_u16(vreinterpretq_u16_s16(half.val[0]), odd));
        to.whole[j + i] = half.val[1];
      }
    }
  }

  static FOVEA_INLINE int greatest_of(const int16x8_t (&x)[8]) {
    const int16x8_t a = vmaxq_s16(x[0], x[1]), b = vmaxq_s16(x[2], x[3]), c = vmaxq_s16(x[4], x[5]), d = vmaxq_s16(x[6], x[7]);
    return greatest(vmaxq_s16(vmaxq_s16(a, b), vmaxq_s16(c, d)));
  }

  // By how many octaves the reference rises: all keys come to lie so much lower, and the sum is shifted.
  FOVEA_INLINE int rise(int16x8_t (&whole)[8], reg& sums) const {
    const int by = greatest_of(whole);
    if (by <= 0) return 0;
    const int16x8_t down = vdupq_n_s16(static_cast<int16_t>(by));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) whole[i] = vsubq_s16(whole[i], down);
    sums = first(static_cast<int32_t>(shift_round_sum(total(sums), by)));
    return by;
  }

  // leave(j, y): weights of keys j .. j + 31. Returns by how much the reference rises.
  template <bool Octaves, class Leave>
  FOVEA_INLINE int weigh_by(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int32_t* sum, const int16_t* factors,
                            Leave leave) const {
    way to;
    ways<Octaves>(s, scale, reference, to);
    reg sums = load(sum);
    const int by = rise(to.whole, sums);
#pragma GCC unroll 2
    for (int j = 0; j < 8; j += 4) {
      int16x8_t y[4];
#pragma GCC unroll 2
      for (int i = 0; i < 4; i += 2) {
        const int16x8_t f[2] = {to.rest[j + i], to.rest[j + i + 1]};
        int16x8_t two[2];
        exp2(f, two);
        y[i] = vrshlq_s16(two[0], vmaxq_s16(to.whole[j + i], least));
        y[i + 1] = vrshlq_s16(two[1], vmaxq_s16(to.whole[j + i + 1], least));
      }
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) sums = vpadalq_s16(sums, y[i]);
#pragma GCC unroll 4
      for (int i = 0; factors && i < 4; ++i) y[i] = vqrdmulhq_s16(y[i], vld1q_s16(factors + 8 * (j + i)));
      leave(8 * j, y);
    }
    store(sum, sums);
    return by;
  }
};

} // namespace fovea
