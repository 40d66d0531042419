// Linear layers in integers: a plan, the share of one worker, exact sums, and requantisation.
#include "common/build.hpp"

#include "fixed/linear.hpp"

namespace fovea::fixed {
namespace {

#if FOVEA_HAS_SYSTEM
constexpr int32_t tile_rows = product_rows, tile_panels = product_panels;
constexpr int32_t rows_in_cache = 1 << 18; // numbers of rows that stay near the core
#else
constexpr int32_t tile_rows = 1, tile_panels = 1;
#endif
constexpr int32_t least_rows = 16; // of a worker, where rows are split

struct linear_plan {
  const fixed_product* product;
  const unsigned char* panels;
  const int8_t* x;
  int8_t* y;
  ptrdiff_t x_stride, y_stride;
  int32_t in, out, depth, rows;
  int32_t from, to; // outputs of this worker
  output_range range;
  struct {
    byte_range in[2], to[1];
  } bytes;
};

int32_t check_linear(const fovea_fixed_linear* w, linear_plan& p) {
  if (!w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  if (w->reserved[0] | w->reserved[1] | w->reserved[2])
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  const linear_header* const header = static_cast<const linear_header*>(w->packed);
  if (!header) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (reinterpret_cast<uintptr_t>(header) % alignof(linear_header))
    return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  if (header->magic != linear_magic || header->order != linear_order)
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED);
  if (w->in != header->in || w->in < 1 || w->in > FOVEA_FIXED_LINEAR_MAX)
    return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (w->out != header->out || w->out < 1 || w->out > FOVEA_FIXED_LINEAR_MAX)
    return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  p.in = w->in, p.out = w->out, p.depth = depth_of(w->in);
  p.panels = reinterpret_cast<const unsigned char*>(header) + linear_header_bytes;
  const bool whole = w->low == 0 && w->high == 0;
  p.range = {w->zero_out, whole ? -128 : w->low, whole ? 127 : w->high};
  const auto is_byte = [](int32_t x) { return x == static_cast<int8_t>(x); };
  return is_byte(p.range.zero) && is_byte(p.range.low) && is_byte(p.range.high) && p.range.low <= p.range.high
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
}

int32_t check_rows(const fovea_fixed_product& call, linear_plan& p) {
  if (call.rows < 0 || call.rows > fixed_greatest_rows) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  extent x{1, call.rows, 0, 0, p.in}, y{1, call.rows, 0, 0, p.out};
  if (const int32_t reason = place(call.x, 0, call.x_stride, 1, false, x, p.bytes.in[0]))
    return refusal(reason, FOVEA_ARG_X);
  if (const int32_t reason = place(call.y, 0, call.y_stride, 1, true, y, p.bytes.to[0]))
    return refusal(reason, FOVEA_ARG_Y);
  const size_t packed = static_cast<size_t>((p.out + 15) / 16) * static_cast<size_t>(linear_panel_bytes(p.depth));
  if (!range_of(call.w->packed, linear_header_bytes + packed, p.bytes.in[1]))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (meet(p.bytes.in[0], p.bytes.to[0]) || meet(p.bytes.in[1], p.bytes.to[0]))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_Y);
  p.x = call.x, p.y = call.y, p.rows = call.rows;
  p.x_stride = x.token_stride, p.y_stride = y.token_stride;
  return FOVEA_OK;
}

int32_t cut(int32_t units, const fovea_part& part, int32_t index) {
  return static_cast<int32_t>(int64_t{units} * index / part.count);
}

// Rows or outputs become those of one worker.
int32_t take_part(const fovea_part& part, linear_plan& p) {
  p.from = 0, p.to = p.out;
  if (part.index == 0 && part.count <= 1) return part.count < 0 ? refusal(FOVEA_RANGE, FOVEA_ARG_PART) : 0;
  if (part.index < 0 || part.index >= part.count) return refusal(FOVEA_RANGE, FOVEA_ARG_PART);
  if (p.rows >= int64_t{least_rows} * part.count) {
    const int32_t from = cut(p.rows, part, part.index);
    p.rows = cut(p.rows, part, part.index + 1) - from;
    p.x += from * p.x_stride;
    p.y += from * p.y_stride;
    return FOVEA_OK;
  }
  const int32_t panels = (p.out + 15) / 16, to = 16 * cut(panels, part, part.index + 1);
  p.from = 16 * cut(panels, part, part.index);
  p.to = to < p.out ? to : p.out;
  return FOVEA_OK;
}

int32_t make_plan(const fovea_fixed_product* call, linear_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (call->reserved[0] | call->reserved[1] | call->reserved[2])
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (const int32_t s = check_linear(call->w, p)) return s;
  if (const int32_t s = check_rows(*call, p)) return s;
  p.product = find_fixed_product(call->isa);
  if (!p.product) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  return take_part(call->part, p);
}

constexpr size_t up64(size_t bytes) { return (bytes + 63) / 64 * 64; }

int32_t most_rows(const linear_plan& p) {
#if FOVEA_HAS_SYSTEM
  const int64_t cached = larger(rows_in_cache / p.depth, 4);
  return static_cast<int32_t>(larger(1, smaller(smaller(p.rows, cached), tile_rows)));
#else
  return static_cast<void>(p), tile_rows;
#endif
}
constexpr size_t sums_bytes(int32_t rows) {
  return sizeof(int32_t) * static_cast<size_t>(tile_panels == 1 ? 16 : rows * sums_step);
}
size_t scratch_for(const linear_plan& p, int32_t rows) {
  return 64 + up64(sums_bytes(rows)) + p.product->tile_bytes(rows, p.depth);
}

void requantize(const linear_plan& p, const int32_t* sums, int32_t rows, int32_t output, int8_t* y) {
  for (int32_t o = output, left; (left = p.to - o) > 0 && o < output + 16 * tile_panels; o += 16) {
    const int32_t count = left < 16 ? left : 16;
    const unsigned char* const at = p.panels + static_cast<ptrdiff_t>(o / 16) * linear_panel_bytes(p.depth) +
                                    16 * static_cast<ptrdiff_t>(p.depth);
    for (int32_t r = 0; r < rows; ++r)
      p.product->requantize(sums + r * sums_step + (o - output), *reinterpret_cast<const requantize_numbers*>(at),
                            p.range, count, y + r * p.y_stride + o);
  }
}

void multiply_tile(const linear_plan& p, int32_t rows, const int8_t* x, int8_t* y, int32_t* sums, void* tile) {
  const int32_t panel_bytes = linear_panel_bytes(p.depth);
  p.product->take(x, p.x_stride, rows, p.in, p.depth, tile);
  for (int32_t o = p.from; o < p.to; o += 16 * tile_panels) {
    const int32_t left = (p.to - o + 15) / 16, count = left < tile_panels ? left : tile_panels;
    const unsigned char* const panel = p.panels + static_cast<ptrdiff_t>(o / 16) * panel_bytes;
    p.product->multiply(tile, rows, p.depth, reinterpret_cast<const int8_t*>(panel), panel_bytes, count, sums);
    requantize(p, sums, rows, o, y);
  }
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_multiply(const fovea_fixed_product* call, void* scratch, size_t size) {
  using namespace fovea;
  using namespace fovea::fixed;
  linear_plan p;
  if (const int32_t status = make_plan(call, p)) return status;
  if (!scratch) return refusal(FOVEA_NULL, FOVEA_ARG_SCRATCH);
  byte_range bytes;
  if (!range_of(scratch, size, bytes)) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_SCRATCH);
  if (meets_any(p, bytes)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH);
  int32_t rows = most_rows(p);
  while (rows > 1 && scratch_for(p, rows) > size) --rows;
  if (scratch_for(p, rows) > size) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  unsigned char* const at = reinterpret_cast<unsigned char*>((bytes.begin + 63) & ~uintptr_t{63});
  int32_t* const sums = reinterpret_cast<int32_t*>(at);
  for (int32_t row = 0; row < p.rows; row += rows)
    multiply_tile(p, row + rows < p.rows ? rows : p.rows - row, p.x + row * p.x_stride,
                  p.y + row * p.y_stride, sums, at + up64(sums_bytes(rows)));
  return FOVEA_OK;
}

size_t fovea_fixed_multiply_scratch(const fovea_fixed_product* call) {
  using namespace fovea::fixed;
  linear_plan p;
  return make_plan(call, p) ? 0 : scratch_for(p, most_rows(p));
}
