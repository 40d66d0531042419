/* ops.h: what stands beside attention, for callers who build their own layers. C99 and C++; float32; the rules of fovea.h hold:
 * status values, nothing written on a refusal, no heap, no state, and the same bits on every ISA with fused multiply-add.
 *
 *   fovea_softmax_rows s = {0};
 *   s.in = logits; s.out = probabilities; s.rows = 4; s.columns = 1000;
 *   int32_t status = fovea_softmax(&s);
 *
 *   fovea_matvec(weights, 0, x, 128, 64, FOVEA_ISA_BEST, y);
 *
 * No operation needs scratch. Work is split by handing each worker rows of its own. */
#ifndef FOVEA_OPS_H
#define FOVEA_OPS_H
#include "fovea/fovea.h"
#ifdef __cplusplus
extern "C" {
#endif

#define FOVEA_COLUMNS_MAX (1 << 30)

/* out[r][c] = softmax over c of softcap(scale * in[r][c]) + bias[r][c]; softcap(s) = cap * tanh(s / cap)
 * A column whose scaled input is -infinity, or that the mask hides, is not seen: it becomes 0. A row that sees nothing is zeros.
 * A seen NaN, and a seen scaled input of +infinity without softcap, makes its row NaN. */
typedef struct fovea_softmax_rows {
  const float *in;
  float *out;                       /* in itself, with the same stride; or memory that meets no input */
  ptrdiff_t in_stride, out_stride;  /* elements from row to row; 0 = columns. out_stride is at least columns */
  int32_t rows, columns;            /* 0 is allowed; columns up to FOVEA_COLUMNS_MAX */
  int32_t flags;                    /* FOVEA_SCALE: `scale` is given; else 1 */
  float scale, softcap;             /* scale may be 0 and negative; softcap 0 = off */
  int32_t isa;                      /* 0 = the best of this machine; else exactly that one */
  fovea_mask mask;                  /* query_stride: from row to row, 0 = one for all; keys: its columns; head_stride: 0 */
  float *lse;                       /* [rows] natural log of the sum of exponentials, -inf where nothing is seen; null = not wanted */
  int32_t reserved[4];
} fovea_softmax_rows;

FOVEA_API int32_t fovea_softmax(const fovea_softmax_rows *s);

/* out[0] = sum_c w[c] x[c]. For 0 columns 0. out meets neither w nor x. */
FOVEA_API int32_t fovea_dot(const float *w, const float *x, int32_t columns, int32_t isa, float *out);

/* out[r] = sum_c w[r][c] x[c], each with exactly the bits that fovea_dot gives. row_stride: elements, 0 = columns. */
FOVEA_API int32_t fovea_matvec(const float *w, ptrdiff_t row_stride, const float *x, int32_t rows, int32_t columns, int32_t isa,
                               float *out);

#ifdef __cplusplus
}
#endif
#endif
