// Softmax of rows and products with a vector: validation, and one kernel call.
#include "common/build.hpp"

#include "fovea/ops.h"

#include "f32/check_rows.hpp"
#include "f32/kernel.hpp"
#include "f32/kernel/exp2.hpp"

namespace fovea::f32 {
namespace {

int32_t check_numbers(const fovea_softmax_rows& s, softmax_job& job) {
  if (!all_zero(s.reserved, sizeof s.reserved / sizeof *s.reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (s.flags & ~FOVEA_SCALE) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS);
  if (const int32_t status = check_counts(s.rows, s.columns)) return status;
  job.rows = s.rows;
  job.columns = s.columns;
  job.scale = 1;
  if (s.flags & FOVEA_SCALE) {
    if (!is_finite(s.scale)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_SCALE);
    if (!is_finite(s.scale * log2_e)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
    job.scale = s.scale;
  }
  return check_softcap(s.softcap, job.modify);
}

int32_t check_mask(const fovea_mask& mask, softmax_job& job, byte_range& bytes) {
  mask_of& m = job.modify.mask;
  job.shown = job.columns;
  if (!mask.data) return FOVEA_OK;
  if (mask.head_stride) return refusal(FOVEA_STRIDE, FOVEA_ARG_MASK);
  if (mask.keys < 0 || (mask.is_bias & ~1)) return refusal(FOVEA_RANGE, FOVEA_ARG_MASK);
  if (mask.keys && mask.keys < job.columns) job.shown = mask.keys;
  const size_t element = mask.is_bias ? sizeof(float) : 1;
  if (const int32_t status = check_rows({mask.data, mask.query_stride, job.rows, job.shown}, element,
                                        FOVEA_ARG_MASK, bytes))
    return status;
  if (mask.is_bias)
    m.bias = static_cast<const float*>(mask.data);
  else
    m.shown = static_cast<const uint8_t*>(mask.data);
  m.query = mask.query_stride;
  return FOVEA_OK;
}

int32_t check_softmax(const fovea_softmax_rows* call, softmax_job& job) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_softmax_rows& s = *call;
  if (const int32_t status = check_numbers(s, job)) return status;
  job.in = s.in;
  job.out = s.out;
  job.lse = s.lse;
  job.in_stride = s.in_stride ? s.in_stride : s.columns;
  job.out_stride = s.out_stride ? s.out_stride : s.columns;
  byte_range in, out, mask = {}, lse = {};
  if (const int32_t status = check_floats({s.in, job.in_stride, s.rows, s.columns}, FOVEA_ARG_IN, in))
    return status;
  if (const int32_t status = check_floats({s.out, job.out_stride, s.rows, s.columns}, FOVEA_ARG_OUT, out))
    return status;
  if (s.rows > 1 && job.out_stride < s.columns) return refusal(FOVEA_STRIDE, FOVEA_ARG_OUT);
  if (const int32_t status = check_mask(s.mask, job, mask)) return status;
  if (s.lse)
    if (const int32_t status = check_floats({s.lse, 1, s.rows, 1}, FOVEA_ARG_LSE, lse)) return status;
  const bool in_place = s.in == s.out && (s.rows < 2 || job.in_stride == job.out_stride);
  if ((!in_place && meet(in, out)) || meet(mask, out)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  if (meet(in, lse) || meet(mask, lse) || meet(out, lse)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_LSE);
  if (s.columns == 0) job.in_stride = job.out_stride = 0; // they may be any number
  job.modify.any = !is_zero(job.modify.cap) || s.mask.data;
  return FOVEA_OK;
}

int32_t check_matvec(const matvec_job& job) {
  if (const int32_t status = check_counts(job.rows, job.columns)) return status;
  byte_range w, x, out;
  if (const int32_t status = check_floats({job.w, job.row_stride, job.rows, job.columns}, FOVEA_ARG_W, w))
    return status;
  if (const int32_t status = check_floats({job.x, 0, 1, job.columns}, FOVEA_ARG_X, x)) return status;
  if (const int32_t status = check_floats({job.out, 1, job.rows, 1}, FOVEA_ARG_OUT, out)) return status;
  return meet(w, out) || meet(x, out) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT) : 0;
}

} // namespace
} // namespace fovea::f32

int32_t fovea_softmax(const fovea_softmax_rows* call) {
  using namespace fovea::f32;
  softmax_job job = {};
  if (const int32_t status = check_softmax(call, job)) return status;
  return run_on(call->isa, job);
}

int32_t fovea_matvec(const float* w, ptrdiff_t row_stride, const float* x, int32_t rows, int32_t columns,
                     int32_t isa, float* out) {
  using namespace fovea::f32;
  matvec_job job{w, x, out, row_stride ? row_stride : columns, rows, columns};
  if (const int32_t status = check_matvec(job)) return status;
  if (columns == 0) job.row_stride = 0; // it may be any number
  return run_on(isa, job);
}

int32_t fovea_dot(const float* w, const float* x, int32_t columns, int32_t isa, float* out) {
  return fovea_matvec(w, 0, x, 1, columns, isa, out);
}
