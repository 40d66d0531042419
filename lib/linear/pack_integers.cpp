// Rows of weights into panels of int8 with a scale for each output, or of int4 with one for each 32 inputs.
#include "common/build.hpp"

#include <cstring>

#include "common/bits.hpp"
#include "fixed/groups.hpp"
#include "linear/element_bits.hpp"
#include "linear/integers.hpp"

namespace fovea::linear {
namespace {

using fixed::group_bytes;
using fixed::group_depth;
using fixed::group_scales;

constexpr uint32_t infinity_bits = 0x7f800000u;

float size_of(float x) { return float_of(bits_of(x) & 0x7fffffff); }

uint16_t half_at(const unsigned char* at) {
  uint16_t x;
  std::memcpy(&x, at, sizeof x);
  return x;
}
bool is_finite_half(uint16_t x) { return (x & 0x7c00) != 0x7c00; }

// Number c of a row of floats.
float number_at(const unsigned char* row, int32_t dtype, int32_t c) {
  if (dtype == FOVEA_F32) {
    float x;
    std::memcpy(&x, row + sizeof x * static_cast<size_t>(c), sizeof x);
    return x;
  }
  const uint16_t half = half_at(row + sizeof half * static_cast<size_t>(c));
  return float_of(dtype == FOVEA_BF16 ? bf16_bits::widen(half) : f16_bits::widen(half));
}

int8_t nearest(float x) {
  const float pushed = x + 12582912.0f;
  return static_cast<int8_t>(bits_of(pushed));
}

float largest(const integer_rows& w, const unsigned char* row) {
  float size = 0;
  for (int32_t c = 0; c < w.in; ++c) {
    const float x = size_of(number_at(row, w.dtype, c));
    size = x > size ? x : size;
  }
  return size;
}

unsigned char* panel_of(const integer_rows& w, unsigned char* packed, int32_t output, int32_t dtype) {
  return packed + output / 16 * static_cast<ptrdiff_t>(FOVEA_LINEAR_BYTES(w.in, 1, dtype));
}

// How many lanes of a panel a row fills: the last output is followed by outputs that do not exist.
int lanes_from(const integer_rows& w, int32_t output) { return output + 1 < w.out ? 1 : 16 - output % 16; }

void put_scale(unsigned char* scales, int lane, float scale) {
  std::memcpy(scales + sizeof scale * static_cast<size_t>(lane), &scale, sizeof scale);
}

// The scale of 32 numbers, and the numbers as four bits: as GGUF's tools quantise to Q4_0.
struct four_bits {
  uint16_t scale;
  unsigned char bytes[16];
};

// The first of the largest sizes. Sizes are compared as integers: of floats, clang 19 at -O3 makes a
// comparison without the sign taken away (an fabs of a select that may be 0 is lost).
float signed_largest(const float (&x)[group_depth]) {
  float largest = 0;
  uint32_t size = 0;
  for (const float each : x) {
    const uint32_t size_of_each = bits_of(each) & 0x7fffffff;
    if (size_of_each <= size) continue;
    size = size_of_each;
    largest = each;
  }
  return largest;
}

four_bits quantize_group(const float (&x)[group_depth]) {
  const float scale = signed_largest(x) / -8;
  four_bits group = {f16_bits::narrow(bits_of(scale)), {}};
  const float inverse = group.scale & 0x7fff ? 1 / scale : 0; // a scale of 0 makes all numbers 0
  const auto four = [&](float number) {
    const int q = static_cast<int>(number * inverse + 8.5f);
    return static_cast<unsigned>(q > 15 ? 15 : q);
  };
  for (int i = 0; i < 16; ++i) group.bytes[i] = static_cast<unsigned char>(four(x[i]) | four(x[i + 16]) << 4);
  return group;
}

four_bits group_of(const integer_rows& w, const unsigned char* row, int32_t g) {
  if (w.dtype == FOVEA_I4) {
    four_bits group;
    const unsigned char* const block = row + static_cast<ptrdiff_t>(g) * q4_0_block;
    group.scale = half_at(block);
    for (int i = 0; i < 16; i += 2) { // by halves: memcpy of a C library may load unaligned words
      const uint16_t two = half_at(block + sizeof group.scale + i);
      group.bytes[i] = static_cast<unsigned char>(two);
      group.bytes[i + 1] = static_cast<unsigned char>(two >> 8);
    }
    return group;
  }
  float x[group_depth];
  for (int32_t i = 0, c = g * group_depth; i < group_depth; ++i, ++c)
    x[i] = c < w.in ? number_at(row, w.dtype, c) : 0;
  return quantize_group(x);
}

} // namespace

int32_t check_numbers(const integer_rows& w, int32_t dtype) {
  for (int32_t r = 0; r < w.rows; ++r) {
    const unsigned char* const row = w.data + r * w.step;
    if (w.dtype == FOVEA_I4) {
      for (int32_t g = 0; g < w.in / group_depth; ++g)
        if (!is_finite_half(half_at(row + static_cast<ptrdiff_t>(g) * q4_0_block))) return FOVEA_NOT_FINITE;
    } else {
      for (int32_t c = 0; c < w.in; ++c) {
        const uint32_t size = bits_of(number_at(row, w.dtype, c)) & 0x7fffffff;
        if (size >= infinity_bits) return FOVEA_NOT_FINITE;
        if (dtype == FOVEA_I4 && size >= bits_of(8 * 65520.0f)) return FOVEA_RANGE; // scales are float16
      }
    }
  }
  return FOVEA_OK;
}

void pack_bytes(const integer_rows& w, unsigned char* packed) {
  const int32_t depth = (w.in + 15) & -16;
  for (int32_t r = 0; r < w.rows; ++r) {
    const int32_t output = w.at + r;
    unsigned char* const panel = panel_of(w, packed, output, FOVEA_I8);
    const unsigned char* const row = w.data + r * w.step;
    const float least = 1.17549435e-38f, size = largest(w, row), quotient = size / 127;
    const float scale = size == 0 ? 1 : quotient < least ? least : quotient;
    for (int i = 0, lanes = lanes_from(w, output); i < lanes; ++i) {
      const int lane = output % 16 + i;
      for (int32_t c = 0; c < depth; ++c)
        panel[fixed::key_at(lane, c, depth)] = static_cast<unsigned char>(
            i == 0 && c < w.in ? nearest(number_at(row, w.dtype, c) / scale) : 0);
      put_scale(panel + 16 * static_cast<ptrdiff_t>(depth), lane, i == 0 ? scale : 1);
    }
  }
}

void pack_groups(const integer_rows& w, unsigned char* packed) {
  const int32_t groups = (w.in + group_depth - 1) / group_depth;
  for (int32_t r = 0; r < w.rows; ++r) {
    const int32_t output = w.at + r;
    unsigned char* const scales = panel_of(w, packed, output, FOVEA_I4);
    unsigned char* const bytes = scales + static_cast<ptrdiff_t>(groups) * group_scales;
    for (int32_t g = 0; g < groups; ++g) {
      const four_bits group = group_of(w, w.data + r * w.step, g);
      for (int i = 0, lanes = lanes_from(w, output); i < lanes; ++i) {
        const int lane = output % 16 + i;
        const uint16_t scale = i == 0 ? group.scale : uint16_t{0};
        std::memcpy(scales + g * group_scales + 2 * lane, &scale, sizeof scale);
        for (int c = 0; c < 16; ++c)
          bytes[static_cast<ptrdiff_t>(g) * group_bytes + fixed::in_group(lane, c)] = i == 0 ? group.bytes[c]
                                                                                             : 0x88;
      }
    }
  }
}

} // namespace fovea::linear
