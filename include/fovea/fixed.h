/* fixed.h: attention in integers, for int8 and Q15, with the same bits on each core from Cortex-M0 to
 * AVX-512. C99 and C++.
 *
 *   s_j = sum_c (q_c - zero_q) (k_jc - zero_k)
 *   t_j = (s_j * score_multiplier) >> score_shift              base-2 logits ("octaves") in Q16
 *   out = zero_out + scale_v / scale_out * sum_j 2^t_j (v_j - zero_v) / sum_j 2^t_j
 *
 *   static unsigned char scratch[FOVEA_FIXED_SCRATCH(64, 64)];
 *   fovea_fixed_attention a = {0};
 *   a.q.data = q; a.k.data = keys; a.v.data = values; a.out.data = out;
 *   a.k.layout = a.v.layout = FOVEA_PANELS;                     as the pack functions write them
 *   a.q_heads = 4; a.dim = 64; a.queries = 1; a.keys = 128;
 *   a.scale = scale;                                            fixed.hpp makes it from the real scales
 *   int32_t status = fovea_fixed_attend(&a, scratch, sizeof scratch);
 *
 * The rules of fovea.h hold: zero is the default that the field's comment names, a call returns a status,
 * a refused call writes nothing, no heap, no state. No float instruction is executed, but for float output
 * where there is an FPU. docs/fixed_point.md specifies the arithmetic. */
