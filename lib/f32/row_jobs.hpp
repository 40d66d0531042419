// Row operations as jobs for a kernel: validated, every option a number.
#pragma once
#include "f32/plan.hpp"
#include "f32/product.hpp"

namespace fovea::f32 {

struct softmax_job {
  const float* in;
  float *out, *lse;
  ptrdiff_t in_stride, out_stride;
  int32_t rows, columns;
  int32_t shown; // columns before the end of the mask; those behind it become 0
  float scale;
  modifiers modify; // cap, and mask (its query is the row)
};

struct matvec_job {
  const float *w, *x;
  float* out;
  ptrdiff_t row_stride;
  int32_t rows, columns;
};

// Rows of floats that become integers, or are smoothed before they do (fovea/fixed_quantize.h).
struct float_rows {
  const float* x;
  ptrdiff_t stride, columns;
  int32_t rows;
};

// Bits of the numbers farthest from zero on either side: +0 and -0 where there are none. NaN is beyond
// infinity.
struct float_range {
  int32_t high;
  uint32_t low;
};

struct range_job {
  float_rows in;
  float_range* found;
};

struct quantize_job {
  float_rows in;
  float scale, largest; // no number of the rows is larger, whatever its sign
  int32_t zero;
  float* scales; // null, or of each row its own, to be found first; zero is 0, and the output is s8
  int8_t* s8;
  int16_t* s16; // if s8 is null
};

// out[column] or out[row][column] from a number and what its column has.
struct columns_job {
  enum operation { sizes, means, difference, quotient, product } what;
  float_rows in;
  const float* columns; // of the last three
  float* out;           // [columns], or contiguous rows; may be the input
};

// A scale is a normal float: values too small for one become 0. Rows of zeros have the scale 1.
static inline float normal_scale(float scale) { return scale < 1.17549435e-38f ? 1.17549435e-38f : scale; }
static inline float scale_of(float largest, float steps) {
  return largest > 0 ? normal_scale(largest / steps) : 1;
}

struct norm_job {
  const float *in, *residual, *weight, *bias; // residual, weight and bias may be null
  float *sum, *out;                           // sum: where in + residual goes; null: to out
  ptrdiff_t in_stride, residual_stride, sum_stride, out_stride;
  int32_t rows, columns;
  float epsilon;
  bool centred; // the mean is taken off
  bool weight_plus_one;
};

struct activate_job {
  const float* in;
  float* out;
  ptrdiff_t in_stride, out_stride;
  int32_t rows, columns;
  activation function; // relu to silu
};

struct pool_job {
  const float* in;
  float* out;
  ptrdiff_t in_stride, out_stride;
  const int32_t *starts, *lengths; // either may be null
  int32_t sequences, tokens, columns;
};

struct rotate_job {
  rows_of<const float> in;
  rows_of<float> out;
  const float *cosine, *sine; // [position][half]
  const int32_t* positions;   // null: first, and so on
  ptrdiff_t first;
  int32_t heads, tokens, dim, half;
  bool neighbours; // pairs stand beside each other
};

} // namespace fovea::f32
