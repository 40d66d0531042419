/* fixed_quantize.h: from floats to the integers of fixed.h, on the host or on a device with an FPU. C99
 * and C++. real = scale * (integer - zero point). Rounding is to nearest, halves to even. Values out of
 * range are clipped. NaN and infinity are refused. */
#ifndef FOVEA_FIXED_QUANTIZE_H
#define FOVEA_FIXED_QUANTIZE_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* rows x dim floats; stride 0 = dim. A tensor, a head or a single token differ only in the number of rows.
 * Memory that is written must not overlap the rest of the call, but where a comment allows x itself. */
typedef struct fovea_float_rows {
  const float *data;
  ptrdiff_t stride;
  int32_t rows, dim;
} fovea_float_rows;

/* The scale that uses the whole range of dtype: symmetric, or with a zero point for values that lie to one
 * side (S8). Rows of zeros give 1. A scale is never below the least normal float. */
FOVEA_API int32_t fovea_fixed_symmetric(const fovea_float_rows *x, int32_t dtype, float *scale);
FOVEA_API int32_t fovea_fixed_asymmetric(const fovea_float_rows *x, float *scale, int32_t *zero_point);

FOVEA_API int32_t fovea_fixed_quantize_s8(const fovea_float_rows *x, float scale, int32_t zero_point,
                                          int8_t *out);
FOVEA_API int32_t fovea_fixed_quantize_s16(const fovea_float_rows *x, float scale, int16_t *out);
/* Each row by a scale of its own: scales[rows]. */
FOVEA_API int32_t fovea_fixed_quantize_tokens(const fovea_float_rows *x, float *scales, int8_t *out);

/* The mean key. Subtracting it from all keys before they are quantised does not change the softmax, and
 * gains 5 dB where channels have an offset. `out` may be x itself. */
FOVEA_API int32_t fovea_fixed_mean(const fovea_float_rows *x, float *mean);
FOVEA_API int32_t fovea_fixed_subtract(const fovea_float_rows *x, const float *mean, float *out);
/* Channel scales: keys are divided by them and queries multiplied, so that all channels of K have the same
 * range. `out` may be x itself. divide: 1 for keys, 0 for queries. */
FOVEA_API int32_t fovea_fixed_channel_scales(const fovea_float_rows *keys, float *scales);
FOVEA_API int32_t fovea_fixed_fold(const fovea_float_rows *x, const float *scales, int32_t divide,
                                   float *out);

#ifdef __cplusplus
}
#endif
#endif