#ifndef FOVEA_FIXED_H
#define FOVEA_FIXED_H
#include "fovea/fovea.h"
#ifdef __cplusplus
extern "C" {
#endif

/* dtype of integer tensors. q, k and v are all S8 or all S16. After S8, out is S8, S16 or F32; after S16,
 * it is S16 or F32. */
enum { FOVEA_FIXED_S8 = 0, FOVEA_FIXED_S16 = 1, FOVEA_FIXED_F32 = 2 };
enum {
  FOVEA_FIXED_BEST = 0, FOVEA_FIXED_SCALAR, FOVEA_FIXED_AVX2, FOVEA_FIXED_AVXVNNI, FOVEA_FIXED_AVX512VNNI,
  FOVEA_FIXED_NEON, FOVEA_FIXED_DOTPROD, FOVEA_FIXED_I8MM, FOVEA_FIXED_THUMB, FOVEA_FIXED_DSP,
  FOVEA_FIXED_HELIUM, FOVEA_FIXED_SSE41, FOVEA_FIXED_ISA_END
};

/* From scores to octaves, and from sums to output. fixed.hpp makes it from real scales; on a device it is
 * constant data. */
typedef struct fovea_fixed_scale {
  /* 1 .. 2^31 - 1 and 1 .. 31. Scores must stay below 2^28 / 65536 = 4,096 octaves. Scales of fixed.hpp have
   * a multiplier of 2^30 or more, or the shift 31. With others microcontrollers are slower, and
   * fovea_fixed_attend_plain refuses those whose scores reach 2^(shift - 1). */
  int32_t score_multiplier, score_shift;
  int32_t score_pre_shift; /* S16: scores are shifted right by this first, 0 .. 24; S8: 0 */
  /* Integer output: sum / weight * multiplier * 2^(shift - 31); the shift is -30 .. 20. */
  int32_t out_multiplier, out_shift;
  /* Float output: the bits of the float that sum / weight is multiplied by. It is at least 2^-86. */
  uint32_t f32_scale;
} fovea_fixed_scale;

/* heads x tokens x dim as in fovea.h. FOVEA_PANELS (k and v of S8): as the pack functions write;
 * token_stride is 0. */
typedef struct fovea_fixed_in {
  const void *data;
  ptrdiff_t head_stride, token_stride; /* 0: contiguous; of panels FOVEA_FIXED_PANELS(keys, dim) */
  int32_t dtype, layout, zero_point, reserved;
} fovea_fixed_in;

typedef struct fovea_fixed_out {
  void *data;
  ptrdiff_t head_stride, token_stride;
  int32_t dtype, zero_point;
} fovea_fixed_out;

typedef struct fovea_fixed_per_key { /* one number for each key of each KV head */
  const void *data;                  /* null = not used */
  ptrdiff_t head_stride;             /* 0 = contiguous */
} fovea_fixed_per_key;

typedef struct fovea_fixed_mask {      /* [query][key] */
  const void *data;                    /* null = not used */
  ptrdiff_t head_stride, query_stride; /* 0: the same rows for all heads, the same row for all queries */
} fovea_fixed_mask;

typedef struct fovea_fixed_attention {
  fovea_fixed_in q, k, v;
  fovea_fixed_out out;
  int32_t q_heads, kv_heads, dim, v_dim; /* kv_heads 0 = q_heads, v_dim 0 = dim; dims up to 1024 */
  int32_t queries, keys, first_key;      /* as in fovea.h; with panels first_key is a multiple of 64 */
  int32_t flags, position;               /* FOVEA_CAUSAL, FOVEA_POSITION, FOVEA_WINDOW */
  int32_t window_left, window_right, prefix, keep_first;
  /* 0 = 512, up to 131,072. Sums are rounded for so many keys, so it is part of the bits; more keys are
   * refused. */
  int32_t max_keys;
  int32_t weight_bits; /* 0 = 15. 22 only with S16: slower, and 40 dB better */
  fovea_fixed_scale scale;
  const fovea_fixed_scale *head_scales; /* [q_heads] instead of scale; null = none */
  fovea_fixed_per_key key_multipliers;  /* int32_t: score_multiplier of each key, for keys with own scales */
  fovea_fixed_per_key value_weights;    /* int16_t >= 0: 32767 * scale / largest, for values' own scales */
  fovea_fixed_per_key key_sums;         /* int32_t: fovea_fixed_sum_keys; needed if q.zero_point is not 0 */
  fovea_fixed_mask mask;                /* uint8_t, nonzero = attend */
  fovea_fixed_mask bias;                /* int32_t octaves in Q16 that are added; INT32_MIN masks */
  const int32_t *alibi; /* [q_heads] octaves in Q16 that are subtracted per key of distance; null = none */
  const int32_t *sinks; /* [q_heads] octaves in Q16 of a logit without a key; null = none */
  fovea_part part; /* as in fovea.h; rows are never split, so a unit has all keys of its rows */
  int32_t isa;     /* FOVEA_FIXED_BEST, or exactly that one */
  int32_t softcap; /* 0. Not offered in integers: any other number is FOVEA_UNSUPPORTED */
  /* As in fovea.h; data of k, v, key_multipliers and value_weights is not used. */
  const fovea_segments *segments;
  const fovea_pattern *pattern; /* as in fovea.h; null: none */
#if UINTPTR_MAX <= 0xffffffff
  int32_t reserved[1];
#endif
} fovea_fixed_attention;

FOVEA_API int32_t fovea_fixed_attend(const fovea_fixed_attention *a, void *scratch, size_t scratch_size);
/* The same for small firmware. What they do not offer is FOVEA_UNSUPPORTED and is not linked. _s8: no S16.
 * _plain: S8, K and V in panels, integer output, no tree, and no optional table from head_scales to sinks. */
FOVEA_API int32_t fovea_fixed_attend_s8(const fovea_fixed_attention *a, void *scratch, size_t scratch_size);
FOVEA_API int32_t fovea_fixed_attend_plain(const fovea_fixed_attention *a, void *scratch,
                                           size_t scratch_size);
/* The status that an attend would return with enough scratch. */
FOVEA_API int32_t fovea_fixed_check(const fovea_fixed_attention *a);
/* Bytes of scratch: what suffices, and the most that is ever used. 0 if the call is refused. */
FOVEA_API size_t fovea_fixed_scratch(const fovea_fixed_attention *a);
FOVEA_API size_t fovea_fixed_scratch_best(const fovea_fixed_attention *a);

/* What a cache does at append: `count` rows become tokens at .. at + count - 1 of one KV head. row_stride
 * 0 = dim. Panels have FOVEA_FIXED_PANELS(tokens, dim) bytes; what they hold behind the last token does
 * not matter. */
FOVEA_API int32_t fovea_fixed_pack_keys(int8_t *panels, int32_t at, const int8_t *rows, ptrdiff_t row_stride,
                                        int32_t count, int32_t dim);
FOVEA_API int32_t fovea_fixed_pack_values(int8_t *panels, int32_t at, const int8_t *rows,
                                          ptrdiff_t row_stride, int32_t count, int32_t dim);
FOVEA_API int32_t fovea_fixed_sum_keys(int32_t *sums, const int8_t *rows, ptrdiff_t row_stride, int32_t count,
                                       int32_t dim);
/* The order of bytes in panels. A cache may move between machines that return the same number. */
FOVEA_API int32_t fovea_fixed_panel_order(void);

FOVEA_API int32_t fovea_fixed_isa(void); /* the best ISA of this machine; 0 if calls are refused here */
FOVEA_API int32_t fovea_fixed_has_isa(int32_t isa);
FOVEA_API const char *fovea_fixed_isa_name(int32_t isa); /* constant text, never null: "avx512vnni" */

#define FOVEA_FIXED_UP64(n) ((FOVEA_AS_SIZE(n) + 63) / 64 * 64)
#define FOVEA_FIXED_PANELS(tokens, dim) (FOVEA_FIXED_UP64(tokens) * FOVEA_UP16(dim))
/* Scratch as constant expressions, enough on each core. FOVEA_FIXED_SCRATCH is for panels and for S16;
 * FOVEA_FIXED_SCRATCH_ROWS is for rows, which are packed 64 keys at a time. */
#if defined(__arm__) && !defined(__linux__)
#define FOVEA_FIXED_SCRATCH(dim, v_dim) (1664 + 8 * FOVEA_UP16(dim) + 8 * FOVEA_UP16(v_dim))
#else /* wide registers take 256 keys at a time */
#define FOVEA_FIXED_SCRATCH(dim, v_dim) (4096 + 8 * FOVEA_UP16(dim) + 8 * FOVEA_UP16(v_dim))
#endif
#define FOVEA_FIXED_SCRATCH_ROWS(dim, v_dim) \
  (FOVEA_FIXED_SCRATCH(dim, v_dim) + 64 * (FOVEA_UP16(dim) + FOVEA_UP16(v_dim)))

#ifdef __cplusplus
}
#endif
#endif
