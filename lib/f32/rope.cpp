// Rotary embedding with tables that are given: validation, and one kernel call.
#include "common/build.hpp"

#include "f32/rope.hpp"

#include "f32/kernel.hpp"

namespace fovea::f32 {

int32_t check_rope(const fovea_rope& rope, int32_t dim, rotate_job& job, byte_range (&tables)[2]) {
  if (rope.reserved) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  const int32_t rotary_dim = rope.rotary_dim ? rope.rotary_dim : dim;
  if (rotary_dim < 0 || rotary_dim > dim || rotary_dim % 2 || rope.positions < 0 || (rope.interleaved & ~1))
    return refusal(FOVEA_RANGE, FOVEA_ARG_ROPE);
  const int32_t half = rotary_dim / 2;
  if (const int32_t s = check_floats({rope.cos, half, rope.positions, half}, FOVEA_ARG_ROPE, tables[0]))
    return s;
  if (const int32_t s = check_floats({rope.sin, half, rope.positions, half}, FOVEA_ARG_ROPE, tables[1]))
    return s;
  job.cosine = rope.cos;
  job.sine = rope.sin;
  job.dim = dim;
  job.half = half;
  job.neighbours = rope.interleaved;
  return FOVEA_OK;
}

int32_t check_positions(const fovea_rope& rope, const int32_t* positions, int32_t first, int32_t tokens,
                        byte_range& bytes) {
  if (const int32_t s = check_list(positions, tokens, FOVEA_ARG_POSITIONS, bytes)) return s;
  if (!positions) {
    const bool within = tokens == 0 || (first >= 0 && first <= rope.positions - tokens);
    return within ? int32_t{FOVEA_OK} : refusal(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  }
  for (int32_t t = 0; t < tokens; ++t)
    if (positions[t] < 0 || positions[t] >= rope.positions) return refusal(FOVEA_RANGE, FOVEA_ARG_POSITIONS);
  return FOVEA_OK;
}

namespace {

int32_t check_counts_of(const fovea_rotation& r) {
  if (!all_zero(r.reserved, sizeof r.reserved / sizeof *r.reserved) || !is_zero(r.in.scale_unit) ||
      r.out.reserved)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (r.heads < 0 || r.heads > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_HEADS);
  if (r.tokens < 0 || r.tokens > greatest_count) return refusal(FOVEA_SIZE, FOVEA_ARG_TOKENS);
  if (r.dim < 1 || r.dim > greatest_dim) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  const bool plain_in = r.in.dtype == FOVEA_F32 && r.in.layout == FOVEA_ROWS && !r.in.scales &&
                        !r.in.zero_point && !r.in.scale_head_stride && !r.in.scale_token_stride;
  if (!plain_in) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_IN);
  if (r.out.dtype != FOVEA_F32 || r.out.zero_point || !is_zero(r.out.scale))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  return FOVEA_OK;
}

int32_t check_rotation(const fovea_rotation* call, rotate_job& job) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_rotation& r = *call;
  if (const int32_t s = check_counts_of(r)) return s;
  byte_range tables[2], positions, in, out;
  if (const int32_t s = check_rope(r.rope, r.dim, job, tables)) return s;
  if (const int32_t s = check_positions(r.rope, r.positions, r.first_position, r.tokens, positions)) return s;
  extent from{r.heads, r.tokens, 0, 0, r.dim}, to = from;
  if (const int32_t reason = place(r.in.data, r.in.head_stride, r.in.token_stride, sizeof(float), false, from,
                                   in))
    return refusal(reason, FOVEA_ARG_IN);
  if (const int32_t reason = place(r.out.data, r.out.head_stride, r.out.token_stride, sizeof(float), true, to,
                                   out))
    return refusal(reason, FOVEA_ARG_OUT);
  const bool same = r.in.data == r.out.data && from.head_stride == to.head_stride &&
                    from.token_stride == to.token_stride;
  if ((!same && meet(in, out)) || meet(tables[0], out) || meet(tables[1], out) || meet(positions, out))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  job.in = {static_cast<const float*>(r.in.data), from.head_stride, from.token_stride};
  job.out = {static_cast<float*>(r.out.data), to.head_stride, to.token_stride};
  job.positions = r.positions;
  job.first = r.first_position;
  job.heads = r.heads;
  job.tokens = r.heads ? r.tokens : 0;
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::f32

int32_t fovea_rotate(const fovea_rotation* call) {
  using namespace fovea::f32;
  rotate_job job = {};
  if (const int32_t status = check_rotation(call, job)) return status;
  return run_on(call->isa, job);
}
