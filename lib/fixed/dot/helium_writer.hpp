// Cortex-M55, Helium: integers of a row as output. A product and a shift that rounds; saturation narrows.
#pragma once
#include <arm_mve.h>

#include "fixed/compact.hpp"

namespace fovea::fixed {

struct helium_writer {
  // Nothing behind the last number is written: the last store is predicated.
  static FOVEA_COMPACT void write(int32_t* acc, const output_factor& f, const fixed_plan& p,
                                  unsigned char* out) {
    if (f.left) shift_left(acc, p.width, f.left);
    const number by{vdupq_n_s32(f.multiplier), (1 << (f.shift - 1)) - f.zero, -f.shift};
    if (p.out_type == FOVEA_FIXED_S8)
      write_as(acc, by, p.zero_out, p.v_dim, reinterpret_cast<int8_t*>(out));
    else
      write_as(acc, by, p.zero_out, p.v_dim, reinterpret_cast<int16_t*>(out));
  }

 private:
  // An output number, before zero_out is added.
  struct number {
    int32x4_t multiplier;
    int32_t half, down;
    FOVEA_COMPACT int32x4_t operator()(int32x4_t x) const {
      return vshlq_r_s32(vaddq_n_s32(vmulhq_s32(x, multiplier), half), down);
    }
  };

  // Sixteen at a time: every fourth number, joined twice. What saturates 16 bits is far beyond a byte.
  static FOVEA_COMPACT void write_as(const int32_t* acc, const number& f, int32_t zero, int count,
                                     int8_t* out) {
    for (; count > 0; count -= 16, acc += 16, out += 16) {
      const int32x4x4_t x = vld4q_s32(acc);
      const int16x8_t even = vqaddq_n_s16(join(f(x.val[0]), f(x.val[2])), static_cast<int16_t>(zero));
      const int16x8_t odd = vqaddq_n_s16(join(f(x.val[1]), f(x.val[3])), static_cast<int16_t>(zero));
      const int8x16_t y = vqmovntq_s16(vqmovnbq_s16(vdupq_n_s8(0), even), odd);
      vstrbq_p_s8(out, y, vctp8q(static_cast<uint32_t>(count)));
    }
  }
  static FOVEA_COMPACT void write_as(const int32_t* acc, const number& f, int32_t zero, int count,
                                     int16_t* out) {
    for (; count > 0; count -= 4, acc += 4, out += 4) {
      const int32x4_t y = vaddq_n_s32(f(vldrwq_s32(acc)), zero);
      vstrhq_p_s32(out, vreinterpretq_s32_s16(vqmovnbq_s32(vdupq_n_s16(0), y)),
                   vctp32q(static_cast<uint32_t>(count)));
    }
  }
  static FOVEA_COMPACT int16x8_t join(int32x4_t even, int32x4_t odd) {
    return vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), even), odd);
  }

  FOVEA_COLD static void shift_left(int32_t* x, int count, int by) {
    for (; count > 0; count -= 4, x += 4) vstrwq_s32(x, vshlq_r_s32(vldrwq_s32(x), by));
  }
};

} // namespace fovea::fixed
