/* layer.h: multi-head attention with its weights: y = concat(heads) W_O^T + b_O (+ residual). C99 and C++.
 *
 *   fovea_layer layer = {0};                                  // constant: shared by calls and threads
 *   layer.q = (fovea_linear){packed_qkv, in_proj_bias, 384, 1152, FOVEA_F32};
 *   layer.out = (fovea_linear){packed_out, out_bias, 384, 384, FOVEA_F32};
 *   layer.q_heads = 12; layer.dim = 32;
 *
 *   static unsigned char scratch[FOVEA_LAYER_SCRATCH_FAST(128, 128, 384, 12, 12, 32, 32)];
 *   fovea_layer_call c = {0};
 *   c.layer = &layer; c.x.data = x; c.y.data = y; c.residual.data = x; c.tokens = 128;
 *   int32_t status = fovea_run_layer(&c, scratch, sizeof scratch);
 *
 * The rules of fovea.h hold: zero is the default that the field's comment names, a call returns a status that
 * names the argument, a refused call writes nothing, no heap, no state. With float weights the bits are the
 * same on each ISA with fused multiply-add, for any scratch and any number of workers. No sequence changes
 * the bits of another. */
#ifndef FOVEA_LAYER_H
#define FOVEA_LAYER_H
#include "fovea/fixed.h"
#include "fovea/linear.h"
#include "fovea/ops.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Weights and what belongs to them. */
typedef struct fovea_layer {
  fovea_linear q;             /* q_heads * dim outputs. If k and v are all zero: W_Q, W_K, W_V in one. With a
                               * context, q_heads * dim and kv_heads * dim must then be multiples of 16 */
  fovea_linear k, v;          /* kv_heads * dim and kv_heads * v_dim outputs */
  fovea_linear out;           /* q_heads * v_dim inputs */
  int32_t q_heads, kv_heads;  /* kv_heads 0 = q_heads */
  int32_t dim, v_dim;         /* v_dim 0 = dim */
  const float *q_norm, *k_norm; /* [dim] RMS norm of each head before the rotation; null = none */
  float norm_epsilon;         /* 0 = 1e-6 */
  int32_t norm_plus_one;      /* 1: the factor is 1 + q_norm, 1 + k_norm */
  fovea_rope rope;            /* cos null = no rotation */
  int32_t attention;          /* FOVEA_F32. FOVEA_I8: q, k and v of each head are quantised, sums are exact. A
                               * head that int8 cannot hold (NaN, infinity) is attended to in float32. Scales
                               * are those of all tokens, so tokens that a row does not see may change its
                               * bits. Not with kv, softcap, alibi, sinks, mask.is_bias, mask.keys, lse or
                               * weights */
  int32_t token_scales;       /* of FOVEA_I8. 1: each key and each value has a scale of its own, which is more
                               * exact; 0: all keys of a head have one, and all values */
  int32_t reserved[4];
} fovea_layer;

