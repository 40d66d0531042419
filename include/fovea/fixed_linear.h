/* fixed_linear.h: linear layers in integers, for microcontrollers. C99 and C++. The results are those of
 * TFLite's FullyConnected with int8 weights per channel, bit for bit, on each core.
 *
 *   s    = bias[o] + sum_c (x[r][c] - zero_x) w[o][c]
 *   y    = clamp(requantised(s, multiplier[o], shift[o]) + zero_out, low, high)
 *
 *   static int32_t packed[FOVEA_FIXED_LINEAR_BYTES(64, 10) / 4];    at start, or at build time for flash
 *   fovea_fixed_weights w = {weights, 0, bias, multipliers, shifts, zero_x, {0}};
 *   int32_t status = fovea_fixed_pack_linear(packed, sizeof packed, 64, 10, &w);
 *
 *   static unsigned char scratch[FOVEA_FIXED_LINEAR_SCRATCH(64, 1)];
 *   fovea_fixed_linear layer = {packed, 64, 10, zero_out, 0, 0, {0}};
 *   fovea_fixed_product p = {0};
 *   p.w = &layer; p.x = x; p.y = y; p.rows = 1;
 *   status = fovea_fixed_multiply(&p, scratch, sizeof scratch);
 *
 * The rules of fovea.h hold. No float instruction is executed. docs/fixed_point.md specifies the arithmetic;
 * fixed.hpp makes multipliers and shifts from real scales. */
#ifndef FOVEA_FIXED_LINEAR_H
#define FOVEA_FIXED_LINEAR_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

#define FOVEA_FIXED_LINEAR_MAX 65536 /* inputs, and outputs */

/* A layer as a converter leaves it. */
typedef struct fovea_fixed_weights {
  const int8_t *rows;         /* [out][in] */
  ptrdiff_t stride;           /* from row to row; 0 = in */
  const int32_t *bias;        /* [out] in steps of scale_x * scale_w[o]; null = zeros */
  const int32_t *multipliers; /* [out] 0 .. 2^31 - 1: scale_x * scale_w[o] / scale_y as */
  const int32_t *shifts;      /* [out] multiplier * 2^(shift - 31), -31 .. 30 */
  int32_t zero_x;             /* zero point of x, -128 .. 127 */
  int32_t reserved[3];
} fovea_fixed_weights;

typedef struct fovea_fixed_linear {
  const void *packed; /* as fovea_fixed_pack_linear wrote it; may be a const array in flash, aligned to 4 */
  int32_t in, out;
  int32_t zero_out;   /* zero point of y, -128 .. 127 */
  int32_t low, high;  /* y is clamped to low .. high; both 0 = -128 .. 127 */
  int32_t reserved[3];
} fovea_fixed_linear;

typedef struct fovea_fixed_product {
  const fovea_fixed_linear *w;
  const int8_t *x;              /* [rows][in] */
  int8_t *y;                    /* [rows][out] */
  ptrdiff_t x_stride, y_stride; /* 0 = contiguous */
  int32_t rows;                 /* may be 0 */
  fovea_part part;              /* of the rows, or of the outputs where rows are few */
  int32_t isa;                  /* FOVEA_FIXED_BEST, or exactly that one */
  int32_t reserved[3];
} fovea_fixed_product;

/* Packs a layer. Weights whose sums could reach 2^30 in size for some x, or do so when they are shifted left,
 * are refused. The bytes belong to machines with the same fovea_fixed_linear_order; others refuse them. */
FOVEA_API int32_t fovea_fixed_pack_linear(void *packed, size_t size, int32_t in, int32_t out,
                                          const fovea_fixed_weights *w);
FOVEA_API int32_t fovea_fixed_linear_order(void);

FOVEA_API int32_t fovea_fixed_multiply(const fovea_fixed_product *p, void *scratch, size_t scratch_size);
/* The bytes of scratch that the call makes use of; 0 if it is refused. */
FOVEA_API size_t fovea_fixed_multiply_scratch(const fovea_fixed_product *p);

/* As constant expressions. Scratch for one row suffices for any call; with `rows` of them, weights are read
 * once for so many rows. Microcontrollers take one row at a time. */
#define FOVEA_FIXED_LINEAR_BYTES(in, out) (64 + FOVEA_UP16(out) * (FOVEA_UP16(in) + 12))
#define FOVEA_FIXED_LINEAR_SCRATCH(in, rows) (64 + FOVEA_AS_SIZE(rows) * (4 * FOVEA_UP16(in) + 384))

#ifdef __cplusplus
}
#endif
#endif
