// Products with weights of int8 in the order of one core: rows are quantised, and become outputs one by one.
#include "common/build.hpp"

#include "linear/integers.hpp"

#if FOVEA_WITH_FIXED_DSP
namespace fovea::linear {
namespace {

using f32::activation;

constexpr int32_t strip_columns = 64;               // that several rows meet before the next ones
constexpr size_t z_floats = strip_columns + 4 + 16; // by fours, and what a finish_job reads behind them

// Quantised rows, in scratch.
struct arranged_rows {
  int32_t count;
  size_t row_bytes;
  unsigned char* rows;
  float *z, *scales;
};

int32_t depth_of(const linear_plan& p) { return (p.in + 15) & -16; }

// Outputs `first` .. first + f.count - 1 of a row, of which f is. through_z: they stand in z before f takes
// them, else they are written to y at once.
void multiply_row(const linear_plan& p, const void* x, float scale, int32_t first, f32::finish_job& f,
                  float* z, bool through_z) {
  const ptrdiff_t panel = static_cast<ptrdiff_t>(FOVEA_LINEAR_BYTES(p.in, 1, FOVEA_I8));
  const int32_t before = through_z ? first % 4 : 0; // outputs that are not wanted
  const bool is_gate = f.last_step == activation::times;
  fixed::row_outputs to;
  to.panels = static_cast<const unsigned char*>(p.packed) + first / 16 * panel;
  to.first = first % 16 - before;
  to.count = (before + f.count + 3) & -4;
  to.bias = through_z ? nullptr : f.bias;
  to.residual = through_z ? nullptr : f.residual;
  to.y = through_z ? z : f.y;
  to.times = is_gate && !through_z;
  to.z = z;
  p.arranged->multiply(x, depth_of(p), scale, to);
  if (!through_z && (is_gate || f.last_step == activation::none)) return;
  f.z = to.y + before;
  if (!through_z) f.bias = nullptr;
  f32::run_at(p.place, f);
}

// Columns from .. to-1 of rows from `row` on.
void multiply_columns(const linear_plan& p, const arranged_rows& t, int32_t row, int32_t from, int32_t to,
                      activation last_step) {
  const int32_t shift = last_step == activation::times ? p.columns : 0; // from a column to its output
  const bool by_fours = ((from + shift) | (to - from)) % 4 == 0;
  const bool through_z = !by_fours || (p.finish.residual && last_step != activation::none);
  const int32_t step = through_z || t.count > 1 ? strip_columns : to - from;
  for (int32_t c = from; c < to; c += step)
    for (int32_t r = 0; r < t.count; ++r) {
      f32::finish_job f = p.finish;
      f.y += (row + r) * f.y_stride + c;
      if (f.bias) f.bias += c + shift;
      if (f.residual) f.residual += (row + r) * f.residual_stride + c;
      f.rows = 1;
      f.count = to - c < step ? to - c : step;
      f.last_step = last_step;
      multiply_row(p, t.rows + static_cast<size_t>(r) * t.row_bytes, t.scales[r], c + shift, f, t.z,
                   through_z);
    }
}

constexpr size_t once_bytes = z_floats * sizeof(float) + 64; // 64: where scratch begins

size_t bytes_of_row(size_t row_bytes) { return row_bytes + sizeof(float); }

} // namespace

size_t arranged_scratch(const linear_plan& p, int32_t rows) {
  return once_bytes + static_cast<size_t>(rows) * bytes_of_row(p.arranged->row_bytes(depth_of(p)));
}

int32_t multiply_arranged(const linear_plan& p, const share& s, void* scratch, size_t size) {
  if (const int32_t status = check_scratch(p, scratch, size)) return status;
  const size_t row_bytes = p.arranged->row_bytes(depth_of(p)), each = bytes_of_row(row_bytes);
  if (size < once_bytes + each) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  if (s.from == s.to) return FOVEA_OK;
  const size_t room = (size - once_bytes) / each, wanted = static_cast<size_t>(rows_at_once(p, s));
  const int32_t rows = static_cast<int32_t>(room < wanted ? room : wanted);
  arranged_rows t;
  t.row_bytes = row_bytes;
  t.rows = reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(scratch) + 63) & ~uintptr_t{63});
  t.z = reinterpret_cast<float*>(t.rows + static_cast<size_t>(rows) * row_bytes);
  t.scales = t.z + z_floats;
  for (int32_t row = s.from_row; row < s.to_row; row += rows) {
    t.count = s.to_row - row < rows ? s.to_row - row : rows;
    for (int32_t r = 0; r < t.count; ++r)
      t.scales[r] = p.arranged->quantize(p.x + (row + r) * p.x_stride, p.in, depth_of(p),
                                         t.rows + static_cast<size_t>(r) * row_bytes);
    multiply_columns(p, t, row, s.from, s.to, last_step_of(p.activation));
    if (p.activation == FOVEA_SILU_TIMES) multiply_columns(p, t, row, s.from, s.to, activation::times);
  }
  return FOVEA_OK;
}

} // namespace fovea::linear
#endif
