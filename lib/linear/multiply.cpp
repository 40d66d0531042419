// The public product: a plan, the share of one worker, and a kernel.
#include "common/build.hpp"

#include "linear/integers.hpp"

namespace fovea::linear {
namespace {

constexpr int32_t least_rows = 16;   // of a worker, where rows are split
constexpr int32_t unit_columns = 64; // of work, where outputs are split

int32_t cut(int32_t units, int32_t index, int32_t parts) {
  return static_cast<int32_t>(int64_t{units} * index / parts);
}

void multiply_floats(linear_plan& p, const share& s) {
  f32::finish_job& f = p.finish;
  f.y += s.from_row * f.y_stride;
  if (f.residual) f.residual += s.from_row * f.residual_stride;
  f.last_step = last_step_of(p.activation);
  const int32_t rows = s.to_row - s.from_row, gate_width = p.activation == FOVEA_SILU_TIMES ? p.columns : 0;
  const float* x = p.x + s.from_row * p.x_stride;
  f32::run_at(p.place,
              f32::product_job{p.packed, p.in, p.dtype, x, p.x_stride, rows, s.from, s.to, &f, gate_width});
}

} // namespace

share share_of(const linear_plan& p) {
  if (p.parts == 1) return {0, p.rows, 0, p.columns};
  if (p.rows >= int64_t{least_rows} * p.parts)
    return {cut(p.rows, p.part, p.parts), cut(p.rows, p.part + 1, p.parts), 0, p.columns};
  const int32_t unit = p.columns >= int64_t{unit_columns} * p.parts ? unit_columns : 16;
  const int32_t units = (p.columns + unit - 1) / unit;
  const auto column = [&](int32_t index) {
    const int32_t c = unit * cut(units, index, p.parts);
    return c < p.columns ? c : p.columns;
  };
  return {0, p.rows, column(p.part), column(p.part + 1)};
}

} // namespace fovea::linear

int32_t fovea_multiply(const fovea_product* call, void* scratch, size_t size) {
  using namespace fovea::linear;
  linear_plan p;
  if (const int32_t status = make_linear_plan(call, p)) return status;
  const share s = share_of(p);
#if FOVEA_WITH_FIXED_DSP
  if (is_integer(p.dtype) && p.arranged) return multiply_arranged(p, s, scratch, size);
#endif
  if (is_integer(p.dtype)) return multiply_integers(p, s, scratch, size);
  if (s.from_row < s.to_row && s.from < s.to) multiply_floats(p, s);
  return FOVEA_OK;
}

size_t fovea_multiply_scratch(const fovea_product* call) {
  using namespace fovea::linear;
  linear_plan p;
  if (make_linear_plan(call, p) || !is_integer(p.dtype)) return 0;
  const int32_t rows = rows_at_once(p, share_of(p));
#if FOVEA_WITH_FIXED_DSP
  if (p.arranged) return arranged_scratch(p, rows);
#endif
  return integer_scratch(p, rows);
}
