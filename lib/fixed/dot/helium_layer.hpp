// Static layers with Helium: sums by VMLADAVA, four outputs at a time requantised.
#pragma once
#include "fixed/dot/helium.hpp"
#include "fixed/row_layer.hpp"

namespace fovea::fixed {

struct helium_layer {
  static constexpr bool doubles_sums = false;
  static size_t row_bytes(int32_t depth) { return static_cast<size_t>(depth); }

  // A row without a rest as it stands; it is only read.
  static FOVEA_COMPACT const int8_t* take_row(const int8_t* x, int32_t in, int32_t depth, void* to) {
    if (in == depth) return x;
    int8_t* const row = static_cast<int8_t*>(to);
    for (int32_t c = 0; c < depth; c += 16)
      vstrbq_s8(row + c, vldrbq_z_s8(x + c, vctp8q(static_cast<uint32_t>(in - c))));
    return row;
  }
  static FOVEA_COMPACT void multiply_panels(const int8_t* x, const int8_t* panels, int32_t depth,
                                            int32_t outputs, int32_t* sums) {
    helium_dot::multiply_row(x, panels, depth, outputs, sums);
  }

  // VQRDMULH rounds as TFLite does; so does VRSHL of a negative number less one.
  FOVEA_HOT static void requantize(const int32_t* sums, const requantize_numbers* numbers,
                                   const output_range& range, int32_t count, int8_t* y) {
    const int32x4_t low = vdupq_n_s32(range.low), high = vdupq_n_s32(range.high);
    const int32_t* n = numbers->bias;
    for (; count > 0; count -= 4, sums += 4, n += 12, y += 4) {
      const int32x4_t x = vqrdmulhq_s32(vaddq_s32(vldrwq_s32(sums), vldrwq_s32(n)), vldrwq_s32(n + 4));
      const int32x4_t shift = vmvnq_s32(vldrwq_s32(n + 8)); // negative
      const int32x4_t z = vrshlq_s32(vaddq_s32(x, vshrq_n_s32(x, 31)), shift);
      const int32x4_t byte = vminq_s32(vmaxq_s32(vaddq_n_s32(z, range.zero), low), high);
      vstrbq_p_s32(y, byte, vctp32q(static_cast<uint32_t>(count)));
    }
  }
};

} // namespace fovea::fixed
