// Packs a linear layer of integers: bytes into panels, zero points into biases, and proves that no sum can
// leave int32.
#include "common/build.hpp"

#include "fixed/linear.hpp"

namespace fovea::fixed {
namespace {

struct layer {
  unsigned char* packed;
  int32_t in, out;
  const fovea_fixed_weights* w;
  ptrdiff_t stride;
  const int8_t* row(int32_t output) const { return w->rows + output * stride; }
  int32_t bias(int32_t output) const { return w->bias ? w->bias[output] : 0; }
};

template <class T>
int32_t place_numbers(const T* data, int32_t count, bool needed, int32_t argument, byte_range& bytes) {
  bytes = {};
  if (!data) return needed ? refusal(FOVEA_NULL, argument) : int32_t{FOVEA_OK};
  if (reinterpret_cast<uintptr_t>(data) % alignof(T)) return refusal(FOVEA_ALIGN, argument);
  return range_of(data, sizeof(T) * static_cast<size_t>(count), bytes) ? int32_t{FOVEA_OK}
                                                                       : refusal(FOVEA_OVERFLOW, argument);
}

int32_t check_memory(layer& l, size_t size) {
  const fovea_fixed_weights& w = *l.w;
  if (!l.packed) return refusal(FOVEA_NULL, FOVEA_ARG_PACKED);
  if (reinterpret_cast<uintptr_t>(l.packed) % sizeof(int32_t)) return refusal(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  const uint64_t needed = linear_header_bytes + static_cast<uint64_t>((l.out + 15) / 16) *
                                                    static_cast<uint64_t>(linear_panel_bytes(depth_of(l.in)));
  if (size < needed) return refusal(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED);
  byte_range packed, rows, numbers[3];
  if (!range_of(l.packed, static_cast<size_t>(needed), packed))
    return refusal(FOVEA_OVERFLOW, FOVEA_ARG_PACKED);
  extent e{1, l.out, 0, 0, l.in};
  if (const int32_t reason = place(w.rows, 0, w.stride, 1, false, e, rows))
    return refusal(reason, FOVEA_ARG_W);
  l.stride = e.token_stride;
  if (const int32_t s = place_numbers(w.bias, l.out, false, FOVEA_ARG_BIAS, numbers[0])) return s;
  if (const int32_t s = place_numbers(w.multipliers, l.out, true, FOVEA_ARG_SCALE, numbers[1])) return s;
  if (const int32_t s = place_numbers(w.shifts, l.out, true, FOVEA_ARG_SCALE, numbers[2])) return s;
  for (const byte_range& r : {rows, numbers[0], numbers[1], numbers[2]})
    if (meet(r, packed)) return refusal(FOVEA_OVERLAP, FOVEA_ARG_PACKED);
  return FOVEA_OK;
}

// Sums of any x, and what zero points add to them, shifted left as they will be.
int32_t check_output(const layer& l, int32_t output) {
  const int32_t multiplier = l.w->multipliers[output], shift = l.w->shifts[output];
  if (multiplier < 0 || shift < -31 || shift > 30) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int8_t* const row = l.row(output);
  const int32_t zero = l.w->zero_x, farthest = zero < 0 ? 127 - zero : 128 + zero;
  int64_t size = l.bias(output);
  size = size < 0 ? -size : size;
  for (int32_t c = 0; c < l.in; ++c) size += farthest * static_cast<int64_t>(row[c] < 0 ? -row[c] : row[c]);
  return size << (shift > 0 ? shift : 0) < int64_t{1} << 31 ? int32_t{FOVEA_OK}
                                                            : refusal(FOVEA_RANGE, FOVEA_ARG_W);
}

int32_t check_layer(layer& l, size_t size) {
  if (l.in < 1 || l.in > FOVEA_FIXED_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (l.out < 1 || l.out > FOVEA_FIXED_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (!l.w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  for (const int32_t word : l.w->reserved)
    if (word) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (l.w->zero_x < -128 || l.w->zero_x > 127) return refusal(FOVEA_RANGE, FOVEA_ARG_X);
  if (const int32_t s = check_memory(l, size)) return s;
  for (int32_t output = 0; output < l.out; ++output)
    if (const int32_t s = check_output(l, output)) return s;
  return FOVEA_OK;
}

// Outputs that do not exist are zeros.
void pack_output(const layer& l, int32_t output) {
  const int32_t depth = depth_of(l.in), lane = output % 16;
  unsigned char* const panel = l.packed + linear_header_bytes +
                               static_cast<ptrdiff_t>(output / 16) * linear_panel_bytes(depth);
  requantize_numbers& numbers = *reinterpret_cast<requantize_numbers*>(panel +
                                                                       16 * static_cast<ptrdiff_t>(depth));
  const bool exists = output < l.out;
  int32_t sum = 0;
  for (int32_t c = 0; c < depth; ++c) {
    const int8_t x = exists && c < l.in ? l.row(output)[c] : int8_t{0};
    panel[linear_at(lane, c, depth)] = linear_byte(x, c);
    sum += folded(x, c, l.w->zero_x);
  }
  numbers.bias[lane] = exists ? static_cast<int32_t>(static_cast<uint32_t>(l.bias(output)) -
                                                     static_cast<uint32_t>(sum))
                              : 0;
  numbers.multiplier[lane] = exists ? l.w->multipliers[output] : 0;
  numbers.shift[lane] = exists ? l.w->shifts[output] : 0;
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_pack_linear(void* packed, size_t size, int32_t in, int32_t out,
                                const fovea_fixed_weights* w) {
  using namespace fovea::fixed;
  layer l = {static_cast<unsigned char*>(packed), in, out, w, 0};
  if (const int32_t status = check_layer(l, size)) return status;
  int32_t* const header = static_cast<int32_t*>(packed);
  for (int i = 0; i < linear_header_bytes / 4; ++i) header[i] = 0;
  *static_cast<linear_header*>(packed) = {linear_magic, linear_order, in, out};
  for (int32_t output = 0; output < (out + 15) / 16 * 16; ++output) pack_output(l, output);
  return FOVEA_OK;
}

int32_t fovea_fixed_linear_order() { return fovea::fixed::linear_order; }
