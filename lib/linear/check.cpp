// Validation of products with packed weights.
#include "common/build.hpp"

#include "f32/check.hpp"

#include "f32/kernel.hpp"
#include "linear/integers.hpp"

namespace fovea::linear {
namespace {

constexpr int32_t panel_outputs = 16;

// Rows of float32: strides of 0 become numbers.
template <class Rows>
int32_t check_rows(const Rows& given, int32_t rows, int32_t columns, int32_t argument, bool written,
                   ptrdiff_t& stride, byte_range& bytes) {
  if (given.reserved) return refusal(FOVEA_UNSUPPORTED, argument);
  if (given.dtype != FOVEA_F32) return refusal(FOVEA_UNSUPPORTED, argument);
  extent e{1, rows, 0, 0, columns};
  const int32_t reason = place(given.data, 0, given.stride, sizeof(float), written, e, bytes);
  stride = rows > 1 ? e.token_stride : 0; // of one row it may be any number
  return reason ? refusal(reason, argument) : int32_t{FOVEA_OK};
}

int32_t check_weights(const fovea_linear* given, linear_plan& p) {
  if (!given) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  const fovea_linear& w = *given;
  if (!f32::all_zero(w.reserved, sizeof w.reserved / sizeof *w.reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (w.in < 1 || w.in > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (w.out < 1 || w.out > FOVEA_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (!is_float(w.dtype) && !is_integer(w.dtype)) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_W);
  if (w.order != FOVEA_LINEAR_AS_PACKED && (w.order != FOVEA_LINEAR_SMLAD || w.dtype != FOVEA_I8))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED);
  if (w.dtype == FOVEA_I8 && w.in > greatest_in_of_bytes) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  const size_t size = packed_bytes(w.in, w.out, w.dtype);
  if (!size) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (!w.packed) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (f32::misaligned(w.packed)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  if (!range_of(w.packed, size, p.bytes.in[footprint::packed]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  p.bytes.in[footprint::bias] = {};
  if (f32::misaligned(w.bias)) return refusal(FOVEA_ALIGN, FOVEA_ARG_BIAS);
  if (w.bias && !range_of(w.bias, static_cast<size_t>(w.out) * sizeof(float), p.bytes.in[footprint::bias]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_BIAS);
  p.packed = w.packed;
  p.in = w.in;
  p.out = w.out;
  p.dtype = w.dtype;
  p.finish.bias = w.bias;
  return FOVEA_OK;
}

int32_t check_activation(const fovea_product& call, linear_plan& p) {
  if (call.activation < 0 || call.activation >= FOVEA_ACTIVATION_END)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ACTIVATION);
  p.activation = call.activation;
  p.columns = p.out;
  if (call.activation != FOVEA_SILU_TIMES) return FOVEA_OK;
  if (p.out % 2) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  p.columns = p.out / 2;
  return call.residual.data ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESIDUAL) : int32_t{FOVEA_OK};
}

int32_t check_tensors(const fovea_product& call, linear_plan& p) {
  f32::finish_job& f = p.finish;
  byte_range(&in)[footprint::inputs] = p.bytes.in;
  byte_range& y = p.bytes.to[footprint::y];
  if (call.rows < 0) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  p.rows = call.rows;
  if (const int32_t s = check_rows(call.x, p.rows, p.in, FOVEA_ARG_X, false, p.x_stride, in[footprint::x]))
    return s;
  if (const int32_t s = check_rows(call.y, p.rows, p.columns, FOVEA_ARG_Y, true, f.y_stride, y)) return s;
  p.x = static_cast<const float*>(call.x.data);
  f.y = static_cast<float*>(call.y.data);
  f.residual = static_cast<const float*>(call.residual.data);
  f.residual_stride = 0;
  in[footprint::residual] = {};
  if (f.residual)
    if (const int32_t s = check_rows(call.residual, p.rows, p.columns, FOVEA_ARG_RESIDUAL, false,
                                     f.residual_stride, in[footprint::residual]))
      return s;
  for (int i = 0; i < footprint::residual; ++i)
    if (meet(in[i], y)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_Y);
  const bool in_place = f.residual == f.y && (p.rows < 2 || f.residual_stride == f.y_stride);
  return !in_place && meet(in[footprint::residual], y) ? refusal(FOVEA_OVERLAP, FOVEA_ARG_RESIDUAL)
                                                       : int32_t{FOVEA_OK};
}

} // namespace

size_t packed_bytes(int32_t in, int32_t out, int32_t dtype) {
  if (dtype == FOVEA_I8 && in > greatest_in_of_bytes) return 0;
  if (in < 1 || in > FOVEA_LINEAR_MAX || out < 1 || out > FOVEA_LINEAR_MAX) return 0;
  const size_t panel = FOVEA_LINEAR_BYTES(in, 1, dtype), panels = FOVEA_UP16(out) / panel_outputs;
  size_t size;
  return __builtin_mul_overflow(panel, panels, &size) || size > PTRDIFF_MAX ? 0 : size;
}

int32_t make_linear_plan(const fovea_product* call, linear_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (!f32::all_zero(call->reserved, sizeof call->reserved / sizeof *call->reserved))
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (const int32_t s = check_weights(call->w, p)) return s;
  if (const int32_t s = check_activation(*call, p)) return s;
  if (const int32_t s = check_tensors(*call, p)) return s;
  if (const int32_t s = check_part(call->part, p)) return s;
  p.place = f32::find_isa(call->isa);
  if (is_integer(p.dtype)) {
    p.product = fixed::find_fixed_product(call->fixed_isa);
    p.scaling = fixed::find_fixed_scaling(call->fixed_isa);
    if (!p.product) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_FIXED_ISA);
    const bool is_arranged = call->w->order == FOVEA_LINEAR_SMLAD;
    p.arranged = is_arranged ? fixed::find_arranged_product(call->fixed_isa) : nullptr;
    if (is_arranged && !p.arranged) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED);
  }
  return p.place < 0 ? refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA) : int32_t{FOVEA_OK};
}

} // namespace fovea::linear

size_t fovea_linear_size(int32_t in, int32_t out, int32_t dtype) {
  return fovea::linear::packed_bytes(in, out, dtype);
}

int32_t fovea_check_product(const fovea_product* p) {
  fovea::linear::linear_plan plan;
  return fovea::linear::make_linear_plan(p, plan);
}