/* One call is all sequences of a batch, one after another without a gap. */
typedef struct fovea_layer_call {
  const fovea_layer *layer;
  fovea_rows_in x;            /* [tokens][q.in] */
  fovea_rows_in context;      /* [context_tokens][k.in]: where keys and values come from; null = x */
  fovea_rows_in values;       /* [context_tokens][v.in]: where values come from; null = context */
  const void *kv;             /* instead of context: as fovea_project_context wrote; null = none */
  fovea_rows_out y;           /* [tokens][out.out]; may be x, but not overlap it otherwise */
  fovea_rows_in residual;     /* [tokens][out.out], added last; may be x or y; null = none */
  int32_t tokens, context_tokens; /* of all sequences; context_tokens only with context or kv */
  int32_t sequences;          /* 0 = 1 */
  int32_t first_position;     /* of each sequence, for RoPE */
  const int32_t *starts;      /* [sequences + 1], from 0 to tokens: cu_seqlens. null = equal lengths */
  const int32_t *context_starts; /* the same of the context */
  const int32_t *lengths;     /* [sequences] keys of each that count; those behind are padding. null = all */
  const int32_t *positions;   /* [tokens] for RoPE, of queries and keys; null = first_position and on */
  void *cache;                /* null. Keys and values of earlier tokens: not in this version */
  /* Options of the attention, for each sequence alike: flags, position, window, prefix, keep_first, scale,
   * softcap, alibi, sinks, mask, lse, weights, a pattern without parents, and isa. All else is zero. In
   * self-attention the position of token 0 is 0 if it is not given. Of several sequences, lse
   * [heads][queries] and weights [heads][queries][keys that count] of the first come before those of the
   * second, and so on. */
  fovea_attention how;
  int32_t fixed_isa;          /* of products of integers, and of FOVEA_I8 attention */
  int32_t stage;              /* 0: the whole call. FOVEA_LAYER_PROJECT and on: one stage, for workers */
  fovea_part part;            /* of the stage */
  void *shared;               /* what workers share: fovea_layer_shared bytes. null with stage 0 */
  size_t shared_size;
  int32_t reserved[4];
} fovea_layer_call;

/* Several workers: each goes through all stages with scratch of its own, and waits for the others in between.
 *
 *   for (c.stage = FOVEA_LAYER_PROJECT; c.stage < FOVEA_LAYER_END; ++c.stage) {
 *     fovea_run_layer(&c, my_scratch, my_scratch_size);       // c.part = {my number, workers}
 *     wait_for_all(&barrier);
 *   }
 */
enum { FOVEA_LAYER_PROJECT = 1, FOVEA_LAYER_ATTEND, FOVEA_LAYER_OUTPUT, FOVEA_LAYER_END };

/* The status that fovea_run_layer would return with enough scratch. */
FOVEA_API int32_t fovea_check_layer(const fovea_layer_call *c);
FOVEA_API int32_t fovea_run_layer(const fovea_layer_call *c, void *scratch, size_t scratch_size);
/* Bytes of scratch: the least that suffices, and the most that is made use of; and bytes of `shared`. 0 if
 * the call is refused. With less scratch fewer heads and sequences are done at a time. */
FOVEA_API size_t fovea_layer_scratch_least(const fovea_layer_call *c);
FOVEA_API size_t fovea_layer_scratch_best(const fovea_layer_call *c);
FOVEA_API size_t fovea_layer_shared(const fovea_layer_call *c);

/* Keys and values of a context, computed once for any number of calls with the same layer, sequences,
 * context_tokens and context_starts: `kv` of those. x, y, residual and how but its isa are not looked at. */
FOVEA_API int32_t fovea_project_context(const fovea_layer_call *c, void *kv, size_t kv_size, void *scratch,
                                        size_t scratch_size);
/* Its scratch, for a row at a time; with room for 16 rows it is faster. `width`: the inputs of k and v. */
#define FOVEA_LAYER_KV_SCRATCH(width, kv_heads, dim) \
  (128 + FOVEA_LINEAR_ROW(width) + sizeof(float) * FOVEA_AS_SIZE(kv_heads) * FOVEA_AS_SIZE(dim))
#define FOVEA_LAYER_KV_BYTES(context_tokens, sequences, kv_heads, dim, v_dim)                              \
  (sizeof(float) * FOVEA_AS_SIZE(kv_heads) *                                                               \
   ((FOVEA_AS_SIZE(context_tokens) + 15 * FOVEA_AS_SIZE(sequences)) * FOVEA_AS_SIZE(dim) +                 \
    FOVEA_AS_SIZE(context_tokens) * FOVEA_AS_SIZE(v_dim)))

/* Scratch as constant expressions: `tokens` and `context_tokens` are those of the longest sequence, the same
 * number in self-attention, and `width` is the most inputs of the four products. FOVEA_LAYER_SCRATCH takes as
 * few KV heads and queries at a time as it can. FOVEA_LAYER_SCRATCH_FAST takes all at once; with the tokens
 * of a whole batch each weight is read once. Calls with lse or weights need the second. So does a joined
 * matrix whose q_heads * dim or kv_heads * dim is no multiple of 16: no product can be cut out of it. */
