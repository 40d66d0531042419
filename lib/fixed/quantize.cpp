// Floats become integers: the only float arithmetic of the integer path, in a file that integer-only firmware never links.
#include "build.hpp"

#include <cstring>

#include "fovea/fixed_quantize.h"

namespace fovea {
namespace {

constexpr int32_t blame(int32_t reason, int32_t argument) { return reason | argument << 8; }

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

int32_t check(const fovea_float_rows* x, const void* out) {
  if (!x) return blame(FOVEA_NULL, FOVEA_ARG_CALL);
  if (x->rows < 0 || x->dim < 1) return blame(FOVEA_SIZE, FOVEA_ARG_DIM);
  if (x->stride < 0) return blame(FOVEA_STRIDE, FOVEA_ARG_Q);
  if (x->rows && !x->data) return blame(FOVEA_NULL, FOVEA_ARG_Q);
  if (!out) return blame(FOVEA_NULL, FOVEA_ARG_OUT);
  bool finite = true;
  each(*x, [&](int32_t, int32_t, float value) { finite = finite && is_finite(value); });
  return finite ? int32_t{FOVEA_OK} : blame(FOVEA_NOT_FINITE, FOVEA_ARG_Q);
}

float largest(const fovea_float_rows& x) {
  float size = 0;
  each(x, [&](int32_t, int32_t, float value) { size = size_of(value) > size ? size_of(value) : size; });
  return size;
}

// Nearest, halves to even, by the magic number that pushes the fraction out; first clipped so that it works.
int32_t nearest(float x, float low, float high) {
  const float clipped = x < low ? low : x > high ? high : x, magic = 12582912.0f;
  volatile float pushed = clipped + magic;
  return static_cast<int32_t>(pushed - magic);
}

template <class T>
int32_t quantize(const fovea_float_rows* x, float scale, int32_t zero, T* out) {
  if (const int32_t s = check(x, out)) return s;
  if (!is_finite(scale) || !(scale > 0)) return blame(FOVEA_RANGE, FOVEA_ARG_SCALE);
  constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
  if (zero < low || zero > high) return blame(FOVEA_RANGE, FOVEA_ARG_OUT);
  each(*x, [&](int32_t r, int32_t c, float value) {
    const int32_t y = nearest(value / scale, static_cast<float>(low - zero), static_cast<float>(high - zero)) + zero;
    out[static_cast<ptrdiff_t>(r) * x->dim + c] = static_cast<T>(y);
  });
  return FOVEA_OK;
}

} // namespace
} // namespace fovea

int32_t fovea_fixed_symmetric(const fovea_float_rows* x, int32_t dtype, float* scale) {
  using namespace fovea;
  if (const int32_t s = check(x, scale)) return s;
  if (dtype != FOVEA_FIXED_S8 && dtype != FOVEA_FIXED_S16) return blame(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT);
  const float size = largest(*x);
  *scale = size > 0 ? size / (dtype == FOVEA_FIXED_S8 ? 127.0f : 32767.0f) : 1;
  return FOVEA_OK;
}

int32_t fovea_fixed_asymmetric(const fovea_float_rows* x, float* scale, int32_t* zero_point) {
  using namespace fovea;
  if (const int32_t s = check(x, scale)) return s;
  if (!zero_point) return blame(FOVEA_NULL, FOVEA_ARG_OUT);
  float low = 0, high = 0; // zero itself must be exact
  each(*x, [&](int32_t, int32_t, float value) {
    low = value < low ? value : low;
    high = value > high ? value : high;
  });
  const float unit = high > low ? high / 255 - low / 255 : 1;
  *scale = unit;
  *zero_point = nearest(-128 - low / unit, -128, 127);
  return FOVEA_OK;
}

int32_t fovea_fixed_quantize_s8(const fovea_float_rows* x, float scale, int32_t zero_point, int8_t* out) {
  return fovea::quantize(x, scale, zero_point, out);
}
int32_t fovea_fixed_quantize_s16(const fovea_float_rows* x, float scale, int16_t* out) { return fovea::quantize(x, scale, 0, out); }

int32_t fovea_fixed_quantize_tokens(const fovea_float_rows* x, float* scales, int8_t* out) {
  using namespace fovea;
  if (const int32_t s = check(x, out)) return s;
  if (!scales) return blame(FOVEA_NULL, FOVEA_ARG_SCALE);
  for (int32_t r = 0; r < x->rows; ++r) {
    const fovea_float_rows row = {x->data + r * (x->stride ? x->stride : x->dim), 0, 1, x->dim};
    const float size = largest(row);
    scales[r] = size > 0 ? size / 127 : 1;
    if (const int32_t s = quantize(&row, scales[r], 0, out + static_cast<ptrdiff_t>(r) * x->dim)) return s;
  }
  return FOVEA_OK;
}

int32_t fovea_fixed_mean(const fovea_float_rows* x, float* mean) {
  using namespace fovea;
  if (const int32_t s = check(x, mean)) return s;
  for (int32_t c = 0; c < x->dim; ++c) mean[c] = 0;
  each(*x, [&](int32_t, int32_t c, float value) { mean[c] += value / static_cast<float>(x->rows); });
  return FOVEA_OK;
}

int32_t fovea_fixed_subtract(const fovea_float_rows* x, const float* mean, float* out) {
  using namespace fovea;
  if (const int32_t s = check(x, out)) return s;
  if (!mean) return blame(FOVEA_NULL, FOVEA_ARG_K);
  each(*x, [&](int32_t r, int32_t c, float value) { out[static_cast<ptrdiff_t>(r) * x->dim + c] = value - mean[c]; });
  return FOVEA_OK;
}

int32_t fovea_fixed_channel_scales(const fovea_float_rows* keys, float* scales) {
  using namespace fovea;
  if (const int32_t s = check(keys, scales)) return s;
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = 0;
  each(*keys, [&](int32_t, int32_t c, float value) { scales[c] = size_of(value) > scales[c] ? size_of(value) : scales[c]; });
  for (int32_t c = 0; c < keys->dim; ++c) scales[c] = scales[c] > 0 ? scales[c] : 1;
  return FOVEA_OK;
}

int32_t fovea_fixed_fold(const fovea_float_rows* x, const float* scales, int32_t divide, float* out) {
  using namespace fovea;
  if (const int32_t s = check(x, out)) return s;
  if (!scales) return blame(FOVEA_NULL, FOVEA_ARG_SCALE);
  for (int32_t c = 0; c < x->dim; ++c)
    if (!is_finite(scales[c]) || !(scales[c] > 0)) return blame(FOVEA_RANGE, FOVEA_ARG_SCALE);
  each(*x, [&](int32_t r, int32_t c, float value) {
    out[static_cast<ptrdiff_t>(r) * x->dim + c] = divide ? value / scales[c] : value * scales[c];
  });
  return FOVEA_OK;
}
