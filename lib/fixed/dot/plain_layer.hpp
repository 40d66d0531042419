// Static layers by the dot of a core that multiplies one number at a time: Cortex-M0 and M3.
#pragma once
#include "fixed/dot/plain.hpp"
#include "fixed/row_layer.hpp"

namespace fovea::fixed {

template <class Dot>
struct plain_layer {
  using element = typename Dot::element;
  static constexpr bool doubles_sums = false;
  static size_t row_bytes(int32_t depth) { return sizeof(element) * static_cast<size_t>(depth); }

  FOVEA_HOT static const element* take_row(const int8_t* x, int32_t in, int32_t depth, void* to) {
    element* const row = static_cast<element*>(to);
    for (int32_t c = 0; c < in; ++c) row[c] = x[c];
    for (int32_t c = in; c < depth; ++c) row[c] = 0;
    return row;
  }
  static void multiply_panels(const element* x, const int8_t* panels, int32_t depth, int32_t outputs,
                              int32_t* sums) {
    Dot::multiply_row(x, panels, depth, outputs, sums);
  }
  FOVEA_HOT static void requantize(const int32_t* sums, const requantize_numbers* numbers,
                                   const output_range& given, int32_t count, int8_t* y) {
    const output_range range = given;
    const int32_t* n = numbers->bias;
    for (const int8_t* const end = y + count; y != end; n += 8)
      for (int i = 0; i < 4 && y != end; ++i, ++n) {
        const int32_t x = (*sums++ + n[0]) * 2, z = high_product_round(x, n[4]);
        const int32_t value = (((z + (z >> 31)) >> n[8]) + 2 * range.zero + 1) >> 1;
        *y++ = static_cast<int8_t>(value < range.low ? range.low : value > range.high ? range.high : value);
      }
  }

 private:
  // (a * b + 2^31) >> 32, b >= 0.
  static FOVEA_COMPACT int32_t high_product_round(int32_t a, int32_t b) {
#if __ARM_ARCH < 7
    const uint32_t low = static_cast<uint32_t>(a) * static_cast<uint32_t>(b);
    return high_product(a, b) + static_cast<int32_t>(low >> 31);
#else
    return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 31)) >> 32);
#endif
  }
};

} // namespace fovea::fixed
