/* A vision transformer of integers: 8x8 pixels to a digit, without a float instruction, on each core from
 * Cortex-M0 to AVX-512 with the same bits. C99 and C++. Weights: digits_weights.h, by train.py. */
#ifndef DIGITS_H
#define DIGITS_H
#include "fovea/fixed_linear.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { digits_pixels = 64, digits_classes = 10 };

/* Packs the weights for this core: once, before all else. Returns a status of fovea. */
int32_t digits_begin(void);

/* Pixels 0 to 16, row by row. The digit, or -1 if digits_begin was not called; its logits if they are wanted
 * (null: not). isa: FOVEA_FIXED_BEST, or exactly that one. */
int32_t digits_classify(const uint8_t *pixels, int32_t isa, int8_t *logits);

#ifdef __cplusplus
}
#endif
#endif
