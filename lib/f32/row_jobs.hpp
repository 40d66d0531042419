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
  modifiers modify; // cap, mask (its query is the row) and step
};

struct matvec_job {
  const float *w, *x;
  float* out;
  ptrdiff_t row_stride;
  int32_t rows, columns;
};

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
