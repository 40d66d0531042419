/* linear.h: products with weights that are packed once. C99 and C++.
 *
 *   y[r][o] = activation(sum_k x[r][k] w[o][k] + bias[o]) + residual[r][o]
 *
 *   static float packed[FOVEA_LINEAR_BYTES(384, 1536, FOVEA_F32) / sizeof(float)];
 *   fovea_rows_in rows = {weights, 0, FOVEA_F32, 0};        // [1536][384], as PyTorch stores them
 *   fovea_pack_linear(packed, sizeof packed, 384, 1536, FOVEA_F32, 0, &rows, 1536);
 *
 *   fovea_linear up = {packed, bias, 384, 1536, FOVEA_F32};
 *   fovea_product p = {0};
 *   p.w = &up; p.x.data = x; p.y.data = y; p.rows = 128; p.activation = FOVEA_GELU;
 *   int32_t status = fovea_multiply(&p, NULL, 0);
 *
 * The rules of fovea.h hold: zero is the default, a call returns a status, a refused call writes nothing, no
 * heap, no state. Float weights have the same bits on each ISA with fused multiply-add, and with any weights
 * the bits of a row depend on neither the other rows, the part nor the scratch. */
#ifndef FOVEA_LINEAR_H
#define FOVEA_LINEAR_H
#include "fovea/fovea.h"
#ifdef __cplusplus
extern "C" {
#endif

/* dtype of packed weights: FOVEA_F32, FOVEA_F16, FOVEA_BF16; FOVEA_I8: a scale for each output, and rows of x
 * are quantised on the way; FOVEA_I4: groups of 32 inputs with a float16 scale, as in blocks of Q4_0. */

/* activation. FOVEA_GELU: x (1 + erf(x / sqrt(2))) / 2. FOVEA_GELU_TANH: its form with tanh. FOVEA_SILU:
 * x / (1 + e^-x). FOVEA_SILU_TIMES: silu(first half of the outputs) * second half, so y has out / 2
 * columns. */
enum {
  FOVEA_NO_ACTIVATION = 0, FOVEA_RELU, FOVEA_GELU, FOVEA_GELU_TANH, FOVEA_SILU, FOVEA_SILU_TIMES,
  FOVEA_ACTIVATION_END
};

#define FOVEA_LINEAR_MAX (1 << 20) /* inputs, and outputs; FOVEA_I8 takes up to 65,536 inputs */

/* order of packed FOVEA_I8. FOVEA_LINEAR_SMLAD: what Cortex-M4, M7 and M33 multiply in three instructions for
 * four products; all other cores refuse it. */
enum { FOVEA_LINEAR_AS_PACKED = 0, FOVEA_LINEAR_SMLAD = 3 };

/* rows x columns. The elements of a row are contiguous. stride: elements from row to row, 0 = columns. */
typedef struct fovea_rows_in {
  const void *data;
  ptrdiff_t stride;
  int32_t dtype, reserved;
} fovea_rows_in;

typedef struct fovea_rows_out {
  void *data;
  ptrdiff_t stride; /* at least the columns */
  int32_t dtype, reserved;
} fovea_rows_out;

/* Weights and what belongs to them: constant, and shared by all calls and threads. */
typedef struct fovea_linear {
  const void *packed; /* as fovea_pack_linear wrote it; may be a const array in flash */
  const float *bias;  /* [out]; null = none */
  int32_t in, out, dtype;
  int32_t reserved[2];
  int32_t order; /* FOVEA_LINEAR_AS_PACKED, or FOVEA_LINEAR_SMLAD of fovea_arrange_linear */
} fovea_linear;

typedef struct fovea_product {
  const fovea_linear *w;
  fovea_rows_in x;        /* [rows][in], float32 */
  fovea_rows_out y;       /* [rows][out], float32; its byte range, first to last element, meets
                           * no input but `residual` */
  fovea_rows_in residual; /* [rows][out], float32, added last; null = none. It may be y itself, with the same
                           * stride. FOVEA_SILU_TIMES takes none */
  int32_t rows;           /* may be 0 */
  int32_t activation;
  fovea_part part;   /* of the rows, or of the outputs where rows are few. Parts may run in any order and at
                      * the same time, each with scratch of its own; with a residual in y, each part runs
                      * exactly once */
  int32_t isa;       /* FOVEA_ISA_BEST, or exactly that one */
  int32_t fixed_isa; /* of products of integers: FOVEA_FIXED_BEST of fixed.h, or exactly that one */
  int32_t reserved[4];
} fovea_product;

/* Bytes of packed weights, 0 if they are refused. FOVEA_LINEAR_BYTES is the same as a constant expression,
 * for sizes that are not refused. */
FOVEA_API size_t fovea_linear_size(int32_t in, int32_t out, int32_t dtype);

/* Writes the weights of outputs at .. at + rows - 1 into `packed`, which holds `size` bytes for `in` x `out`
 * weights and is aligned to 4 bytes (64 is a little faster). Rows of w have `in` columns of FOVEA_F32,
 * FOVEA_F16 or FOVEA_BF16, in any order of calls: so W_Q, W_K and W_V become one product. For FOVEA_I4 they
 * may also be blocks of Q4_0, given as FOVEA_I4 with a stride in elements.
 * Each output has to be packed once; other outputs keep their weights. The bytes depend on the numbers only,
 * not on the ISA or the order of calls, and hold no address: a file or a const array may keep them for any
 * machine with the same byte order; packed integers for those with the same fovea_fixed_panel_order, too.
 * Narrower floats are rounded to nearest even; what leaves their range becomes infinite. Numbers that are
 * not finite are refused for integers. */
FOVEA_API int32_t fovea_pack_linear(void *packed, size_t size, int32_t in, int32_t out, int32_t dtype,
                                    int32_t at, const fovea_rows_in *w, int32_t rows);

/* Writes packed weights of FOVEA_I8 in the order FOVEA_LINEAR_SMLAD into `to`: as many bytes, aligned to 4,
 * apart from w->packed. Results have the same bits in either order. It runs on all cores whose
 * fovea_fixed_panel_order is 1, so a computer makes the array for a board's flash. */
FOVEA_API int32_t fovea_arrange_linear(void *to, size_t size, const fovea_linear *w);

FOVEA_API int32_t fovea_multiply(const fovea_product *p, void *scratch, size_t scratch_size);
/* The status that fovea_multiply would return with enough scratch. */
FOVEA_API int32_t fovea_check_product(const fovea_product *p);
/* The bytes of scratch that the call makes use of; 0 if it needs none or is refused. */
FOVEA_API size_t fovea_multiply_scratch(const fovea_product *p);

/* Float weights need no scratch: it may be null. Integer weights keep quantised rows there, any number of
 * them at a time: FOVEA_MULTIPLY_SCRATCH(in, 1, dtype) suffices for any call, and with `rows` of them the
 * weights are read once for so many rows. */
#define FOVEA_MULTIPLY_SCRATCH(in, rows, dtype) \
  (64 + ((dtype) + 0 == FOVEA_I8 || (dtype) + 0 == FOVEA_I4 ? FOVEA_AS_SIZE(rows) * FOVEA_LINEAR_ROW(in) : 0))
/* Of quantised rows, as any ISA multiplies them, with scales and sums. */
#define FOVEA_LINEAR_ROW(in) ((FOVEA_AS_SIZE(in) + 63) / 64 * 384 + 1088)

/* Blocks of 16 outputs. Floats: [in][16]. FOVEA_I8: numbers, then a scale for each output. FOVEA_I4: for each
 * group of 32 inputs a scale for each output, then for each group 16 bytes for each output. */
#define FOVEA_LINEAR_BYTES(in, out, dtype)                                                              \
  (FOVEA_UP16(out) * ((dtype) + 0 == FOVEA_F32   ? 4 * FOVEA_AS_SIZE(in)                                \
                      : (dtype) + 0 == FOVEA_F16 || (dtype) + 0 == FOVEA_BF16 ? 2 * FOVEA_AS_SIZE(in)   \
                      : (dtype) + 0 == FOVEA_I8  ? (FOVEA_AS_SIZE(in) + 15) / 16 * 16 + 4               \
                      : (dtype) + 0 == FOVEA_I4  ? (FOVEA_AS_SIZE(in) + 31) / 32 * 18 : 0))

#ifdef __cplusplus
}
#endif
#endif
