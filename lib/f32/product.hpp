// Products with packed weights as jobs for a kernel: validated, every option a number.
#pragma once
#include "f32/dispatch.hpp"
#include "fovea/linear.h"

namespace fovea::f32 {

// What becomes of sums on their way to y. `times` multiplies what y holds by them: the second half of
// FOVEA_SILU_TIMES.
enum class activation : int8_t { none, relu, gelu, gelu_tanh, silu, times };

// y = activation(z + bias) + residual for `rows` rows of `count` columns; all pointers are of the first
// column. z may be overwritten; up to 16 floats behind a row of it are read, whatever they hold. The residual
// may be y itself.
struct finish_job {
  float* z;
  ptrdiff_t z_stride;
  const float *bias, *residual; // null = none
  ptrdiff_t residual_stride;
  float* y;
  ptrdiff_t y_stride;
  int32_t rows, count;
  activation last_step;
};

// A product with weights of floats: rows 0 .. rows-1 of x by columns from .. to-1 of y.
struct product_job {
  const void* packed;
  int32_t in, dtype;
  const float* x;
  ptrdiff_t x_stride;
  int32_t rows, from, to;
  const finish_job* finish; // of row 0 and column 0; its z, rows and count are not looked at
  int32_t gate_width;       // 0, or column c is also multiplied by output gate_width + c
};

} // namespace fovea::f32
