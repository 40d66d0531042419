// The plan of a product: every option has become a number. make_linear_plan is the only place that validates.
#pragma once
#include "common/validate.hpp"
#include "f32/product.hpp"
#include "fixed/product.hpp"
#include "fovea/linear.h"

namespace fovea::linear {

// What a call touches, except its scratch.
struct footprint {
  enum input { packed, bias, x, residual, inputs };
  enum output { y, outputs };
  byte_range in[inputs], to[outputs];
};

struct linear_plan {
  const void* packed;
  int32_t in, out, dtype;
  const float* x;
  ptrdiff_t x_stride;
  f32::finish_job finish; // of row 0 and output 0; its z, z_stride and last_step are not set
  int32_t rows, columns;  // of y
  int32_t activation;
  int32_t part, parts;
  int32_t place;                       // of the float kernel among the ISAs of this build: find_isa
  const fixed::fixed_product* product; // of weights of integers
  const fixed::fixed_scaling* scaling;
  const fixed::arranged_product* arranged; // null: weights stand as they were packed
  footprint bytes;
};

// What one worker computes: rows from_row .. to_row-1 by columns from .. to-1 of y. `from` is a multiple of
// 16.
struct share {
  int32_t from_row, to_row, from, to;
};
share share_of(const linear_plan& p);

constexpr f32::activation last_step_of(int32_t activation) {
  return activation == FOVEA_SILU_TIMES ? f32::activation::silu : static_cast<f32::activation>(activation);
}

int32_t make_linear_plan(const fovea_product* call, linear_plan& p);

constexpr bool is_float(int32_t dtype) {
  return dtype == FOVEA_F32 || dtype == FOVEA_F16 || dtype == FOVEA_BF16;
}

// Of packed weights; 0 if they are refused.
size_t packed_bytes(int32_t in, int32_t out, int32_t dtype);

} // namespace fovea::linear
