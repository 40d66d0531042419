// Products with weights of integers: rows are quantised, multiplied exactly, and become floats again.
#include "common/build.hpp"

#include "linear/integers.hpp"

#include "common/system.hpp"
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

// Outputs that are left of a tile: from .. to-1, and where the first of them goes.
struct outputs_left {
  int32_t from, to;
  f32::finish_job finish;

  bool none() const { return from >= to; }
  int32_t in_strip() const { // of the next panels, as many as one call takes
    return static_cast<int32_t>(smaller(from / 16 * 16 + block_columns, to)) - from;
  }
  void move(int32_t count) {
    from += count;
    finish.y += count;
    if (finish.bias) finish.bias += count;
    if (finish.residual) finish.residual += count;
  }
};

const unsigned char* panel_of(const linear_plan& p, int32_t output) {
  return static_cast<const unsigned char*>(p.packed) + output / 16 * panel_bytes(p);
}
int32_t panels_of(const outputs_left& left, int32_t count) { return (left.from % 16 + count + 15) / 16; }

fixed::group_job groups_of(const linear_plan& p, const integer_tile& t, const unsigned char* panels,
                           int32_t count) {
  const ptrdiff_t tile_step = static_cast<ptrdiff_t>(t.tile_step);
  return {t.tiles, panels, tile_step, panel_bytes(p), t.rows, t.groups, count, t.scales};
}

// The next `count` outputs from floats that stand as in their panels.
void finish_outputs(const linear_plan& p, const integer_tile& t, float* z, int32_t count,
                    outputs_left& left) {
  f32::finish_job& f = left.finish;
  f.z = z + left.from % 16;
  f.z_stride = sums_step;
  f.rows = t.rows;
  f.count = count;
  f32::run_at(p.place, f);
  left.move(count);
}

// The next `count` outputs from their exact sums.
void write_outputs(const linear_plan& p, const integer_tile& t, int32_t count, outputs_left& left) {
  const int32_t skipped = left.from % 16;
  f32::finish_job& f = left.finish;
  f.z = t.z;
  f.z_stride = sums_step;
  f.rows = t.rows;
  f.count = count;
  const unsigned char* const scales = panel_of(p, left.from) + 16 * static_cast<ptrdiff_t>(t.depth);
  const bool finished = finished_by_scale(p, f);
  fixed::scale_job job = {t.sums, t.scales, scales, panel_bytes(p), t.rows, skipped,
                          count,  nullptr,  t.z,    sums_step};
  if (finished) {
    job.bias = f.bias;
    job.z = f.y;
    job.z_stride = f.y_stride;
  }
  p.scaling->scale(job);
  if (!finished) f32::run_at(p.place, f);
  left.move(count);
}

void multiply_strip(const linear_plan& p, const integer_tile& t, outputs_left& left) {
  const int32_t count = left.in_strip(), panels = panels_of(left, count);
  const unsigned char* const at = panel_of(p, left.from);
  if (t.groups) {
    p.scaling->multiply_groups(groups_of(p, t, at, panels), t.z);
    return finish_outputs(p, t, t.z, count, left);
  }
  p.product->multiply(t.tiles, t.rows, t.depth, reinterpret_cast<const int8_t*>(at), panel_bytes(p), panels,
                      t.sums);
  write_outputs(p, t, count, left);
}

// As many whole panels of one row from both.
void multiply_two_streams(const linear_plan& p, const integer_tile& t, int32_t panels,
                          const fixed::output_stream& first, const fixed::output_stream& second) {
  t.groups ? p.scaling->multiply_two(groups_of(p, t, nullptr, panels), first, second)
           : p.product->multiply_two(t.tiles, t.depth, t.scales[0], panel_bytes(p), panels, first, second);
}

// As many outputs of one row from both: all of them where they need no activation, else those of a strip. The
// floats of the second strip stand where the bytes of the row stood.
void multiply_both(const linear_plan& p, const integer_tile& t, outputs_left& first, outputs_left& second) {
  const unsigned char *const a = panel_of(p, first.from), *const b = panel_of(p, second.from);
  const f32::finish_job &f = first.finish, &g = second.finish;
  const int32_t panels = static_cast<int32_t>(smaller(first.to - first.from, second.to - second.from)) / 16;
  if (f.last_step == f32::activation::none && panels > 0) {
    multiply_two_streams(p, t, panels, {a, f.bias, f.residual, f.y}, {b, g.bias, g.residual, g.y});
    first.move(16 * panels);
    return second.move(16 * panels);
  }
  float* const second_z = reinterpret_cast<float*>(t.bytes);
  const int32_t count = static_cast<int32_t>(smaller(first.in_strip(), second.in_strip()));
  multiply_two_streams(p, t, panels_of(first, count), {a, nullptr, nullptr, t.z},
                       {b, nullptr, nullptr, second_z});
  finish_outputs(p, t, t.z, count, first);
  finish_outputs(p, t, second_z, count, second);
}

// One row, more than a strip of outputs, and room for the sums of the second stream where they become outputs
// later: of a strip with an activation, else of the last panel, which has room in any row of bytes. Both
// streams begin at a panel.
bool takes_two_streams(const linear_plan& p, const integer_tile& t, const share& s) {
  if (!FOVEA_HAS_SYSTEM || t.rows != 1 || s.to - s.from <= block_columns) return false;
  const bool has_room = static_cast<size_t>(t.depth) >= block_columns * sizeof(float);
  if (!has_room && p.activation != FOVEA_NO_ACTIVATION) return false;
  if (p.activation == FOVEA_SILU_TIMES && p.columns % 16) return false;
  return t.groups ? p.scaling->multiply_two != nullptr : p.product->multiply_two != nullptr;
}

void multiply_tile(const linear_plan& p, const share& s, int32_t row, const integer_tile& t) {
  quantize(p, p.x + row * p.x_stride, t);
  const bool two_streams = takes_two_streams(p, t, s);
  f32::finish_job f = p.finish;
  f.y += row * f.y_stride + s.from;
  if (f.bias) f.bias += s.from;
  if (f.residual) f.residual += row * f.residual_stride + s.from;
  f.last_step = last_step_of(p.activation);
  outputs_left first = {s.from, s.to, f}, second = first;
  if (p.activation == FOVEA_SILU_TIMES) {
    second.finish.last_step = f32::activation::times;
    if (second.finish.bias) second.finish.bias += p.columns;
    second.from += p.columns;
    second.to += p.columns;
  } else {
    const int32_t half = two_streams ? ((s.to - s.from) / 2 + 15) / 16 * 16 : s.to - s.from;
    second.move(half);
    first.to = first.from + half;
  }
  while (two_streams && !first.none() && !second.none()) multiply_both(p, t, first, second);
  while (!first.none()) multiply_strip(p, t, first);
  while (!second.none()) multiply_strip(p, t, second);
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
  if (const int32_t status = check_scratch(p, scratch, size)) return status;
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
