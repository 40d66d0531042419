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
  int8_t* bytes;         // [rows][depth]
  unsigned char* tiles;  // of the product: one, or one for each group
  float* scales;         // [rows][groups]
  int32_t* sums;         // [rows][sums_step], and floats in their place
  size_t size;

  integer_tile(const linear_plan& p, int32_t count, unsigned char* at) : rows(count) {
    const bool grouped = p.dtype == FOVEA_I4;
    depth = (p.in + (grouped ? 31 : 15)) & (grouped ? -32 : -16);
    groups = grouped ? depth / 32 : 0;
    tile_step = p.product->tile_bytes(rows, grouped ? fixed::group_depth : depth);
    const size_t n = static_cast<size_t>(rows), scale_count = n * static_cast<size_t>(groups ? groups : 1);
    size_t used = 0;
    const auto take = [&](size_t bytes) {
      unsigned char* const piece = at + used;
      used += up64(bytes);
      return piece;
    };
    bytes = reinterpret_cast<int8_t*>(take(n * static_cast<size_t>(depth)));
    tiles = take(tile_step * static_cast<size_t>(groups ? groups : 1));
    scales = reinterpret_cast<float*>(take(scale_count * sizeof(float)));
    sums = reinterpret_cast<int32_t*>(take((n * sums_step + 16) * sizeof(int32_t)));
    size = used;
  }
};

// Bytes from one block of sixteen outputs to the next.
ptrdiff_t panel_bytes(const linear_plan& p) {
  return static_cast<ptrdiff_t>(FOVEA_LINEAR_BYTES(p.in, 1, p.dtype));
}

void quantize(const linear_plan& p, const float* x, const integer_tile& t) {
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
    p.product->take(t.bytes + g * fixed::group_depth, t.depth, t.rows, fixed::group_depth, fixed::group_depth,
                    t.tiles + static_cast<size_t>(g) * t.tile_step);
}

// Floats of the outputs of some panels, in the place of sums.
void multiply_panels(const linear_plan& p, const integer_tile& t, int32_t panel, int32_t count) {
  const ptrdiff_t apart = panel_bytes(p);
  const unsigned char* const at = static_cast<const unsigned char*>(p.packed) + panel * apart;
  if (t.groups) {
    const fixed::group_job job = {t.tiles, at,       static_cast<ptrdiff_t>(t.tile_step), apart,
                                  t.rows,  t.groups, count,                               t.scales};
    return p.scaling->multiply_groups(job, reinterpret_cast<float*>(t.sums));
  }
  p.product->multiply(t.tiles, t.rows, t.depth, reinterpret_cast<const int8_t*>(at), apart, count, t.sums);
  p.scaling->scale(t.sums, t.rows, t.scales, at + 16 * static_cast<ptrdiff_t>(t.depth), apart, count);
}

// Outputs from .. to-1 of a tile become columns of y; `finish` is of row 0 of the tile and output `from`.
void multiply_outputs(const linear_plan& p, const integer_tile& t, int32_t from, int32_t to,
                      f32::finish_job finish) {
  while (from < to) {
    const int32_t panel = from / 16, skipped = from % 16;
    const int32_t end = smaller(16 * panel + block_columns, to);
    multiply_panels(p, t, panel, (end - 16 * panel + 15) / 16);
    finish.z = reinterpret_cast<const float*>(t.sums) + skipped;
    finish.z_stride = sums_step;
    finish.rows = t.rows;
    finish.count = end - from;
    f32::finish_at(p.place, finish);
    finish.y += finish.count;
    if (finish.bias) finish.bias += finish.count;
    if (finish.residual) finish.residual += finish.count;
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
  return static_cast<int32_t>(smaller(smaller(rows, cached), product_rows));
}

size_t integer_scratch(const linear_plan& p, int32_t rows) {
  return integer_tile(p, rows, nullptr).size + 64;
}

bool multiply_integers(const linear_plan& p, const share& s, void* scratch, size_t size) {
  int32_t rows = rows_at_once(p, s);
  while (rows > 1 && integer_scratch(p, rows) > size) --rows;
  if (integer_scratch(p, rows) > size) return false;
  unsigned char* const at = reinterpret_cast<unsigned char*>(
      (reinterpret_cast<uintptr_t>(scratch) + 63) & ~uintptr_t{63});
  for (int32_t row = s.from_row; row < s.to_row; row += rows)
    multiply_tile(p, s, row, integer_tile(p, static_cast<int32_t>(smaller(rows, s.to_row - row)), at));
  return true;
}

} // namespace fovea::linear
