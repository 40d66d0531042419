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
  // In two passes: one wants more registers than Cortex-M0 has.
  FOVEA_HOT static void requantize(int32_t* sums, const requantize_numbers* numbers,
                                   const output_range& range, int32_t count, int8_t* y) {
    multiply_all(sums, numbers->bias, count);
    round_all(sums, numbers->down, range, count, y);
  }

 private:
  static constexpr int own = 4, next = 12; // numbers of four outputs, and of the next four

  FOVEA_HOT static void multiply_all(int32_t* sums, const int32_t* n, int32_t count) {
    for (const int32_t* const end = sums + (count + 3) / 4 * 4; sums != end; n += next - own)
      for (const int32_t* const four = n + own; n != four; ++n, ++sums)
        *sums = rounded_high_product((*sums + n[0]) * 2, n[own]);
  }
  FOVEA_HOT static void round_all(const int32_t* x, const int32_t* n, const output_range& range,
                                  int32_t count, int8_t* y) {
    const int32_t offset = 2 * range.zero + 1, low = range.low, high = range.high;
    int32_t left = own;
    for (const int8_t* const end = y + count; y != end; ++y) {
      const int32_t z = *x++;
      int32_t value = (((z + (z >> 31)) >> *n++) + offset) >> 1;
      if (value < low) value = low;
      if (value > high) value = high;
      *y = static_cast<int8_t>(value);
      if (--left == 0) {
        left = own;
        n += next - own;
      }
    }
  }

  // (a * b + 2^31) >> 32, b >= 0.
  static FOVEA_COMPACT int32_t rounded_high_product(int32_t a, int32_t b) {
#if __ARM_ARCH < 7
    const uint32_t a_low = static_cast<uint32_t>(a) & 0xffff, b_low = static_cast<uint32_t>(b) & 0xffff;
    const int32_t a_high = a >> 16, b_high = b >> 16;
    const int32_t middle = a_high * static_cast<int32_t>(b_low) + static_cast<int32_t>((a_low * b_low) >> 16);
    const uint32_t rest = static_cast<uint32_t>(b_high) * a_low + (static_cast<uint32_t>(middle) & 0xffff);
    return a_high * b_high + (middle >> 16) + static_cast<int32_t>((rest + 0x8000) >> 16);
#else
    return static_cast<int32_t>((static_cast<int64_t>(a) * b + (int64_t{1} << 31)) >> 32);
#endif
  }
};

} // namespace fovea::fixed
