// The plain call: a kernel of its own, that is small. Where a core has vectors, it is for calls that have
// little scratch; others take the kernels of fovea_attend, with the same bits.
#include "common/build.hpp"

#include "f32/plain.hpp"

#include "f32/kernel.hpp"

namespace fovea::f32 {
namespace {

size_t floats_of_scratch(const plan& p) {
  return static_cast<size_t>(p.dim) + block_keys + 2 * static_cast<size_t>(p.v_dim);
}

int32_t take_plain_scratch(const plan& p, void* scratch, size_t size, plain_job& job) {
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  for (int i = footprint::q; i <= footprint::v; ++i)
    if (meet(p.bytes.in[i], bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  if (meet(p.bytes.to[footprint::out], bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  if (size < sizeof(float) * (1 + floats_of_scratch(p))) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  const uintptr_t at = (reinterpret_cast<uintptr_t>(scratch) + alignof(float) - 1) & -alignof(float);
  job.p = &p;
  job.s = reinterpret_cast<float*>(at);
  job.q = job.s + block_keys;
  job.o = job.q + p.dim;
  job.all_o = job.o + p.v_dim;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::f32

int32_t fovea_attend_plain(const fovea_attention* call, void* scratch, size_t scratch_size) {
  using namespace fovea;
  using namespace fovea::f32;
  plan p;
  if (const int32_t s = make_plain_plan(call, p)) return s;
#if FOVEA_WITH_VECTORS
  const bool any_isa = call->isa == FOVEA_ISA_BEST,
             plain_isa = call->isa == FOVEA_SCALAR || call->isa == FOVEA_SCALAR_NO_FMA;
  if (!plain_isa && (!any_isa || scratch_size >= fovea_scratch_least(call)))
    return fovea_attend_f32(call, scratch, scratch_size);
  if (any_isa) {
    p.isa = find_isa(FOVEA_SCALAR);
    if (p.isa < 0) p.isa = find_isa(FOVEA_SCALAR_NO_FMA);
  }
#endif
  plain_job job;
  if (const int32_t s = take_plain_scratch(p, scratch, scratch_size, job)) return s;
  run_at(p.isa, job);
  return FOVEA_OK;
}
