// Rows of weights into panels of 16 outputs, [in][16].
#include "common/build.hpp"

#include "f32/check.hpp"
#include "linear/plan.hpp"

namespace fovea::linear {
namespace {

struct pack_job {
  void* packed;
  int32_t in, out, at, rows;
  const fovea_rows_in* w;
  ptrdiff_t stride;
};

int32_t check_pack(void* packed, size_t size, int32_t dtype, pack_job& job) {
  if (job.in < 1 || job.in > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (job.out < 1 || job.out > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  const size_t needed = packed_bytes(job.in, job.out, dtype);
  if (!needed) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (!packed) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (f32::misaligned(packed)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  if (size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED);
  byte_range to, from;
  if (!range_of(packed, needed, to)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (job.rows < 0 || job.rows > job.out) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  if (job.at < 0 || job.at > job.out - job.rows) return refusal(FOVEA_RANGE, FOVEA_ARG_AT);
  if (!job.w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  if (job.w->reserved || job.w->dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_W);
  extent e{1, job.rows, 0, 0, job.in};
  if (const int32_t reason = place(job.w->data, 0, job.w->stride, sizeof(float), false, e, from))
    return refusal(reason, FOVEA_ARG_W);
  job.stride = e.token_stride;
  return meet(from, to) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_PACKED) : int32_t{FOVEA_OK};
}

void pack_floats(const pack_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) {
    const int32_t o = job.at + r;
    float* to = static_cast<float*>(job.packed) + static_cast<ptrdiff_t>(o / 16) * 16 * job.in + o % 16;
    const float* row = static_cast<const float*>(job.w->data) + r * job.stride;
    for (int32_t k = 0; k < job.in; ++k) to[16 * static_cast<ptrdiff_t>(k)] = row[k];
    if (o + 1 < job.out) continue;
    for (int lane = 1; o % 16 + lane < 16; ++lane) // outputs that do not exist
      for (int32_t k = 0; k < job.in; ++k) to[16 * static_cast<ptrdiff_t>(k) + lane] = 0;
  }
}

} // namespace
} // namespace fovea::linear

int32_t fovea_pack_linear(void* packed, size_t size, int32_t in, int32_t out, int32_t dtype, int32_t at,
                          const fovea_rows_in* w, int32_t rows) {
  using namespace fovea::linear;
  pack_job job = {packed, in, out, at, rows, w, 0};
  if (const int32_t status = check_pack(packed, size, dtype, job)) return status;
  pack_floats(job);
  return FOVEA_OK;
}
