// Floats become integers: the only float arithmetic of the integer path, in a file that integer-only firmware
// never links.
#include "common/build.hpp"

#include <cstring>

#include "f32/check.hpp"
#include "f32/kernel.hpp"
#include "fovea/fixed_quantize.h"

namespace fovea::fixed {
namespace {

// Numbers that a function reads or writes in addition to its rows.
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

// Rows that passed validation, with what every function needs of them.
struct rows_found {
  f32::float_rows in;
  f32::float_range range;
  int32_t place; // of the ISA that serves the call
};

float number_of(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
float high_of(const rows_found& x) { return number_of(static_cast<uint32_t>(x.range.high)); }
float low_of(const rows_found& x) { return 0 + number_of(x.range.low); } // never -0
float largest(const rows_found& x) { return high_of(x) > -low_of(x) ? high_of(x) : -low_of(x); }

int32_t check_finite(const fovea_float_rows& x, rows_found& found) {
  constexpr uint32_t infinity = 0x7f800000u, sign = 0x80000000u;
  found.place = f32::find_isa(FOVEA_ISA_BEST);
  if (found.place < 0) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  found.in = {x.data, x.stride ? x.stride : x.dim, x.dim, x.rows};
  f32::run_at(found.place, f32::range_job{found.in, &found.range});
  const bool finite = static_cast<uint32_t>(found.range.high) < infinity &&
                      found.range.low < (infinity | sign);
  return finite ? int32_t{FOVEA_OK} : refusal(FOVEA_NOT_FINITE, FOVEA_ARG_Q);
}

// What is written meets neither the rows nor other numbers; only rows that become rows of the same shape may
// do so in place.
template <size_t Count>
int32_t check(const fovea_float_rows* x, const numbers (&all)[Count], rows_found& found,
              bool in_place = false) {
  byte_range rows, bytes[Count];
  if (const int32_t s = check_float_rows(x, rows)) return s;
  for (size_t i = 0; i < Count; ++i) {
    if (const int32_t s = check_numbers(*x, all[i], bytes[i])) return s;
    if (all[i].written && !in_place && meet(rows, bytes[i])) return refusal(FOVEA_OVERLAP, all[i].argument);
    for (size_t j = 0; j < i; ++j)
      if ((all[i].written || all[j].written) && meet(bytes[i], bytes[j]))
        return refusal(FOVEA_OVERLAP, all[i].argument);
  }
  return check_finite(*x, found);
}

numbers written(const float* data, count of, int32_t argument) {
  return {data, sizeof(float), of, argument, true};
}

// Rows become rows of the same shape, in place if the caller likes, by numbers for each column.
int32_t check_by_columns(const fovea_float_rows* x, const float* columns, int32_t argument, const float* out,
                         rows_found& found) {
  const bool in_place = x && x->data == out && (x->stride == 0 || x->stride == x->dim || x->rows < 2);
  return check(x,
               {{columns, sizeof(float), count::per_column, argument, false},
                written(out, count::per_element, FOVEA_ARG_OUT)},
               found, in_place);
}

// Nearest, halves to even, by the magic number that pushes the fraction out; first clipped so that it works.
int32_t nearest(float x, float low, float high) {
  const float clipped = x < low ? low : x > high ? high : x, magic = 12582912.0f;
  volatile float pushed = clipped + magic;
  return static_cast<int32_t>(pushed - magic);
}

int32_t quantize(const fovea_float_rows* x, float scale, int32_t zero, int8_t* s8, int16_t* s16) {
  rows_found found;
  const void* out = s8 ? static_cast<const void*>(s8) : s16;
  const size_t element = s8 ? sizeof *s8 : sizeof *s16;
  if (const int32_t s = check(x, {{out, element, count::per_element, FOVEA_ARG_OUT, true}}, found)) return s;
  if (!is_finite(scale) || !(scale > 0)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  if (zero < -128 || zero > 127) return refusal(FOVEA_RANGE, FOVEA_ARG_OUT);
  f32::run_at(found.place, f32::quantize_job{found.in, scale, largest(found), zero, nullptr, s8, s16});
  return FOVEA_OK;
}

void by_columns(const rows_found& x, f32::columns_job::operation what, const float* columns, float* out) {
  f32::run_at(x.place, f32::columns_job{what, x.in, columns, out});
}

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_symmetric(const fovea_float_rows* x, int32_t dtype, float* scale) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  if (const int32_t s = check(x, {written(scale, count::one, FOVEA_ARG_OUT)}, found)) return s;
  if (dtype != FOVEA_FIXED_S8 && dtype != FOVEA_FIXED_S16) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  *scale = f32::scale_of(largest(found), dtype == FOVEA_FIXED_S8 ? 127.0f : 32767.0f);
  return FOVEA_OK;
}

int32_t fovea_fixed_asymmetric(const fovea_float_rows* x, float* scale, int32_t* zero_point) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  const numbers zero{zero_point, sizeof(int32_t), count::one, FOVEA_ARG_OUT, true};
  if (const int32_t s = check(x, {written(scale, count::one, FOVEA_ARG_OUT), zero}, found)) return s;
  const float low = low_of(found), high = high_of(found); // zero, which must be exact, is between them
  const float unit = high > low ? f32::normal_scale(high / 255 - low / 255) : 1;
  *scale = unit;
  *zero_point = nearest(-128 - low / unit, -128, 127);
  return FOVEA_OK;
}

int32_t fovea_fixed_quantize_s8(const fovea_float_rows* x, float scale, int32_t zero_point, int8_t* out) {
  return fovea::fixed::quantize(x, scale, zero_point, out, nullptr);
}
int32_t fovea_fixed_quantize_s16(const fovea_float_rows* x, float scale, int16_t* out) {
  return fovea::fixed::quantize(x, scale, 0, nullptr, out);
}

int32_t fovea_fixed_quantize_tokens(const fovea_float_rows* x, float* scales, int8_t* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  const numbers integers{out, 1, count::per_element, FOVEA_ARG_OUT, true};
  if (const int32_t s = check(x, {integers, written(scales, count::per_row, FOVEA_ARG_SCALE)}, found))
    return s;
  f32::run_at(found.place, f32::quantize_job{found.in, 0, 0, 0, scales, out, nullptr});
  return FOVEA_OK;
}

int32_t fovea_fixed_mean(const fovea_float_rows* x, float* mean) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  if (const int32_t s = check(x, {written(mean, count::per_column, FOVEA_ARG_OUT)}, found)) return s;
  for (int32_t c = 0; c < x->dim; ++c) mean[c] = 0;
  by_columns(found, f32::columns_job::means, nullptr, mean);
  return FOVEA_OK;
}

int32_t fovea_fixed_subtract(const fovea_float_rows* x, const float* mean, float* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  if (const int32_t s = check_by_columns(x, mean, FOVEA_ARG_K, out, found)) return s;
  by_columns(found, f32::columns_job::difference, mean, out);
  return FOVEA_OK;
}

int32_t fovea_fixed_channel_scales(const fovea_float_rows* keys, float* scales) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  if (const int32_t s = check(keys, {written(scales, count::per_column, FOVEA_ARG_OUT)}, found)) return s;
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = 0;
  by_columns(found, f32::columns_job::sizes, nullptr, scales);
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = scales[c] > 0 ? scales[c] : 1;
  return FOVEA_OK;
}

int32_t fovea_fixed_fold(const fovea_float_rows* x, const float* scales, int32_t divide, float* out) {
  using namespace fovea;
  using namespace fovea::fixed;
  rows_found found;
  if (const int32_t s = check_by_columns(x, scales, FOVEA_ARG_SCALE, out, found)) return s;
  for (int32_t c = 0; c < x->dim; ++c)
    if (!is_finite(scales[c]) || !(scales[c] > 0)) return refusal(FOVEA_RANGE, FOVEA_ARG_SCALE);
  by_columns(found, divide ? f32::columns_job::quotient : f32::columns_job::product, scales, out);
  return FOVEA_OK;
}
