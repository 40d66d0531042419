// A packed layer of integers: what fovea_fixed_pack_linear writes and fovea_fixed_multiply reads.
#pragma once
#include "common/validate.hpp"
#include "fixed/panels.hpp"
#include "fixed/requantize.hpp"
#include "fovea/fixed_linear.h"

namespace fovea::fixed {

// Panels of sixteen outputs follow, then requantize_numbers of all outputs.
struct linear_header {
  int32_t magic, order, in, out;
  int32_t gentle; // 0 or 1
  int32_t reserved[11];
};
constexpr int32_t linear_magic = 0x314c5646; // "FVL1"
static_assert(sizeof(linear_header) == 64 && sizeof(requantize_numbers) == 4 * 12,
              "as FOVEA_FIXED_LINEAR_BYTES counts them");

constexpr int32_t depth_of(int32_t in) { return up_to(in, 16); }
constexpr int32_t panels_of(int32_t out) { return up_to(out, 16); } // their outputs

// The order of bytes. 1 and 2: that of keys in panels. 3: for SMLAD (dot/dsp_layer.hpp), bytes at even places
// hold their number plus 128. 4: for Cortex-M0 (dot/thumb_layer.hpp), all do.
#if FOVEA_HAS_SYSTEM || defined(__ARM_FEATURE_MVE)
constexpr int32_t linear_order = fixed_panel_order;
#elif defined(__ARM_FEATURE_DSP)
constexpr int32_t linear_order = 3;
#elif defined(__arm__) && __ARM_ARCH < 7
constexpr int32_t linear_order = 4;
#else
constexpr int32_t linear_order = fixed_panel_order;
#endif
constexpr ptrdiff_t linear_at(int lane, int32_t c, int32_t depth) {
  if (linear_order == 3)
    return static_cast<ptrdiff_t>(lane / 4) * 4 * depth + c / 4 * 16 + lane % 4 * 4 + c % 4;
  if (linear_order == 4) return static_cast<ptrdiff_t>(lane / 8) * 8 * depth + c * 8 + lane % 8;
  return key_at(lane, c, depth);
}
constexpr unsigned char linear_byte(int32_t weight, int32_t c) {
  return static_cast<unsigned char>(linear_order == 4 || (linear_order == 3 && c % 2 == 0) ? weight + 128
                                                                                           : weight);
}
// What a weight takes away from the bias: what the zero point of x makes of it, and the product.
constexpr int32_t folded(int32_t weight, int32_t c, int32_t zero_x) {
  return weight * (linear_order == 3 && c % 2 ? zero_x - 127 : zero_x);
}

} // namespace fovea::fixed
