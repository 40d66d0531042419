// The public norms, activations and mean pooling: validation, and one kernel call.
#include "common/build.hpp"

#include "f32/check_rows.hpp"
#include "f32/kernel.hpp"
#include "fovea/ops.h"

namespace fovea::f32 {
namespace {

template <size_t Count>
int32_t check_reserved(const int32_t (&words)[Count]) {
  return all_zero(words, Count) ? int32_t{FOVEA_OK} : refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
}

ptrdiff_t resolved(ptrdiff_t stride, int32_t columns) { return stride ? stride : columns; }

int32_t check_norm_options(const fovea_norm_rows& n, norm_job& job) {
  if (const int32_t status = check_reserved(n.reserved)) return status;
  if (n.kind != FOVEA_LAYER_NORM && n.kind != FOVEA_RMS_NORM)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_KIND);
  if (n.weight_plus_one & ~1) return refusal(FOVEA_RANGE, FOVEA_ARG_W);
  if (!is_finite(n.epsilon)) return refusal(FOVEA_NOT_FINITE, FOVEA_ARG_EPSILON);
  if (bits_of(n.epsilon) >> 31 && !is_zero(n.epsilon)) return refusal(FOVEA_RANGE, FOVEA_ARG_EPSILON);
  job.epsilon = is_zero(n.epsilon) ? 1e-5f : n.epsilon;
  job.centred = n.kind == FOVEA_LAYER_NORM;
  job.weight_plus_one = n.weight_plus_one;
  return check_counts(n.rows, n.columns);
}

// The sum and the output, against what is read and against each other.
int32_t check_norm_rows(const fovea_norm_rows& n, norm_job& job) {
  const rows_given in{n.in, resolved(n.in_stride, n.columns), n.rows, n.columns},
      residual{n.residual, resolved(n.residual_stride, n.columns), n.residual ? n.rows : 0, n.columns},
      out{n.out, resolved(n.out_stride, n.columns), n.rows, n.columns},
      sum{n.sum, resolved(n.sum_stride, n.columns), n.sum ? n.rows : 0, n.columns};
  byte_range in_bytes, residual_bytes, weight, bias, out_bytes, sum_bytes;
  if (const int32_t s = check_floats(in, FOVEA_ARG_IN, in_bytes)) return s;
  if (const int32_t s = check_floats(residual, FOVEA_ARG_RESIDUAL, residual_bytes)) return s;
  if (const int32_t s = check_list(n.weight, n.columns, FOVEA_ARG_W, weight)) return s;
  if (const int32_t s = check_list(n.bias, n.columns, FOVEA_ARG_BIAS, bias)) return s;
  if (const int32_t s = check_written(out, FOVEA_ARG_OUT, out_bytes)) return s;
  if (const int32_t s = check_written(sum, FOVEA_ARG_SUM, sum_bytes)) return s;
  if (n.sum && !n.residual) return refusal(FOVEA_NULL, FOVEA_ARG_RESIDUAL);
  if (meets_others(in, in_bytes, out, out_bytes) || meets_others(residual, residual_bytes, out, out_bytes) ||
      meet(weight, out_bytes) || meet(bias, out_bytes))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  if (meets_others(in, in_bytes, sum, sum_bytes) || meets_others(residual, residual_bytes, sum, sum_bytes) ||
      meets_others(sum, sum_bytes, out, out_bytes) || meet(weight, sum_bytes) || meet(bias, sum_bytes))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_SUM);
  job.in = n.in;
  job.residual = n.residual;
  job.weight = n.weight;
  job.bias = n.bias;
  job.sum = n.sum;
  job.out = n.out;
  job.in_stride = in.stride;
  job.residual_stride = residual.stride;
  job.sum_stride = sum.stride;
  job.out_stride = out.stride;
  job.rows = n.columns ? n.rows : 0;
  job.columns = n.columns;
  return FOVEA_OK;
}

int32_t check_norm(const fovea_norm_rows* call, norm_job& job) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const int32_t status = check_norm_options(*call, job);
  return status ? status : check_norm_rows(*call, job);
}

