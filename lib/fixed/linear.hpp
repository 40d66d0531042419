// A packed layer of integers, and the plan of a product with it.
#pragma once
#include "common/validate.hpp"
#include "fixed/panels.hpp"
#include "fixed/product.hpp"
#include "fixed/requantize.hpp"
#include "fovea/fixed_linear.h"

namespace fovea::fixed {

constexpr int32_t fixed_greatest_rows = 0x3fffffff;

// What a packed layer begins with: 64 bytes. Then panels of sixteen outputs: bytes, and requantize_numbers.
struct linear_header {
  int32_t magic, order, in, out;
};
constexpr int32_t linear_magic = 0x314c5646; // "FVL1"
constexpr int32_t linear_header_bytes = 64;

// The order of bytes: that of keys in panels.
constexpr int32_t linear_order = fixed_panel_order;
constexpr ptrdiff_t linear_at(int lane, int32_t c, int32_t depth) { return key_at(lane, c, depth); }
constexpr unsigned char linear_byte(int8_t weight, int32_t) { return static_cast<unsigned char>(weight); }
// What a weight and the zero point of x take away from the bias.
constexpr int32_t folded(int32_t weight, int32_t, int32_t zero_x) { return weight * zero_x; }

constexpr int32_t depth_of(int32_t in) { return (in + 15) & -16; }
constexpr int32_t linear_panel_bytes(int32_t depth) {
  return 16 * depth + static_cast<int32_t>(sizeof(requantize_numbers));
}
static_assert(sizeof(requantize_numbers) == 16 * 12, "as FOVEA_FIXED_LINEAR_BYTES counts them");

} // namespace fovea::fixed
