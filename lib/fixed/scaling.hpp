// Between floats and exact sums: plain loops that compilers make into vectors. Products are rounded before
// they are added. Functions are static: each ISA has copies of its own.
#pragma once
#include "common/bits.hpp"
#include "fixed/groups.hpp"
#include "fixed/product.hpp"
#include "fixed/tile.hpp"

// Loops of floats in the FPU of a microcontroller, eight registers at a time: compilers for size load one
// number after another.
#if defined(__ARM_FP) && (__ARM_FP & 4) && !FOVEA_HAS_SYSTEM && \
    (!FOVEA_WITHOUT_ASSEMBLY || defined(__ARM_FEATURE_MVE))
#define FOVEA_WITH_MCU_FLOATS 1
// Four sums in s0 to s3, already floats, times `scale` times their own scales in s4 to s7.
#define FOVEA_SCALE_FOUR            \
  ".irp n, 4, 5, 6, 7\n"            \
  "vmul.f32 s\\n, %[scale], s\\n\n" \
  ".endr\n"                         \
  "vmul.f32 s0, s0, s4\n"           \
  "vmul.f32 s1, s1, s5\n"           \
  "vmul.f32 s2, s2, s6\n"           \
  "vmul.f32 s3, s3, s7\n"
#else
#define FOVEA_WITH_MCU_FLOATS 0
#endif

