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
  const uint64_t needed = sizeof(linear_header) + static_cast<uint64_t>(panels_of(l.out)) *
                                                      static_cast<uint64_t>(depth_of(l.in) + 12);
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

// No sum of any x, with its bias, is greater in size.
int64_t greatest_sum(const layer& l, int32_t output) {
  const int8_t* const row = l.row(output);
  const int32_t zero = l.w->zero_x, farthest = zero < 0 ? 127 - zero : 128 + zero;
  const int64_t bias = l.bias(output);
  int32_t sizes = 0; // at most 128 * 65,536
  for (int32_t c = 0; c < l.in; ++c) sizes += row[c] < 0 ? -row[c] : row[c];
  return (bias < 0 ? -bias : bias) + farthest * static_cast<int64_t>(sizes);
}

int32_t check_output(const layer& l, int32_t output, bool& gentle) {
  const int32_t multiplier = l.w->multipliers[output], shift = l.w->shifts[output];
  if (multiplier < 0 || shift < -31 || shift > 30) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int64_t size = greatest_sum(l, output);
  gentle = gentle && gentle_shift(shift);
  return size << (shift > 0 ? shift : 0) < linear_sums_limit ? int32_t{FOVEA_OK}
                                                             : refusal(FOVEA_RANGE, FOVEA_ARG_W);
}

int32_t check_layer(layer& l, size_t size, bool& gentle) {
  if (l.in < 1 || l.in > FOVEA_FIXED_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_IN);
  if (l.out < 1 || l.out > FOVEA_FIXED_LINEAR_MAX) return refusal(FOVEA_SIZE, FOVEA_ARG_OUT);
  if (!l.w) return refusal(FOVEA_NULL, FOVEA_ARG_W);
  for (const int32_t word : l.w->reserved)
    if (word) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  if (l.w->zero_x < -128 || l.w->zero_x > 127) return refusal(FOVEA_RANGE, FOVEA_ARG_X);
  if (const int32_t s = check_memory(l, size)) return s;
  for (int32_t output = 0; output < l.out; ++output)
    if (const int32_t s = check_output(l, output, gentle)) return s;
  return FOVEA_OK;
}

// Outputs that do not exist are zeros.
void pack_output(const layer& l, int32_t output, int8_t* panels, requantize_numbers* all) {
  const int32_t depth = depth_of(l.in);
  int8_t* const panel = panels + output / 16 * static_cast<ptrdiff_t>(16) * depth;
  requantize_numbers& numbers = all[output / 4];
  const bool exists = output < l.out;
  uint32_t taken = 0;
  for (int32_t c = 0; c < depth; ++c) {
    const int32_t weight = exists && c < l.in ? l.row(output)[c] : 0;
    panel[linear_at(output % 16, c, depth)] = static_cast<int8_t>(linear_byte(weight, c));
    taken += static_cast<uint32_t>(folded(weight, c, l.w->zero_x));
  }
  const int i = output % 4;
  numbers.bias[i] = exists ? static_cast<int32_t>(static_cast<uint32_t>(l.bias(output)) - taken) : 0;
  numbers.multiplier[i] = exists ? l.w->multipliers[output] : 0;
  numbers.down[i] = exists ? -1 - l.w->shifts[output] : 0;
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_pack_linear(void* packed, size_t size, int32_t in, int32_t out,
                                const fovea_fixed_weights* w) {
  using namespace fovea::fixed;
  layer l = {static_cast<unsigned char*>(packed), in, out, w, 0};
  bool gentle = true;
  if (const int32_t status = check_layer(l, size, gentle)) return status;
  linear_header* const header = static_cast<linear_header*>(packed);
  *header = {linear_magic, linear_order, in, out, gentle, {}};
  int8_t* const panels = reinterpret_cast<int8_t*>(header + 1);
  auto* const numbers = reinterpret_cast<requantize_numbers*>(
      panels + static_cast<ptrdiff_t>(panels_of(out)) * depth_of(in));
  for (int32_t output = 0; output < panels_of(out); ++output) pack_output(l, output, panels, numbers);
  return FOVEA_OK;
}

int32_t fovea_fixed_linear_order() { return fovea::fixed::linear_order; }
