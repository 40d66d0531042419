// Products with weights of int8 in the order of one core: rows are quantised, and become outputs one by one.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "linear/integers.hpp"

#if FOVEA_WITH_FIXED_DSP
namespace fovea::linear {
namespace {

using f32::activation;

constexpr int32_t strip_columns = 64;           // that several rows meet before the next ones
constexpr int32_t z_columns = 192;              // that stand in scratch before something joins them
constexpr size_t z_floats = z_columns + 4 + 16; // by fours, and what a finish_job reads behind them

// Quantised rows, in scratch.
struct arranged_rows {
  int32_t count;
  size_t row_bytes;
  unsigned char* rows;
  float *z, *scales;
};

int32_t depth_of(const linear_plan& p) { return (p.in + 15) & -16; }

// Columns from .. to-1 of rows from `row` on. Outputs that nothing joins are written to y, where an
// activation changes them in place.
void multiply_columns(const linear_plan& p, const arranged_rows& t, int32_t row, int32_t from, int32_t to,
                      activation last_step) {
  const int32_t shift = last_step == activation::times ? p.columns : 0; // from a column to its output
  const bool by_fours = (((from + shift) | (to - from)) & 3) == 0;
  const bool joins = p.finish.bias || p.finish.residual || last_step == activation::times;
  const bool through_z = !by_fours || joins, finishes = through_z || last_step != activation::none;
  const int32_t step = t.count > 1 ? strip_columns : through_z ? z_columns : to - from;
  const ptrdiff_t panel = static_cast<ptrdiff_t>(FOVEA_LINEAR_BYTES(p.in, 1, FOVEA_I8));
  for (int32_t c = from; c < to; c += step) {
    const uint32_t first = static_cast<uint32_t>(c + shift);
    const int32_t count = to - c < step ? to - c : step;
    const int32_t before = static_cast<int32_t>(first % 4); // outputs that are not wanted
    fixed::row_outputs out;
    out.panels = static_cast<const unsigned char*>(p.packed) + static_cast<ptrdiff_t>(first / 16) * panel;
    out.first = static_cast<int32_t>(first % 16) - before;
    out.count = (before + count + 3) & -4;
    for (int32_t r = 0; r < t.count; ++r) {
      f32::finish_job f = p.finish;
      f.y += (row + r) * f.y_stride + c;
      out.y = through_z ? t.z : f.y;
      p.arranged->multiply(t.rows + static_cast<size_t>(r) * t.row_bytes, depth_of(p), t.scales[r], out);
      if (!finishes) continue;
      f.z = out.y + before;
      if (f.bias) f.bias += first;
      if (f.residual) f.residual += (row + r) * f.residual_stride + c;
      f.rows = 1;
      f.count = count;
      f.last_step = last_step;
      f32::run_at(p.place, f);
    }
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
  int32_t rows = s.to_row - s.from_row; // at a time
  if (rows > 1)
    rows = static_cast<int32_t>(
        smaller(rows_at_once(p, s), static_cast<int64_t>((size - once_bytes) / each)));
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
