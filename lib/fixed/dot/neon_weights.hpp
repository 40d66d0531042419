// Weights of a row and a block in 16-bit lanes of NEON.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fixed/dot/neon_registers.hpp"

namespace fovea::fixed {

#if defined(__ARM_FEATURE_QRDMX) && defined(__aarch64__)
struct summands_of_cubic { // four registers each
  int16_t at[3][32];
  constexpr summands_of_cubic() : at{} {
    for (int i = 0; i < 32; ++i) at[0][i] = 3672, at[1][i] = -11313, at[2][i] = 16255;
  }
};
static constexpr summands_of_cubic cubic_summands;
#endif

// Constants are pinned to registers: gcc would compute them again for each row.
struct neon_weigher : neon_registers, weigher_defaults {
  int16x8_t least = vdupq_n_s16(-16);
  int16x8_t cubic = vdupq_n_s16(-1270);
  FOVEA_INLINE neon_weigher() { asm("" : "+w"(least), "+w"(cubic)); }

  // 2^-f for f = 0 .. 1 in Q15, given h = f - 1.
#if defined(__ARM_FEATURE_QRDMX) && defined(__aarch64__)
  // SQRDMLAH overwrites its summand. Summands are loaded again, four registers at a time; gcc would copy
  // them.
  FOVEA_INLINE void exp2(const int16x8_t* h, int16x8_t (&y)[4]) const {
    const int16_t* c = cubic_summands.at[0];
    register int16x8_t a0 asm("v16"), a1 asm("v17"), a2 asm("v18"), a3 asm("v19");
    asm("ld1 {v16.8h-v19.8h}, [%[c]], #64\n"
        "ld1 {v20.8h-v23.8h}, [%[c]], #64\n"
        "sqrdmlah v16.8h, %[cubic].8h, %[h0].8h\n"
        "sqrdmlah v17.8h, %[cubic].8h, %[h1].8h\n"
        "sqrdmlah v18.8h, %[cubic].8h, %[h2].8h\n"
        "sqrdmlah v19.8h, %[cubic].8h, %[h3].8h\n"
        "sqrdmlah v20.8h, v16.8h, %[h0].8h\n"
        "sqrdmlah v21.8h, v17.8h, %[h1].8h\n"
        "sqrdmlah v22.8h, v18.8h, %[h2].8h\n"
        "sqrdmlah v23.8h, v19.8h, %[h3].8h\n"
        "ld1 {v16.8h-v19.8h}, [%[c]]\n"
        "sqrdmlah v16.8h, v20.8h, %[h0].8h\n"
        "sqrdmlah v17.8h, v21.8h, %[h1].8h\n"
        "sqrdmlah v18.8h, v22.8h, %[h2].8h\n"
        "sqrdmlah v19.8h, v23.8h, %[h3].8h\n"
        : [c] "+r"(c), "=&w"(a0), "=&w"(a1), "=&w"(a2), "=&w"(a3)
        : [cubic] "w"(cubic), [h0] "w"(h[0]), [h1] "w"(h[1]), [h2] "w"(h[2]), [h3] "w"(h[3]),
          "m"(cubic_summands)
        : "v20", "v21", "v22", "v23");
    y[0] = a0, y[1] = a1, y[2] = a2, y[3] = a3;
  }
#else
  FOVEA_INLINE void exp2(const int16x8_t* h, int16x8_t (&y)[4]) const {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      y[i] = vaddq_s16(vqrdmulhq_s16(cubic, h[i]), vdupq_n_s16(3672));
      y[i] = vaddq_s16(vqrdmulhq_s16(y[i], h[i]), vdupq_n_s16(-11313));
      y[i] = vaddq_s16(vqrdmulhq_s16(y[i], h[i]), vdupq_n_s16(16255));
    }
  }
#endif

  // How far keys lie below the reference, eight keys a register: whole octaves, negative, and the rest less
  // 1 in Q15. A reference that rises does not change the rest.
  template <int Keys>
  struct key_distances {
    int16x8_t whole[Keys / 8], rest[Keys / 8];
  };

  // t - (reference << 16) + 65535 has -k as its high half, and 65535 - (u & 65535) as its low half.
  template <bool Octaves, int Keys>
  FOVEA_INLINE void find_distances(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference,
                                   key_distances<Keys>& to) const {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16) - 65535);
    const reg multiplier = spread(scale.score_multiplier), up = spread(31 - scale.score_shift);
#pragma GCC unroll 4
    for (int j = 0; j < Keys / 8; j += 2) {
      reg x[4];
      take_4(s, x);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
        x[i] = vsubq_s32(Octaves ? x[i] : vqdmulhq_s32(vshlq_s32(x[i], up), multiplier), base);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const int16x8x2_t half = vuzpq_s16(vreinterpretq_s16_s32(x[2 * i]),
                                           vreinterpretq_s16_s32(x[2 * i + 1]));
        to.rest[j + i] = vmvnq_s16(vreinterpretq_s16_u16(vshrq_n_u16(vreinterpretq_u16_s16(half.val[0]), 1)));
        to.whole[j + i] = half.val[1];
      }
    }
  }

  static FOVEA_INLINE int greatest_of(const int16x8_t (&x)[4]) {
    return greatest(vmaxq_s16(vmaxq_s16(x[0], x[1]), vmaxq_s16(x[2], x[3])));
  }
  static FOVEA_INLINE int greatest_of(const int16x8_t (&x)[8]) {
    const int16x8_t a = vmaxq_s16(x[0], x[1]), b = vmaxq_s16(x[2], x[3]), c = vmaxq_s16(x[4], x[5]),
                    d = vmaxq_s16(x[6], x[7]);
    return greatest(vmaxq_s16(vmaxq_s16(a, b), vmaxq_s16(c, d)));
  }

  // Returns by how many octaves the reference rises. All distances grow by it, and the sum is shifted.
  template <int Count>
  FOVEA_INLINE int rise(int16x8_t (&whole)[Count], reg& sums) const {
    const int by = greatest_of(whole);
    if (by <= 0) return 0;
    const int16x8_t down = vdupq_n_s16(static_cast<int16_t>(by));
#pragma GCC unroll 8
    for (int i = 0; i < Count; ++i) whole[i] = vsubq_s16(whole[i], down);
    sums = first(static_cast<int32_t>(shift_round_sum(total(sums), by)));
    return by;
  }

  // store_weights(j, y) stores the weights of keys j .. j + 31. Returns by how many octaves the reference
  // rises.
  template <bool Octaves, int Keys, class StoreWeights>
  FOVEA_INLINE int weigh_by(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int32_t* sum,
                            const int16_t* factors, StoreWeights store_weights) const {
    key_distances<Keys> to;
    find_distances<Octaves>(s, scale, reference, to);
    reg sums = load(sum);
    const int by = rise(to.whole, sums);
#pragma GCC unroll 2
    for (int j = 0; j < Keys / 8; j += 4) {
      int16x8_t y[4];
      exp2(to.rest + j, y);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) y[i] = vrshlq_s16(y[i], vmaxq_s16(to.whole[j + i], least));
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) sums = vpadalq_s16(sums, y[i]);
#pragma GCC unroll 4
      for (int i = 0; factors && i < 4; ++i) y[i] = vqrdmulhq_s16(y[i], vld1q_s16(factors + 8 * (j + i)));
      store_weights(8 * j, y);
    }
    store(sum, sums);
    return by;
  }
};

} // namespace fovea::fixed
