// Products with weights of integers: rows are quantised, multiplied exactly, and become floats again.
#include "common/build.hpp"

#include "linear/integers.hpp"

#include "fixed/groups.hpp"
#include "fixed/product.hpp"

namespace fovea::linear {
namespace {

using fixed::product_panels;
using fixed::product_rows;
using fixed::sums_step;

constexpr int32_t rows_in_cache = 1 << 18; // numbers of quantised rows that stay near the core
constexpr int32_t block_columns = 16 * product_panels;

constexpr size_t up64(size_t bytes) { return (bytes + 63) / 64 * 64; }

// What a tile of rows has in scratch.
struct integer_tile {
  int32_t rows, depth, groups; // groups: 0 of int8, which has one scale for each row
  size_t tile_step;
  int8_t* bytes;        // [rows][depth]
  unsigned char* tiles; // of the product: one, or one for each group
  float* scales;        // [rows][groups]
  int32_t* sums;        // [rows][sums_step]
  float* z;             // [rows][sums_step]
  size_t size;

  integer_tile(const linear_plan& p, int32_t count, unsigned char* at) : rows(count) {
    const bool grouped = p.dtype == FOVEA_I4;
    depth = (p.in + (grouped ? 31 : 15)) & (grouped ? -32 : -16);
    groups = grouped ? depth / 32 : 0;
    tile_step = grouped ? p.scaling->group_bytes(rows) : p.product->tile_bytes(rows, depth);
    const size_t n = static_cast<size_t>(rows), scale_count = n * static_cast<size_t>(groups ? groups : 1);
    size_t used = 0;
    const auto take = [&](size_t length) {
      unsigned char* const piece = at ? at + used : nullptr; // null: only the size is asked for
      used += up64(length);
      return piece;
    };
    bytes = reinterpret_cast<int8_t*>(take(n * static_cast<size_t>(depth)));
    tiles = take(tile_step * static_cast<size_t>(groups ? groups : 1));
    scales = reinterpret_cast<float*>(take(scale_count * sizeof(float)));
    sums = reinterpret_cast<int32_t*>(take(grouped ? 0 : n * sums_step * sizeof(int32_t)));
    z = reinterpret_cast<float*>(take((n * sums_step + 16) * sizeof(float)));
    size = used;
  }
};

// Bytes from one block of sixteen outputs to the next.
ptrdiff_t panel_bytes(const linear_plan& p) {
  return static_cast<ptrdiff_t>(FOVEA_LINEAR_BYTES(p.in, 1, p.dtype));
}

void quantize(const linear_plan& p, const float* x, const integer_tile& t) {
  if (!t.groups && p.product->quantize) {
    for (int32_t r = 0; r < t.rows; ++r, x += p.x_stride)
      t.scales[r] = p.product->quantize(x, p.in, t.depth,
                                        t.tiles + static_cast<size_t>(r) * p.product->tile_bytes(1, t.depth));
    return;
  }
  for (int32_t r = 0; r < t.rows; ++r, x += p.x_stride) {
    int8_t* const to = t.bytes + static_cast<ptrdiff_t>(r) * t.depth;
    if (!t.groups) {
      t.scales[r] = p.scaling->quantize(x, p.in, to);
      continue;
    }
    for (int32_t g = 0; g < t.groups; ++g) {
      const int32_t from = g * fixed::group_depth, left = p.in - from;
      const int32_t count = left < fixed::group_depth ? left : fixed::group_depth;
      t.scales[r * t.groups + g] = p.scaling->quantize(x + from, count, to + from);
      for (int32_t c = count; c < fixed::group_depth; ++c) to[from + c] = 0;
    }
  }
  if (!t.groups) return p.product->take(t.bytes, t.depth, t.rows, p.in, t.depth, t.tiles);
  for (int32_t g = 0; g < t.groups; ++g)
    p.scaling->take_group(t.bytes + g * fixed::group_depth, t.depth, t.rows,
                          t.tiles + static_cast<size_t>(g) * t.tile_step);
}

// Whether floats are outputs as soon as they have their bias.
bool finished_by_scale(const linear_plan& p, const f32::finish_job& f) {
  return p.dtype == FOVEA_I8 && f.last_step == f32::activation::none && !f.residual;
}

// Outputs from .. to-1 of some panels, the first of which is `panel`.
void multiply_panels(const linear_plan& p, const integer_tile& t, int32_t panel, int32_t from, int32_t to,
                     f32::finish_job& f) {
  const ptrdiff_t apart = panel_bytes(p);
  const unsigned char* const at = static_cast<const unsigned char*>(p.packed) + panel * apart;
  const int32_t skipped = from - 16 * panel, panels = (to - 16 * panel + 15) / 16;
  f.z = t.z;
  f.z_stride = sums_step;
  f.rows = t.rows;
  f.count = to - from;
  if (t.groups) {
    p.scaling->multiply_groups(
        {t.tiles, at, static_cast<ptrdiff_t>(t.tile_step), apart, t.rows, t.groups, panels, t.scales}, t.z);
    f.z += skipped;
    return f32::run_at(p.place, f);
  }
  p.product->multiply(t.tiles, t.rows, t.depth, reinterpret_cast<const int8_t*>(at), apart, panels, t.sums);
  fixed::scale_job job = {
      t.sums, t.scales,  at + 16 * static_cast<ptrdiff_t>(t.depth), apart, t.rows, skipped, f.count, f.bias,
      f.y,    f.y_stride};
  if (finished_by_scale(p, f)) return p.scaling->scale(job);
  job.bias = nullptr;
  job.z = t.z;
  job.z_stride = sums_step;
  p.scaling->scale(job);
  f32::run_at(p.place, f);
}

// Outputs from .. to-1 of a tile become columns of y; `finish` is of row 0 of the tile and output `from`.
void multiply_outputs(const linear_plan& p, const integer_tile& t, int32_t from, int32_t to,
                      f32::finish_job finish) {
  while (from < to) {
    const int32_t panel = from / 16;
    const int32_t end = static_cast<int32_t>(smaller(16 * panel + block_columns, to)), count = end - from;
    multiply_panels(p, t, panel, from, end, finish);
    finish.y += count;
    if (finish.bias) finish.bias += count;
    if (finish.residual) finish.residual += count;
    from = end;
  }
}

void multiply_tile(const linear_plan& p, const share& s, int32_t row, const integer_tile& t) {
  quantize(p, p.x + row * p.x_stride, t);
  f32::finish_job f = p.finish;
  f.y += row * f.y_stride + s.from;
  if (f.bias) f.bias += s.from;
  if (f.residual) f.residual += row * f.residual_stride + s.from;
  f.last_step = last_step_of(p.activation);
  multiply_outputs(p, t, s.from, s.to, f);
  if (p.activation != FOVEA_SILU_TIMES) return;
  f.last_step = f32::activation::times;
  if (f.bias) f.bias += p.columns;
  multiply_outputs(p, t, p.columns + s.from, p.columns + s.to, f);
}

} // namespace

int32_t rows_at_once(const linear_plan& p, const share& s) {
  const int32_t rows = s.to_row - s.from_row, cached = static_cast<int32_t>(larger(rows_in_cache / p.in, 4));
  return static_cast<int32_t>(larger(smaller(smaller(rows, cached), product_rows), 1));
}

size_t integer_scratch(const linear_plan& p, int32_t rows) {
  return integer_tile(p, rows, nullptr).size + 64;
}

int32_t multiply_integers(const linear_plan& p, const share& s, void* scratch, size_t size) {
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  if (meets_any(p, bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  int32_t rows = rows_at_once(p, s);
  while (integer_scratch(p, rows) > size)
    if (--rows == 0) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  if (s.from == s.to) return FOVEA_OK;
  unsigned char* const at = reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(scratch) + 63) &
                                                             ~uintptr_t{63});
  for (int32_t row = s.from_row; row < s.to_row; row += rows)
    multiply_tile(p, s, row, integer_tile(p, static_cast<int32_t>(smaller(rows, s.to_row - row)), at));
  return FOVEA_OK;
}

} // namespace fovea::linear