int32_t check_activation(const fovea_activation_rows* call, activate_job& job) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_activation_rows& a = *call;
  if (const int32_t s = check_reserved(a.reserved)) return s;
  if (const int32_t s = check_counts(a.rows, a.columns)) return s;
  if (a.activation < FOVEA_RELU || a.activation > FOVEA_SILU)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ACTIVATION);
  const rows_given in{a.in, resolved(a.in_stride, a.columns), a.rows, a.columns},
      out{a.out, resolved(a.out_stride, a.columns), a.rows, a.columns};
  byte_range in_bytes, out_bytes;
  if (const int32_t s = check_floats(in, FOVEA_ARG_IN, in_bytes)) return s;
  if (const int32_t s = check_written(out, FOVEA_ARG_OUT, out_bytes)) return s;
  if (meets_others(in, in_bytes, out, out_bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  job = {a.in,
         a.out,
         in.stride,
         out.stride,
         a.columns ? a.rows : 0,
         a.columns,
         static_cast<activation>(a.activation)};
  return FOVEA_OK;
}

// Sequences of rows: their starts never fall, and their lengths stay within them. Where they end: `rows`.
int32_t check_sequences(const fovea_pool_rows& p, int32_t& rows) {
  if (p.sequences < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_SEQUENCES);
  if (p.tokens < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_TOKENS);
  byte_range bytes;
  if (p.sequences == 0x7fffffff) return refusal(FOVEA_SIZE, FOVEA_ARG_SEQUENCES);
  if (const int32_t s = check_list(p.starts, p.sequences + 1, FOVEA_ARG_STARTS, bytes)) return s;
  if (const int32_t s = check_list(p.lengths, p.sequences, FOVEA_ARG_LENGTHS, bytes)) return s;
  if (!p.starts && __builtin_mul_overflow(p.sequences, p.tokens, &rows))
    return refusal(FOVEA_SIZE, FOVEA_ARG_TOKENS);
  if (p.starts && p.starts[0] < 0) return refusal(FOVEA_RANGE, FOVEA_ARG_STARTS);
  for (int32_t s = 0; s < p.sequences; ++s) {
    if (p.starts && p.starts[s + 1] < p.starts[s]) return refusal(FOVEA_RANGE, FOVEA_ARG_STARTS);
    const int32_t most = p.starts ? p.starts[s + 1] - p.starts[s] : p.tokens;
    if (p.lengths && (p.lengths[s] < 0 || p.lengths[s] > most))
      return refusal(FOVEA_RANGE, FOVEA_ARG_LENGTHS);
  }
  if (p.starts) rows = p.starts[p.sequences];
  return FOVEA_OK;
}

int32_t check_pool(const fovea_pool_rows* call, pool_job& job) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  const fovea_pool_rows& p = *call;
  if (const int32_t s = check_reserved(p.reserved)) return s;
  if (const int32_t s = check_counts(0, p.columns)) return s;
  int32_t rows = 0;
  if (const int32_t s = check_sequences(p, rows)) return s;
  const rows_given in{p.in, resolved(p.in_stride, p.columns), rows, p.columns},
      out{p.out, resolved(p.out_stride, p.columns), p.sequences, p.columns};
  byte_range in_bytes, out_bytes, starts, lengths;
  if (const int32_t s = check_floats(in, FOVEA_ARG_IN, in_bytes)) return s;
  if (const int32_t s = check_written(out, FOVEA_ARG_OUT, out_bytes)) return s;
  if (const int32_t s = check_list(p.starts, p.sequences + 1, FOVEA_ARG_STARTS, starts)) return s;
  if (const int32_t s = check_list(p.lengths, p.sequences, FOVEA_ARG_LENGTHS, lengths)) return s;
  if (meet(in_bytes, out_bytes) || meet(starts, out_bytes) || meet(lengths, out_bytes))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_OUT);
  job = {p.in,     p.out,    in.stride, out.stride, p.starts, p.lengths, p.columns ? p.sequences : 0,
         p.tokens, p.columns};
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::f32

int32_t fovea_norm(const fovea_norm_rows* call) {
  using namespace fovea::f32;
  norm_job job = {};
  if (const int32_t status = check_norm(call, job)) return status;
  return run_on(call->isa, job);
}

int32_t fovea_activate(const fovea_activation_rows* call) {
  using namespace fovea::f32;
  activate_job job = {};
  if (const int32_t status = check_activation(call, job)) return status;
  return run_on(call->isa, job);
}

int32_t fovea_pool(const fovea_pool_rows* call) {
  using namespace fovea::f32;
  pool_job job = {};
  if (const int32_t status = check_pool(call, job)) return status;
  return run_on(call->isa, job);
}
