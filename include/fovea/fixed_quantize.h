/* fixed_quantize.h: from floats to the integers of fixed.h, on the host or on a device with an FPU. C99 and C++.
 * real = scale * (integer - zero point). Rounding is to nearest, halves to even; what does not fit is clipped; NaN is refused. */
#ifndef FOVEA_FIXED_QUANTIZE_H
#define FOVEA_FIXED_QUANTIZE_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* What is written overlaps nothing else of the call; where it is said, rows may be replaced in place.
 * rows x dim floats; stride 0 = dim. A tensor, a head or a single token is just the number of rows. */
typedef struct fovea_float_rows {
  const float *data;
  ptrdiff_t stride;
  int32_t rows, dim;
} fovea_float_rows;

/* The scale that uses the whole range of dtype: symmetric, or with a zero point when the values lie to one side. Rows of zeros: 1.
 * A scale is never less than the least normal float. */
FOVEA_API int32_t fovea_fixed_symmetric(const fovea_float_rows *x, int32_t dtype, float *scale);
FOVEA_API int32_t fovea_fixed_asymmetric(const fovea_float_rows *x, float *scale, int32_t *zero_point); /* S8 */

FOVEA_API int32_t fovea_fixed_quantize_s8(const fovea_float_rows *x, float scale, int32_t zero_point, int8_t *out);
FOVEA_API int32_t fovea_fixed_quantize_s16(const fovea_float_rows *x, float scale, int16_t *out);
/* Each row by a scale of its own: scales[rows]. */
FOVEA_API int32_t fovea_fixed_quantize_tokens(const fovea_float_rows *x, float *scales, int8_t *out);

/* The mean key, which softmax does not notice: subtract it from all keys before quantising, 5 dB where channels have an offset. */
FOVEA_API int32_t fovea_fixed_mean(const fovea_float_rows *x, float *mean);
FOVEA_API int32_t fovea_fixed_subtract(const fovea_float_rows *x, const float *mean, float *out); /* out may be x itself */
/* Channel scales: keys are divided by them and queries multiplied, so that no channel of K is wider than another. */
FOVEA_API int32_t fovea_fixed_channel_scales(const fovea_float_rows *keys, float *scales);
FOVEA_API int32_t fovea_fixed_fold(const fovea_float_rows *x, const float *scales, int32_t divide, float *out); /* out may be x itself */

#ifdef __cplusplus
}
#endif
#endif