#define FOVEA_LAYER_SCRATCH(tokens, context_tokens, width, q_heads, kv_heads, dim, v_dim)              \
  (64 + FOVEA_LAYER_INNER(width, FOVEA_SCRATCH(dim, v_dim)) +                                          \
   FOVEA_LAYER_ROWS(tokens, context_tokens, (tokens) < 8 ? (tokens) : 8, q_heads, kv_heads, dim, v_dim, \
                    FOVEA_LAYER_HEADS(kv_heads, dim, v_dim), 0))
#define FOVEA_LAYER_SCRATCH_FAST(tokens, context_tokens, width, q_heads, kv_heads, dim, v_dim)         \
  (64 + FOVEA_LAYER_INNER(width, FOVEA_SCRATCH_FAST(dim, v_dim, 48, context_tokens)) +                 \
   FOVEA_LAYER_ROWS(tokens, context_tokens, tokens, q_heads, kv_heads, dim, v_dim, kv_heads, 16))
/* What workers share, for as many tokens as a batch has. */
#define FOVEA_LAYER_SHARED(tokens, context_tokens, q_heads, kv_heads, dim, v_dim) \
  (64 + FOVEA_LAYER_ROWS(tokens, context_tokens, tokens, q_heads, kv_heads, dim, v_dim, kv_heads, 16))
/* What FOVEA_I8 attention takes in addition. */
#define FOVEA_LAYER_SCRATCH_I8(tokens, context_tokens, q_heads, kv_heads, dim, v_dim)                  \
  (1472 + FOVEA_AS_SIZE(tokens) * FOVEA_AS_SIZE((q_heads) / (kv_heads)) * FOVEA_AS_SIZE(dim) +         \
   4 * FOVEA_AS_SIZE(tokens) *                                                                         \
       FOVEA_UP16(FOVEA_LAYER_HEADS(kv_heads, dim, v_dim) * ((q_heads) / (kv_heads)) * (dim)) +        \
   FOVEA_AS_SIZE(context_tokens) * FOVEA_AS_SIZE(5 * (dim) + (v_dim) + 10) + 4 * FOVEA_AS_SIZE(dim) +  \
   FOVEA_FIXED_SCRATCH_ROWS(dim, v_dim))
/* Of both: the larger of a product and an attention; rows of queries, heads, keys and values; and KV heads
 * whose first output is a multiple of 16. */
#define FOVEA_LAYER_INNER(width, attention) \
  (64 + FOVEA_LINEAR_ROW(width) > (attention) ? 64 + FOVEA_LINEAR_ROW(width) : (attention))
#define FOVEA_LAYER_ROWS(tokens, context_tokens, queries, q_heads, kv_heads, dim, v_dim, at_once, gap) \
  (sizeof(float) *                                                                                     \
   (FOVEA_AS_SIZE(queries) * (FOVEA_UP16((at_once) * ((q_heads) / (kv_heads)) * (dim)) + (gap)) +      \
    FOVEA_AS_SIZE(tokens) * (FOVEA_UP16((q_heads) * (v_dim)) + (gap)) +                                \
    FOVEA_AS_SIZE(context_tokens) * (FOVEA_UP16((at_once) * ((dim) + (v_dim))) + (gap))))
#define FOVEA_LAYER_HEADS(kv_heads, dim, v_dim)                                                      \
  ((kv_heads) < FOVEA_LAYER_UNIT((dim) | (v_dim)) ? (kv_heads) : FOVEA_LAYER_UNIT((dim) | (v_dim)))
#define FOVEA_LAYER_UNIT(n) ((n) % 16 == 0 ? 1 : (n) % 8 == 0 ? 2 : (n) % 4 == 0 ? 4 : (n) % 2 == 0 ? 8 : 16)

#ifdef __cplusplus
}
#endif
#endif
