// Integers of a row as output, sixteen at a time: a product and a shift that rounds; with zero points a sum
// that halves before it. Saturation narrows.
#pragma once
#include "fixed/dot/neon_registers.hpp"
#include "fixed/finish.hpp"
#include "fixed/float_output.hpp"

namespace fovea::fixed {

struct neon_writer : neon_registers, float_writer {
  template <class T>
  static FOVEA_INLINE void write(const int32_t* acc, const output_factor& f, int count, int32_t zero,
                                 T* out) {
    int c = 0;
    if (f.left == 0 && f.zero == 0 && zero == 0) {
      const reg multiplier = spread(f.multiplier), shift = spread(-1 - f.shift);
      for (; c + 16 <= count; c += 16) {
        reg y[4];
        take_4(acc, y);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) y[i] = vrshlq_s32(vqdmulhq_s32(y[i], multiplier), shift);
        store_narrow(out + c, y);
      }
    } else if (const int64_t twice = doubled_summand(f);
               f.left == 0 && static_cast<int32_t>(twice) == twice) {
      const reg multiplier = spread(f.multiplier), more = spread(static_cast<int32_t>(twice)),
                shift = spread(-f.shift);
      for (; c + 16 <= count; c += 16) {
        reg y[4];
        take_4(acc, y);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) y[i] = vshlq_s32(vhaddq_s32(vqdmulhq_s32(y[i], multiplier), more), shift);
        put(out + c, y, zero);
      }
    }
    if (c < count) write_integers(acc, f, count - c, zero, out + c);
  }

 private:
  // What is added, while the product is still doubled.
  static FOVEA_INLINE int64_t doubled_summand(const output_factor& f) {
    return (int64_t{1} << f.shift) - 2 * int64_t{f.zero};
  }
  // What saturates before `zero` is added also saturates after it.
  static FOVEA_INLINE void put(int8_t* out, const reg (&y)[4], int32_t zero) {
    const int16x8_t offset = vdupq_n_s16(static_cast<int16_t>(zero));
    vst1q_s8(out, narrow(vqaddq_s16(narrow(y[0], y[1]), offset), vqaddq_s16(narrow(y[2], y[3]), offset)));
  }
  static FOVEA_INLINE void put(int16_t* out, const reg (&y)[4], int32_t zero) {
    const reg offset = spread(zero);
    vst1q_s16(out, narrow(add(y[0], offset), add(y[1], offset)));
    vst1q_s16(out + 8, narrow(add(y[2], offset), add(y[3], offset)));
  }
};

} // namespace fovea::fixed
