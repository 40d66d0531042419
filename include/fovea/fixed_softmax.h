/* fixed_softmax.h: softmax of rows of integers, in integers. C99 and C++. The accurate functions give
 * probabilities of 16 bits, and exactly 0 for a masked key. The compatible ones give the bits of TFLite's
 * kernels, for graphs that must match a converter. In all of them `out` may be x itself if both have
 * elements of the same size; any other overlap is refused. */
#ifndef FOVEA_FIXED_SOFTMAX_H
#define FOVEA_FIXED_SOFTMAX_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Accurate: out[i] = 2^t_i / sum 2^t in units of 1/65536, with octaves t_i = (x[i] * multiplier) >> shift
 * in Q16; multiplier and shift as in fovea_fixed_scale. 1 is written as 65535. mask: nonzero = counts,
 * null = all count. An element that does not count is 0; if none counts, all are 0. count is at most
 * 65536. */
FOVEA_API int32_t fovea_fixed_softmax_s8(const int8_t *x, const uint8_t *mask, int32_t count,
                                         int32_t multiplier, int32_t shift, uint16_t *out);
FOVEA_API int32_t fovea_fixed_softmax_s16(const int16_t *x, const uint8_t *mask, int32_t count,
                                          int32_t multiplier, int32_t shift, uint16_t *out);

/* TFLite's int8 softmax, with multiplier, left_shift and diff_min as its converter computes them
 * (fixed_softmax.hpp). count is at most 8191. */
typedef struct fovea_tflite_softmax {
  int32_t multiplier, left_shift, diff_min;
} fovea_tflite_softmax;
FOVEA_API int32_t fovea_tflite_softmax_s8(const int8_t *x, int32_t count, const fovea_tflite_softmax *scale,
                                          int8_t *out);
FOVEA_API int32_t fovea_tflite_softmax_s8_s16(const int8_t *x, int32_t count,
                                              const fovea_tflite_softmax *scale, int16_t *out);

/* TFLite's int16 softmax. Tables of 513 numbers: of e^x on [-10, 0] and of 1 / (1 + x) on [0, 1];
 * fixed_softmax.hpp makes them. multiplier and shift are those of scale * beta / (10 / 65535); shift may be
 * negative. */
typedef struct fovea_tflite_softmax_tables {
  const int16_t *exp, *one_over_one_plus;
  int32_t multiplier, shift;
} fovea_tflite_softmax_tables;
FOVEA_API int32_t fovea_tflite_softmax_s16(const int16_t *x, int32_t count,
                                           const fovea_tflite_softmax_tables *tables, int16_t *out);

#ifdef __cplusplus
}
#endif
#endif
