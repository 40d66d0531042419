/* ops.h: softmax, dot product and matrix times vector, for layers around attention. C99 and C++, float32.
 * The rules of fovea.h hold: a call returns a status, a refused call writes nothing, no heap, no state,
 * and the same bits on each ISA with fused multiply-add.
 *
 *   fovea_softmax_rows s = {0};
 *   s.in = logits; s.out = probabilities; s.rows = 4; s.columns = 1000;
 *   int32_t status = fovea_softmax(&s);
 *
 *   fovea_matvec(weights, 0, x, 128, 64, FOVEA_ISA_BEST, y);
 *
 * No operation needs scratch. To split the work, hand each worker rows of its own. */
#ifndef FOVEA_OPS_H
#define FOVEA_OPS_H
#include "fovea/fovea.h"
#ifdef __cplusplus
extern "C" {
#endif

#define FOVEA_COLUMNS_MAX (1 << 30)

/* out[r][c] = softmax over c of softcap(scale * in[r][c]) + bias[r][c]; softcap(s) = cap * tanh(s / cap)
 * A column is not seen when its scaled input is -infinity or when the mask hides it; its output is 0. A row
 * that sees nothing is zeros. A row is NaN when it sees a NaN, or a scaled input of +infinity without
 * softcap. */
typedef struct fovea_softmax_rows {
  const float *in;
  float *out;                      /* `in` itself with the same stride, or memory that overlaps no input */
  ptrdiff_t in_stride, out_stride; /* from row to row; 0 = columns; out_stride is at least columns */
  int32_t rows, columns;           /* may be 0; columns up to FOVEA_COLUMNS_MAX */
  int32_t flags;                   /* FOVEA_SCALE: `scale` is given; else 1 */
  float scale, softcap;            /* scale may be 0 or negative; softcap 0 = off */
  int32_t isa;                     /* 0 = the best of this machine; else exactly that one */
  fovea_mask mask; /* query_stride: from row to row, 0 = one row for all; keys: its columns; head_stride: 0 */
  float *lse;      /* [rows] natural log of the sum of exponentials, -inf if nothing is seen; null = none */
  int32_t reserved[4];
} fovea_softmax_rows;

FOVEA_API int32_t fovea_softmax(const fovea_softmax_rows *s);

/* out[0] = sum_c w[c] x[c]; 0 for 0 columns. out overlaps neither w nor x. */
FOVEA_API int32_t fovea_dot(const float *w, const float *x, int32_t columns, int32_t isa, float *out);

/* out[r] = sum_c w[r][c] x[c], each with the bits of fovea_dot. row_stride in elements, 0 = columns. */
FOVEA_API int32_t fovea_matvec(const float *w, ptrdiff_t row_stride, const float *x, int32_t rows,
                               int32_t columns, int32_t isa, float *out);

#ifdef __cplusplus
}
#endif
#endif
