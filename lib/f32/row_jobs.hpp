// Row operations as jobs for a kernel: validated, every option a number.
#pragma once
#include "f32/plan.hpp"

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

} // namespace fovea::f32
