// Linear layers in integers: a plan, the share of one worker, exact sums, and requantisation.
#include "common/build.hpp"

#include "fixed/linear.hpp"

#include "fixed/product.hpp"

namespace fovea::fixed {
namespace {

constexpr int32_t rows_in_cache = 1 << 18; // numbers of rows that stay near the core
constexpr int32_t greatest_rows = 0x3fffffff;
constexpr int32_t least_rows = 16; // of a worker, where rows are split

struct linear_plan {
  const fixed_layer* layer;
  layer_job job; // of all rows of this worker; its scratch is not set
  int32_t out;
  output_range range;
  struct {
    byte_range in[2], to[1];
  } bytes;
};

int32_t check_linear(const fovea_fixed_linear* w, linear_plan& p) {
  if (!w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  if (w->reserved[0] | w->reserved[1] | w->reserved[2]) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
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
  p.out = w->out;
  p.job.in = w->in;
  p.job.depth = depth_of(w->in);
  p.job.outputs = w->out;
  p.job.panels = reinterpret_cast<const int8_t*>(header + 1);
  p.job.numbers = reinterpret_cast<const requantize_numbers*>(
      p.job.panels + static_cast<ptrdiff_t>(panels_of(w->out)) * p.job.depth);
  p.job.gentle = header->gentle != 0;
  const bool whole = w->low == 0 && w->high == 0;
  p.range = {w->zero_out, whole ? -128 : w->low, whole ? 127 : w->high};
  const auto is_byte = [](int32_t x) { return x == static_cast<int8_t>(x); };
  return is_byte(p.range.zero) && is_byte(p.range.low) && is_byte(p.range.high) && p.range.low <= p.range.high
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
}

int32_t check_rows(const fovea_fixed_product& call, linear_plan& p) {
  if (call.rows < 0 || call.rows > greatest_rows) return refusal(FOVEA_SIZE, FOVEA_ARG_ROWS);
  extent x{1, call.rows, 0, 0, p.job.in}, y{1, call.rows, 0, 0, p.out};
  if (const int32_t reason = place(call.x, 0, call.x_stride, 1, false, x, p.bytes.in[0]))
    return refusal(reason, FOVEA_ARG_X);
  if (const int32_t reason = place(call.y, 0, call.y_stride, 1, true, y, p.bytes.to[0]))
    return refusal(reason, FOVEA_ARG_Y);
  const unsigned char* const end = reinterpret_cast<const unsigned char*>(p.job.numbers +
                                                                          panels_of(p.out) / 4);
  const size_t packed = static_cast<size_t>(end - static_cast<const unsigned char*>(call.w->packed));
  if (!range_of(call.w->packed, packed, p.bytes.in[1])) return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  if (meet(p.bytes.in[0], p.bytes.to[0]) || meet(p.bytes.in[1], p.bytes.to[0]))
    return refusal(FOVEA_OVERLAP, FOVEA_ARG_Y);
  p.job.x = call.x;
  p.job.y = call.y;
  p.job.rows = call.rows;
  p.job.x_step = x.token_stride;
  p.job.y_step = y.token_stride;
  return FOVEA_OK;
}

int32_t cut(int32_t units, const fovea_part& part, int32_t index) {
  return static_cast<int32_t>(int64_t{units} * index / part.count);
}

// Rows or outputs become those of one worker.
int32_t take_part(const fovea_part& part, layer_job& job) {
  if (part.index == 0 && (part.count == 0 || part.count == 1)) return FOVEA_OK;
  if (part.index < 0 || part.index >= part.count) return refusal(FOVEA_RANGE, FOVEA_ARG_PART);
  if (job.rows >= int64_t{least_rows} * part.count) {
    const int32_t from = cut(job.rows, part, part.index);
    job.rows = cut(job.rows, part, part.index + 1) - from;
    job.x += from * job.x_step;
    job.y += from * job.y_step;
    return FOVEA_OK;
  }
  const int32_t panels = (job.outputs + 15) / 16, from = 16 * cut(panels, part, part.index);
  const int32_t to = 16 * cut(panels, part, part.index + 1);
  job.outputs = (to < job.outputs ? to : job.outputs) - from;
  job.panels += static_cast<ptrdiff_t>(from) * job.depth;
  job.numbers += from / 4;
  job.y += from;
  return FOVEA_OK;
}

int32_t make_plan(const fovea_fixed_product* call, linear_plan& p) {
  if (!call) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (call->reserved[0] | call->reserved[1] | call->reserved[2])
    return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (const int32_t s = check_linear(call->w, p)) return s;
  if (const int32_t s = check_rows(*call, p)) return s;
  p.layer = find_fixed_layer(call->isa);
  if (!p.layer) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  return take_part(call->part, p.job);
}

int32_t most_rows(const linear_plan& p) {
  if (p.layer->rows == 1) return 1;
  const int32_t cached = rows_in_cache / p.job.depth, most = p.layer->rows < cached ? p.layer->rows : cached;
  return p.job.rows < 1 ? 1 : p.job.rows < most ? p.job.rows : most;
}
constexpr size_t line = 16; // scratch begins at a multiple of it
size_t scratch_for(const linear_plan& p, int32_t rows) {
  return line - 1 + p.layer->scratch(rows, p.job.depth);
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
  while (scratch_for(p, rows) > size)
    if (--rows < 1) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH);
  layer_job job = p.job;
  job.range = &p.range;
  job.scratch = reinterpret_cast<unsigned char*>((bytes.begin + line - 1) & ~(line - 1));
  for (int32_t left = p.job.rows; left > 0; left -= rows) {
    job.rows = left < rows ? left : rows;
    p.layer->run(job);
    job.x += rows * job.x_step;
    job.y += rows * job.y_step;
  }
  return FOVEA_OK;
}

size_t fovea_fixed_multiply_scratch(const fovea_fixed_product* call) {
  using namespace fovea::fixed;
  linear_plan p;
  return make_plan(call, p) ? 0 : scratch_for(p, most_rows(p));
}
