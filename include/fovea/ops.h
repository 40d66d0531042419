/* ops.h: what a transformer needs around attention and products: softmax, dot product, norms, activations,
 * embeddings, mean pooling, rotary embedding (RoPE), sums. C99 and C++, float32.
 * The rules of fovea.h hold: a call returns a status, a refused call writes nothing, no heap, no state,
 * and the same bits on each ISA with fused multiply-add.
 *
 *   fovea_softmax_rows s = {0};
 *   s.in = logits; s.out = probabilities; s.rows = 4; s.columns = 1000;
 *   int32_t status = fovea_softmax(&s);
 *
 *   fovea_matvec(weights, 0, x, 128, 64, FOVEA_ISA_BEST, y);
 *
 * No operation needs scratch. To split the work, hand each worker rows of its own. A stride of 0 means that
 * rows follow each other without a gap. An output may be an input itself, with the same stride, where a
 * comment says so; otherwise it overlaps none. docs/numerics.md specifies the arithmetic. */
#ifndef FOVEA_OPS_H
#define FOVEA_OPS_H
#include "fovea/fovea.h"
#include "fovea/linear.h" /* FOVEA_GELU and its kin */
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

/* Layer norm: out = (x - mean) / sqrt(variance + epsilon) * weight + bias, for each row x = in + residual.
 * RMS norm: out = x / sqrt(mean of squares + epsilon) * weight + bias. */
enum { FOVEA_LAYER_NORM = 0, FOVEA_RMS_NORM = 1 };
typedef struct fovea_norm_rows {
  const float *in;
  const float *residual;       /* added to in first; null = none */
  const float *weight, *bias;  /* [columns]; null = ones, zeros */
  float *out;                  /* may be in, residual or sum */
  float *sum;                  /* in + residual, for the next residual; null = not wanted. May be in or
                                * residual */
  ptrdiff_t in_stride, residual_stride, out_stride, sum_stride;
  int32_t rows, columns;       /* may be 0 */
  int32_t kind;                /* FOVEA_LAYER_NORM, FOVEA_RMS_NORM */
  int32_t weight_plus_one;     /* 1: the factor is 1 + weight, where a weight is given */
  float epsilon;               /* positive; 0 = 1e-5 */
  int32_t isa;                 /* 0 = the best of this machine; else exactly that one */
  int32_t reserved[4];
} fovea_norm_rows;

FOVEA_API int32_t fovea_norm(const fovea_norm_rows *n);

/* out = activation(in), by numbers: FOVEA_RELU, FOVEA_GELU, FOVEA_GELU_TANH or FOVEA_SILU of linear.h. */
typedef struct fovea_activation_rows {
  const float *in;
  float *out; /* may be in */
  ptrdiff_t in_stride, out_stride;
  int32_t rows, columns, activation;
  int32_t isa;
  int32_t reserved[4];
} fovea_activation_rows;

FOVEA_API int32_t fovea_activate(const fovea_activation_rows *a);

/* out[r] = a[r] + b[r]. out may be a or b. */
FOVEA_API int32_t fovea_add(const float *a, ptrdiff_t a_stride, const float *b, ptrdiff_t b_stride,
                            int32_t rows, int32_t columns, float *out, ptrdiff_t out_stride);

/* out[r] = sum over t of table[t][row of r], in the order of the tables: words, positions, types. */
typedef struct fovea_embedding_table {
  const float *data;    /* [size][columns]; null = no table */
  ptrdiff_t stride;
  const int32_t *index; /* [rows] which row of the table; null: first, first + step, first + 2 step, ... */
  int32_t size, first, step, reserved;
} fovea_embedding_table;
typedef struct fovea_embedding {
  fovea_embedding_table table[4];
  float *out; /* [rows][columns] */
  ptrdiff_t out_stride;
  int32_t rows, columns;
  int32_t reserved[4];
} fovea_embedding;

/* An index outside of its table is FOVEA_RANGE, and nothing was written. */
FOVEA_API int32_t fovea_embed(const fovea_embedding *e);

/* out[s] = mean of the first `lengths[s]` rows of sequence s; zeros where there is none. */
typedef struct fovea_pool_rows {
  const float *in;        /* [all tokens][columns] */
  float *out;             /* [sequences][columns] */
  ptrdiff_t in_stride, out_stride;
  const int32_t *starts;  /* [sequences + 1] row where a sequence begins, never falling; the last is where
                           * all end. null: each has `tokens` rows */
  const int32_t *lengths; /* [sequences]; null = all rows of a sequence */
  int32_t sequences, tokens, columns;
  int32_t isa;
  int32_t reserved[4];
} fovea_pool_rows;

FOVEA_API int32_t fovea_pool(const fovea_pool_rows *p);

/* Rotary embedding. Pair i of a head becomes (a cos - b sin, b cos + a sin), with row `position` of the
 * tables. A pair is numbers i and i + rotary_dim / 2 or, interleaved, 2 i and 2 i + 1. */
typedef struct fovea_rope {
  const float *cos, *sin; /* [positions][rotary_dim / 2] */
  int32_t positions;
  int32_t rotary_dim;     /* even; 0 = dim. Numbers of a head behind it stay as they are */
  int32_t interleaved, reserved;
} fovea_rope;
typedef struct fovea_rotation {
  fovea_rope rope;
  fovea_in in;              /* heads x tokens x dim */
  fovea_out out;            /* may be in with the same strides */
  const int32_t *positions; /* [tokens]; null: first_position and on */
  int32_t first_position;
  int32_t heads, tokens, dim;
  int32_t isa;
  int32_t reserved[4];
} fovea_rotation;

FOVEA_API int32_t fovea_rotate(const fovea_rotation *r);

/* Tables for positions first .. first + count - 1: angle = position * frequency, and frequency of pair i is
 * base^(-2i / rotary_dim), scaled. Computed in integers: the same bits on each machine, within 0.51 units in
 * the last place of 1 of the true value for positions up to 2^20, and within 2^-25 + position * 2^-50 for
 * all. (PyTorch rounds angles to float32, which is off by up to position * 6e-8.) */
enum {
  FOVEA_ROPE_DEFAULT = 0,
  FOVEA_ROPE_LINEAR = 1, /* frequencies divided by `factor` */
  FOVEA_ROPE_LLAMA3 = 2  /* only low ones; with a ramp between original_positions / wavelength =
                          * low_factor and high_factor */
};
typedef struct fovea_rope_frequencies {
  float base;                           /* 1 to 2^60; 0 = 10000 */
  int32_t rotary_dim;                   /* even, 2 to 1024 */
  int32_t scaling;
  float factor, low_factor, high_factor; /* 1 to 32768; 0 = 8 (LINEAR: 1), 1, 4 */
  int32_t original_positions;           /* up to 2^24; 0 = 8192 */
  int32_t reserved[5];
} fovea_rope_frequencies;

FOVEA_API int32_t fovea_rope_table(const fovea_rope_frequencies *f, int32_t first, int32_t count, float *cos,
                                   float *sin);

#ifdef __cplusplus
}
#endif
#endif