namespace fovea::fixed {

// Registers of floats, of words and of halves of words.
template <int Lanes>
struct float_vectors {
  typedef float floats __attribute__((vector_size(4 * Lanes)));
  typedef int32_t words __attribute__((vector_size(4 * Lanes)));
  typedef uint16_t halves __attribute__((vector_size(4 * Lanes)));
};

// The next sixteen outputs of a stream.
template <class Floats>
FOVEA_INLINE void write_outputs(Floats y, output_stream& to) {
  static_assert(sizeof(Floats) == 16 * sizeof(float), "a register holds the outputs of a panel");
  const auto load = [](const float* p) FOVEA_LAMBDA_INLINE {
    Floats x;
    std::memcpy(&x, p, sizeof x);
    return x;
  };
  if (to.bias) {
    y += load(to.bias);
    to.bias += 16;
  }
  if (to.residual) {
    y += load(to.residual);
    to.residual += 16;
  }
  std::memcpy(to.y, &y, sizeof y);
  to.y += 16;
}

// What one step of a row is worth whose largest number has these bits. A row of zeros has steps of 1.
FOVEA_INLINE float scale_of_row(uint32_t size) {
  const float least = 1.17549435e-38f, quotient = float_of(size) / 127;
  return size == 0 ? 1 : quotient < least ? least : quotient;
}

// As fovea_fixed_quantize_tokens, of one row. The bits of positive floats rise with them, and those of what
// is not finite are above all others.
static float quantize_row(const float* __restrict x, int32_t count, int8_t* __restrict to) {
  uint32_t size = 0;
  for (int32_t c = 0; c < count; ++c) {
    const uint32_t bits = bits_of(x[c]) & 0x7fffffff;
    size = size < bits ? bits : size;
  }
  if (size >= 0x7f800000) {
    std::memset(to, 0, static_cast<size_t>(count));
    return float_of(0x7fc00000u);
  }
  const float scale = scale_of_row(size);
  for (int32_t c = 0; c < count; ++c) { // to nearest, halves to even, in the low byte
    const float pushed = x[c] / scale + 12582912.0f;
    to[c] = static_cast<int8_t>(bits_of(pushed));
  }
  return scale;
}

// Sixteen sums of a row become floats.
FOVEA_INLINE void scale_row(const int32_t* __restrict sums, float row_scale, const float* __restrict by,
                            const float* __restrict bias, float* __restrict z) {
  for (int i = 0; i < 16; ++i) z[i] = static_cast<float>(sums[i]) * (row_scale * by[i]) + bias[i];
}

[[maybe_unused]] static void scale_sums(const scale_job& job) {
  const int32_t* sums = job.sums;
  int32_t from = job.skipped, left = job.columns;
  float* z = job.z;
  const float* bias = job.bias;
  for (const unsigned char* scales = job.scales; left > 0; scales += job.apart, sums += 16, from = 0) {
    const int32_t count = left < 16 - from ? left : 16 - from;
    alignas(64) float by[16], plus[16];
    std::memcpy(by, scales, sizeof by);
    for (float& each : plus) each = -0.0f; // changes no number
    for (int i = 0; bias && i < count; ++i) plus[from + i] = bias[i];
    for (int32_t r = 0; r < job.rows; ++r) {
      float* const to = z + r * job.z_stride;
      if (count == 16) {
        scale_row(sums + r * sums_step, job.row_scales[r], by, plus, to);
        continue;
      }
      alignas(64) float some[16];
      scale_row(sums + r * sums_step, job.row_scales[r], by, plus, some);
      std::memcpy(to, some + from, sizeof(float) * static_cast<size_t>(count));
    }
    left -= count;
    z += count;
    bias = bias ? bias + count : nullptr;
  }
}

// The same where numbers are taken one by one: in place, without a copy of the scales.
[[maybe_unused]] __attribute__((noinline)) static void scale_some(const int32_t* sums,
                                                                  const unsigned char* scales,
                                                                  float row_scale, const float* bias,
                                                                  int32_t count, float* z) {
  int32_t i = 0;
#if FOVEA_WITH_MCU_FLOATS
  if (count >= 4) {
    i = count & -4;
    const int32_t* from = sums;
    const unsigned char* by = scales;
    float* to = z;
    asm volatile(
        "1:\n"
        "vldmia %[from]!, {s0-s3}\n"
        "vldmia %[by]!, {s4-s7}\n"
        ".irp n, 0, 1, 2, 3\n"
        "vcvt.f32.s32 s\\n, s\\n\n"
        ".endr\n" FOVEA_SCALE_FOUR
        "vstmia %[to]!, {s0-s3}\n"
        "cmp %[to], %[end]\n"
        "bne 1b\n"
        : [from] "+r"(from), [by] "+r"(by), [to] "+r"(to)
        : [end] "r"(z + i), [scale] "t"(row_scale)
        : "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "cc", "memory");
  }
#endif
  for (; i < count; ++i) {
    float by;
    std::memcpy(&by, __builtin_assume_aligned(scales + i * 4, 4), sizeof by);
    z[i] = static_cast<float>(sums[i]) * (row_scale * by);
  }
  if (bias)
    for (i = 0; i < count; ++i) z[i] += bias[i];
}
[[maybe_unused]] static void scale_sums_one_by_one(const scale_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) {
    const int32_t* sums = job.sums + r * sums_step + job.skipped;
    const unsigned char* scales = job.scales + 4 * job.skipped;
    const float* bias = job.bias;
    float* z = job.z + r * job.z_stride;
    for (int32_t left = job.columns, some = 16 - job.skipped; left > 0; some = 16) {
      const int32_t count = left < some ? left : some;
      scale_some(sums, scales, job.row_scales[r], bias, count, z);
      sums += count;
      scales += count == some ? job.apart - 4 * (16 - some) : 0;
      bias = bias ? bias + count : nullptr;
      z += count;
      left -= count;
    }
  }
}

// Exact sums of one row and sixteen outputs join its floats.
FOVEA_INLINE void add_scaled(const int32_t* __restrict sums, float row_scale, const float* __restrict by,
                             float* __restrict z) {
  for (int i = 0; i < 16; ++i) z[i] += static_cast<float>(sums[i]) * (row_scale * by[i]);
}

template <class Product>
static void multiply_groups(const group_job& job, float* z) {
  for (int32_t n = 0; n < job.count; ++n, z += 16) {
    const unsigned char* const scales = job.panels + n * job.apart;
    const unsigned char* const bytes = scales + static_cast<ptrdiff_t>(job.groups) * group_scales;
    for (int32_t r = 0; r < job.rows; ++r)
      for (int i = 0; i < 16; ++i) z[r * sums_step + i] = 0;
    for (int32_t g = 0; g < job.groups; ++g) {
      alignas(64) int8_t panel[group_panel];
      alignas(64) float by[16];
      floats_of_halves(scales + g * group_scales, by);
      expand_group(bytes + g * group_bytes, panel);
      Product::add_group(job.tiles + g * job.tile_step, job.rows, panel, by, job.scales + g, job.groups, z);
    }
  }
}

// Groups by a product that multiplies panels of bytes.
template <class Product>
struct group_product {
  static size_t tile_bytes(int32_t rows) { return Product::tile_bytes(rows, group_depth); }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, void* tile) {
    Product::take(x, step, rows, group_depth, group_depth, tile);
  }
  static void multiply_groups(const group_job& job, float* z) { fixed::multiply_groups<Product>(job, z); }
  static constexpr bool takes_two_streams = false;
};

template <class Groups>
constexpr fixed_scaling fixed_scaling_of(int32_t isa) {
  fixed_scaling scaling{isa,          quantize_row,           scale_sums, Groups::tile_bytes,
                        Groups::take, Groups::multiply_groups};
  if constexpr (Groups::takes_two_streams) scaling.multiply_two = Groups::multiply_two;
  return scaling;
}

template <class Groups>
constexpr fixed_scaling row_scaling_of(int32_t isa) {
  return {isa,          quantize_row,           scale_sums_one_by_one, Groups::tile_bytes,
          Groups::take, Groups::multiply_groups};
}

} // namespace fovea::fixed
