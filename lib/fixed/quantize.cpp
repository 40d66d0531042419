// Floats become integers: the only float arithmetic of the integer path, in a file that integer-only firmware
// never links.
#include "common/build.hpp"

#include <cstring>

#include "common/validate.hpp"
#include "fovea/fixed_quantize.h"

namespace fovea::fixed {
namespace {

// By bits: compilers may assume away a comparison with itself.
bool is_finite(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return (bits & 0x7f800000u) != 0x7f800000u;
}

float size_of(float x) { return x < 0 ? -x : x; }

template <class F>
void each(const fovea_float_rows& x, F f) {
  const ptrdiff_t stride = x.stride ? x.stride : x.dim;
  for (int32_t r = 0; r < x.rows; ++r)
    for (int32_t c = 0; c < x.dim; ++c) f(r, c, x.data[r * stride + c]);
}

// Numbers that a function reads or writes beside its rows.
enum class count { one, per_row, per_column, per_element };
struct numbers {
  const void* data;
  size_t element;
  count of;
  int32_t argument;
  bool written;
};

int32_t check_numbers(const fovea_float_rows& x, const numbers& n, byte_range& bytes) {
  if (!n.data) return refusal(FOVEA_NULL, n.argument);
  if (reinterpret_cast<uintptr_t>(n.data) % n.element) return refusal(FOVEA_ALIGN, n.argument);
  const bool rows = n.of == count::per_row || n.of == count::per_element;
  const bool columns = n.of == count::per_column || n.of == count::per_element;
  const int32_t width = columns ? x.dim : 1;
  size_t size;
  const bool fits = bytes_of({1, rows ? x.rows : 1, 0, width, width}, n.element, size) &&
                    range_of(n.data, size, bytes);
  return fits ? int32_t{FOVEA_OK} : refusal(FOVEA_OVERFLOW, n.argument);
}

int32_t check_float_rows(const fovea_float_rows* x, byte_range& bytes) {
  if (!x) return refusal(FOVEA_NULL, FOVEA_ARG_CALL);
  if (x->rows < 0 || x->dim < 1) return refusal(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (x->stride < 0) return refusal(FOVEA_STRIDE, FOVEA_ARG_Q);
  if (x->rows && !x->data) return refusal(FOVEA_NULL, FOVEA_ARG_Q);
  if (reinterpret_cast<uintptr_t>(x->data) % alignof(float)) return refusal(FOVEA_ALIGN, FOVEA_ARG_Q);
  size_t size;
  const extent e{1, x->rows, 0, x->stride ? x->stride : x->dim, x->dim};
  return bytes_of(e, sizeof(float), size) && range_of(x->data, size, bytes)
             ? int32_t{FOVEA_OK}
             : refusal(FOVEA_OVERFLOW, FOVEA_ARG_Q);
}

int32_t check_finite(const fovea_float_rows& x) {
  bool finite = true;
  each(x, [&](int32_t, int32_t, float value) { finite = finite && is_finite(value); });
  return finite ? int32_t{FOVEA_OK} : refusal(FOVEA_NOT_FINITE, FOVEA_ARG_Q);
}

// What is written meets neither the rows nor other numbers; only rows that become rows of the same shape may
// do so in place.
template <size_t Count>
int32_t check(const fovea_float_rows* x, const numbers (&all)[Count], bool in_place = false) {
  byte_range rows, bytes[Count];
  if (const int32_t s = check_float_rows(x, rows)) return s;
  for (size_t i = 0; i < Count; ++i) {
    if (const int32_t s = check_numbers(*x, all[i], bytes[i])) return s;
    if (all[i].written && !in_place && meet(rows, bytes[i])) return refusal(FOVEA_OVERLAP, all[i].argument);
    for (size_t j = 0; j < i; ++j)
      if ((all[i].written || all[j].written) && meet(bytes[i], bytes[j]))
        return refusal(FOVEA_OVERLAP, all[i].argument);
  }
  return check_finite(*x);
}

numbers written(const float* data, count of, int32_t argument) {
  return {data, sizeof(float), of, argument, true};
}

// Rows become rows of the same shape, in place if the caller likes, by numbers for each column.
int32_t check_by_columns(const fovea_float_rows* x, const float* columns, int32_t argument,
                         const float* out) {
  const bool in_place = x && x->data == out && (x->stride == 0 || x->stride == x->dim);
  return check(x,
               {{columns, sizeof(float), count::per_column, argument, false},
                written(out, count::per_element, FOVEA_ARG_OUT)},
               in_place);
}

float largest(const fovea_float_rows& x) {
  float size = 0;
  each(x, [&](int32_t, int32_t, float value) { size = size_of(value) > size ? size_of(value) : size; });
  return size;
}

// A scale is a normal float: values too small for one become 0.
float not_denormal(float scale) { return scale < 1.17549435e-38f ? 1.17549435e-38f : scale; }
float scale_of(float size, float steps) { return size > 0 ? not_denormal(size / steps) : 1; }

// Nearest, halves to even, by the magic number that pushes the fraction out; first clipped so that it works.
int32_t nearest(float x, float low, float high) {
  const float clipped = x < low ? low : x > high ? high : x, magic = 12582912.0f;
  volatile float pushed = clipped + magic;
  return static_cast<int32_t>(pushed - magic);
}

template <class T>
void quantize_rows(const fovea_float_rows& x, float scale, int32_t zero, T* out) {
  constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
  each(x, [&](int32_t r, int32_t c, float value) {
    const int32_t y = nearest(value / scale, static_cast<float>(low - zero),
                              static_cast<float>(high - zero)) +
                      zero;
    out[static_cast<ptrdiff_t>(r) * x.dim + c] = static_cast<T>(y);
  });
}

template <class T>
int32_t quantize(const fovea_float_rows* x, float scale, int32_t zero, T* out) {
  if (const int32_t s = check(x, {{out, sizeof(T), count::per_element, FOVEA_ARG_OUT, true}})) return s;
  if (!is_finite(scale) || !(scale > 0)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
  if (zero < low || zero > high) return refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
  quantize_rows(*x, scale, zero, out);
  return FOVEA_OK;
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_symmetric(const fovea_float_rows* x, int32_t dtype, float* scale) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check(x, {written(scale, count::one, FOVEA_ARG_OUT)})) return s;
  if (dtype != FOVEA_FIXED_S8 && dtype != FOVEA_FIXED_S16) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  const float size = largest(*x);
  *scale = scale_of(size, dtype == FOVEA_FIXED_S8 ? 127.0f : 32767.0f);
  return FOVEA_OK;
}

int32_t fovea_fixed_asymmetric(const fovea_float_rows* x, float* scale, int32_t* zero_point) {
  using namespace fovea;
  using namespace fovea::fixed;
  const numbers zero{zero_point, sizeof(int32_t), count::one, FOVEA_ARG_OUT, true};
  if (const int32_t s = check(x, {written(scale, count::one, FOVEA_ARG_OUT), zero})) return s;
  float low = 0, high = 0; // zero itself must be exact
  each(*x, [&](int32_t, int32_t, float value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  });
  const float unit = high > low ? not_denormal(high / 255 - low / 255) : 1;
  *scale = unit;
  *zero_point = nearest(-128 - low / unit, -128, 127);
  return FOVEA_OK;
}

int32_t fovea_fixed_quantize_s8(const fovea_float_rows* x, float scale, int32_t zero_point, int8_t* out) {
  return fovea::fixed::quantize(x, scale, zero_point, out);
}
int32_t fovea_fixed_quantize_s16(const fovea_float_rows* x, float scale, int16_t* out) {
  return fovea::fixed::quantize(x, scale, 0, out);
}

int32_t fovea_fixed_quantize_tokens(const fovea_float_rows* x, float* scales, int8_t* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  const numbers integers{out, 1, count::per_element, FOVEA_ARG_OUT, true};
  if (const int32_t s = check(x, {integers, written(scales, count::per_row, FOVEA_ARG_SCALE)})) return s;
  for (int32_t r = 0; r < x->rows; ++r) {
    const fovea_float_rows row = {x->data + r * (x->stride ? x->stride : x->dim), 0, 1, x->dim};
    const float size = largest(row);
    scales[r] = scale_of(size, 127);
    quantize_rows(row, scales[r], 0, out + static_cast<ptrdiff_t>(r) * x->dim);
  }
  return FOVEA_OK;
}

int32_t fovea_fixed_mean(const fovea_float_rows* x, float* mean) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check(x, {written(mean, count::per_column, FOVEA_ARG_OUT)})) return s;
  for (int32_t c = 0; c < x->dim; ++c) mean[c] = 0;
  each(*x, [&](int32_t, int32_t c, float value) { mean[c] += value / static_cast<float>(x->rows); });
  return FOVEA_OK;
}

int32_t fovea_fixed_subtract(const fovea_float_rows* x, const float* mean, float* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check_by_columns(x, mean, FOVEA_ARG_K, out)) return s;
  each(*x, [&](int32_t r, int32_t c, float value) {
    out[static_cast<ptrdiff_t>(r) * x->dim + c] = value - mean[c];
  });
  return FOVEA_OK;
}

int32_t fovea_fixed_channel_scales(const fovea_float_rows* keys, float* scales) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check(keys, {written(scales, count::per_column, FOVEA_ARG_OUT)})) return s;
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = 0;
  each(*keys, [&](int32_t, int32_t c, float value) {
    scales[c] = size_of(value) > scales[c] ? size_of(value) : scales[c];
  });
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = scales[c] > 0 ? scales[c] : 1;
  return FOVEA_OK;
}

int32_t fovea_fixed_fold(const fovea_float_rows* x, const float* scales, int32_t divide, float* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  if (const int32_t s = check_by_columns(x, scales, FOVEA_ARG_SCALE, out)) return s;
  for (int32_t c = 0; c < x->dim; ++c)
    if (!is_finite(scales[c]) || !(scales[c] > 0)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  each(*x, [&](int32_t r, int32_t c, float value) {
    out[static_cast<ptrdiff_t>(r) * x->dim + c] = divide ? value / scales[c] : value * scales[c];
  });
  return FOVEA_OK;
}
