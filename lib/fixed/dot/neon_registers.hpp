// Arm NEON, of 32-bit and of 64-bit cores: four lanes of int32. Operations that the two spell differently
// come last.
#pragma once
#include <arm_neon.h>

#include "fixed/tile.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

struct neon_registers {
  using reg = int32x4_t;
  static constexpr int lanes = 4;
  static FOVEA_INLINE reg load(const int32_t* p) { return vld1q_s32(p); }
  static FOVEA_INLINE void store(int32_t* p, reg x) { vst1q_s32(p, x); }
  static FOVEA_INLINE reg spread(int32_t x) { return vdupq_n_s32(x); }
  static FOVEA_INLINE reg add(reg a, reg b) { return vaddq_s32(a, b); }
  static FOVEA_INLINE reg first(int32_t x) { return vsetq_lane_s32(x, spread(0), 0); }
  static FOVEA_INLINE reg larger(reg a, reg b) { return vmaxq_s32(a, b); }
  static FOVEA_INLINE reg by(int shift) { return spread(shift); }
  static FOVEA_INLINE reg shift_left(reg x, reg by) { return vshlq_s32(x, by); }
  static FOVEA_INLINE reg shift_right(reg x, reg by) { return vshlq_s32(x, vnegq_s32(by)); }
  static FOVEA_INLINE reg shift_round(reg x, int shift) { return vrshlq_s32(x, spread(-shift)); }
  // b >= 0, so twice the product fits.
  static FOVEA_INLINE reg high_product(reg a, reg b) { return vshrq_n_s32(vqdmulhq_s32(a, b), 1); }
  // A load of many registers also moves its pointer, at no cost. The asm keeps gcc from computing the address
  // from another register.
  template <class Byte>
  static FOVEA_INLINE void move(const Byte*& p, int count) {
    p += count;
    asm("" : "+r"(p));
  }
  static FOVEA_INLINE reg add_high_byte(reg low, reg high) { // 256 * high + low
    reg step = spread(256);
    asm("" : "+w"(step)); // else a shift and a sum
    return vmlaq_s32(low, high, step);
  }
  static FOVEA_INLINE void store_narrow(int16_t* p, const reg (&x)[4]) {
    vst1q_s16(p, narrow(x[0], x[1]));
    vst1q_s16(p + 8, narrow(x[2], x[3]));
  }
  static FOVEA_INLINE void store_narrow(int8_t* p, const reg (&x)[4]) {
    vst1q_s8(p, narrow(narrow(x[0], x[1]), narrow(x[2], x[3])));
  }

#if defined(__aarch64__)
  static FOVEA_INLINE int greatest(int16x8_t x) { return vmaxvq_s16(x); }
  static FOVEA_INLINE uint32_t total(reg x) { return static_cast<uint32_t>(vaddvq_s32(x)); }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) { return vpaddq_s32(a, b); }
  static FOVEA_INLINE int16x8_t narrow(reg a, reg b) { return vqmovn_high_s32(vqmovn_s32(a), b); }
  static FOVEA_INLINE int8x16_t narrow(int16x8_t a, int16x8_t b) { return vqmovn_high_s16(vqmovn_s16(a), b); }
  template <class Byte>
  static FOVEA_INLINE int8x16x4_t take_64(const Byte*& p) {
    const int8x16x4_t x = vld1q_s8_x4(reinterpret_cast<const int8_t*>(p));
    move(p, 64);
    return x;
  }
  static FOVEA_INLINE void take_4(const int32_t*& p, reg (&x)[4]) {
    const int32x4x4_t four = vld1q_s32_x4(p);
    move(p, 16);
    x[0] = four.val[0], x[1] = four.val[1], x[2] = four.val[2], x[3] = four.val[3];
  }
#else
  static FOVEA_INLINE int greatest(int16x8_t x) {
    const int16x4_t four = vmax_s16(vget_low_s16(x), vget_high_s16(x)), two = vpmax_s16(four, four);
    return vget_lane_s16(vpmax_s16(two, two), 0);
  }
  static FOVEA_INLINE void take_4(const int32_t*& p, reg (&x)[4]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, p += lanes) x[i] = load(p);
  }
  static FOVEA_INLINE uint32_t total(reg x) {
    const int32x2_t two = vadd_s32(vget_low_s32(x), vget_high_s32(x));
    return static_cast<uint32_t>(vget_lane_s32(vpadd_s32(two, two), 0));
  }
  static FOVEA_INLINE reg pair_sums(reg a, reg b) {
    return vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                        vpadd_s32(vget_low_s32(b), vget_high_s32(b)));
  }
  static FOVEA_INLINE int16x8_t narrow(reg a, reg b) { return vcombine_s16(vqmovn_s32(a), vqmovn_s32(b)); }
  static FOVEA_INLINE int8x16_t narrow(int16x8_t a, int16x8_t b) {
    return vcombine_s8(vqmovn_s16(a), vqmovn_s16(b));
  }
#endif
};

} // namespace fovea::fixed
