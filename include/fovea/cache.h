/* cache.h: keys and values of one layer in one block of memory, in the layout that attention reads fastest.
 * C99 and C++. The block holds no pointer: memcpy moves it, a file stores it, and the same bytes serve each
 * ISA.
 *
 *   static FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(2, 64, 64, 512, FOVEA_F32)];
 *   fovea_cache_shape shape = {0};
 *   shape.kv_heads = 2; shape.dim = 64; shape.capacity = 512;
 *   fovea_cache_init(cache, sizeof cache, &shape);
 *   for each token:
 *     fovea_cache_append(cache, &k, &v, 1);                      k and v: [kv_heads][1][dim], any stride
 *     fovea_cache_view(cache, NULL, &a);                         fills a.k, a.v, a.keys, a.first_key
 *     fovea_attend(&a, scratch, sizeof scratch);
 *
 * The rules of fovea.h hold: a call returns a status, and a refused call writes nothing.
 *
 * A power cut. append, truncate and reset write data first and commit last, in one of two slots of the
 * header. Whatever byte of the block was the last one written, the block holds the state before the call or
 * the state after it.
 *
 * A damaged block. The header carries a checksum of all committed tokens. Each call checks the header;
 * fovea_cache_verify and fovea_cache_restore check the tokens, too. Checksums find damage, not forgery: a
 * block from somebody else must pass fovea_cache_verify before any other call takes it.
 *
 * docs/cache.md describes the image, the arithmetic of int8, rings and branches. */
#ifndef FOVEA_CACHE_H
#define FOVEA_CACHE_H
#include "fovea/fixed.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A zeroed shape with kv_heads, dim and capacity is valid. */
typedef struct fovea_cache_shape {
  int32_t kv_heads, dim, v_dim; /* v_dim 0 = dim; dims up to 1024 */
  int32_t capacity;             /* tokens of room; of a ring a multiple of 16, for I8 of 64 */
  int32_t dtype;                /* FOVEA_F32, FOVEA_F16, FOVEA_BF16 or FOVEA_I8 */
  /* 0: the cache grows until it is full. Else a ring, for calls whose window_left is at most `window`: new
   * tokens replace tokens that no such call sees again. FOVEA_CACHE_RING gives its capacity. */
  int32_t window;
  int32_t keep_first; /* of a ring: tokens 0 .. keep_first-1 stay, as in calls with the same keep_first */
  /* I8 with a scale for each token and head: floats are quantised at append. Largest |k| and |v| that may
   * come; larger ones are refused. Both 0: the cache takes int8 rows as they are, under one scale. */
  float k_largest, v_largest;
  int32_t score_multiplier; /* I8 with scales: that of fovea_fixed_scale for keys up to k_largest; 0 = 2^30 */
  /* 1: the cache keeps keys less a mean key for each KV head, which fovea_cache_set_mean gives. Softmax does
   * not see the difference, and int8 and 16 bits hold what is left more exactly. It takes floats only. */
  int32_t smooth_keys;
  /* The cache begins with this token, a multiple of 16 (I8: 64): those before it stand elsewhere, and attend
   * in a call of their own. */
  int32_t first_token;
  int32_t reserved[4];
} fovea_cache_shape;

/* Bytes of a block, 0 if they overflow or a dim or a number is out of its range; fovea_cache_init checks the
 * rest. FOVEA_CACHE_BYTES and its kin below give the same number; a v_dim of 0 is not dim there. */
FOVEA_API size_t fovea_cache_size(const fovea_cache_shape *shape);
FOVEA_API int32_t fovea_cache_init(void *image, size_t size, const fovea_cache_shape *shape);
/* A cache that continues `parent` behind its first `tokens`: it holds only what comes later, and a copy of
 * the tokens % 16 (I8: 64) before. The parent is only read, may stand in constant memory, and serves any
 * number of branches; its first `tokens` must stay. It may be a branch itself, if it begins at `tokens` or
 * earlier. It may not be a ring. Heads, dims, dtype and scales that `shape` leaves at zero are those of the
 * parent; others are refused. Capacity, window and keep_first are its own. */
FOVEA_API int32_t fovea_cache_branch(void *image, size_t size, const fovea_cache_shape *shape,
                                     const void *parent, int32_t tokens);

/* The mean key of a cache with smooth_keys, [kv_heads][1][dim] of finite FOVEA_F32, before the first token
 * comes; without it all means are 0. It is part of the image, stays on reset, and goes to branches. A power
 * cut during this call leaves a block that all calls refuse. */
FOVEA_API int32_t fovea_cache_set_mean(void *image, const fovea_in *mean);
FOVEA_API const float *fovea_cache_mean(const void *image); /* [kv_heads][dim]; null: it has none */

/* All of the tokens or none. F32 takes FOVEA_F32; F16 and BF16 take their own dtype, and FOVEA_F32, which is
 * rounded to nearest even; I8 takes FOVEA_I8 without scales, and FOVEA_F32 with them. k and v have one dtype.
 * k is [kv_heads][tokens][dim], v is [kv_heads][tokens][v_dim]. */
FOVEA_API int32_t fovea_cache_append(void *image, const fovea_in *k, const fovea_in *v, int32_t tokens);
/* Forgets the tokens from `length` on. Of a ring, only as far as its window is still there. */
FOVEA_API int32_t fovea_cache_truncate(void *image, int32_t length);
FOVEA_API int32_t fovea_cache_reset(void *image); /* forgets all of its own tokens */

/* Fills what concerns K and V in a call: k, v, keys, first_key, segments; of I8 with scales key_multipliers,
 * value_weights and scale.score_multiplier; kv_heads, dim and v_dim, which are refused if they are given and
 * differ. `segments` may be null where no segment is needed: a cache that is neither ring nor branch. For a
 * branch, view the parent first, with the same segments. The attention reads the block in place: change it
 * only when that call has returned.
 * With smooth_keys the scores of a row are lower by scale * (q . mean). So a call that has softcap, sinks,
 * lse or returned scores set is refused; to an lse that is set after the view, add scale * (q . mean). */
FOVEA_API int32_t fovea_cache_view(const void *image, fovea_segments *segments, fovea_attention *a);
FOVEA_API int32_t fovea_cache_view_fixed(const void *image, fovea_segments *segments,
                                         fovea_fixed_attention *a);

/* Writes bounds[q_heads][queries]: the largest component of a row of a->out is at most that far from what the
 * same call on the floats that were appended gives. For a call that a view of an I8 cache with scales filled,
 * after fovea_attend; q and out of FOVEA_F32, no mask of floats. Reads the scales of all keys, once for each
 * KV head; where the call returned the weights of a row (stage 0), also for that row, and its bound is
 * narrower. A bound for the worst case: typical errors are far below. */
FOVEA_API int32_t fovea_cache_error(const void *image, const fovea_attention *a, float *bounds);

/* The same for small firmware, beside fovea_fixed_attend_plain: int8 rows under one scale, neither ring nor
 * branch. All else is FOVEA_UNSUPPORTED and is not linked. */
FOVEA_API int32_t fovea_cache_append_plain(void *image, const fovea_in *k, const fovea_in *v, int32_t tokens);
FOVEA_API int32_t fovea_cache_view_plain(const void *image, fovea_fixed_attention *a);

FOVEA_API int32_t fovea_cache_length(const void *image);     /* tokens from position 0 on; -1: not an image */
/* Counts commits, modulo 2^32: which of two copies is newer. 0: not an image. */
FOVEA_API uint32_t fovea_cache_generation(const void *image);

/* Magic, version, shape, size, and the checksum of all tokens. */
FOVEA_API int32_t fovea_cache_verify(const void *image, size_t size);
/* Copies an image that passes fovea_cache_verify, from any machine. On a refusal `image` is as before. */
FOVEA_API int32_t fovea_cache_restore(void *image, size_t size, const void *from, size_t from_size);

#if defined(__GNUC__)
#define FOVEA_CACHE_ALIGN __attribute__((aligned(64))) /* 4 is enough, 64 is a little faster */
#else
#define FOVEA_CACHE_ALIGN
#endif
#define FOVEA_CACHE_HEADER 192
/* Bytes of a block as a constant expression. For I8 with scales add FOVEA_CACHE_SCALES. With
 * smooth_keys add FOVEA_CACHE_MEAN. */
#define FOVEA_CACHE_BYTES(kv_heads, dim, v_dim, capacity, dtype)                                          \
  (FOVEA_CACHE_HEADER +                                                                                   \
   ((dtype) == FOVEA_I8 ? FOVEA_AS_SIZE(kv_heads) * (FOVEA_FIXED_PANELS(capacity, dim) +                  \
                                                     FOVEA_FIXED_PANELS(capacity, v_dim))                 \
                        : FOVEA_AS_SIZE(kv_heads) * FOVEA_UP16(capacity) *                                \
                              (FOVEA_AS_SIZE(dim) + FOVEA_AS_SIZE(v_dim)) * ((dtype) == FOVEA_F32 ? 4 : 2)))
#define FOVEA_CACHE_MEAN(kv_heads, dim) (FOVEA_AS_SIZE(kv_heads) * FOVEA_AS_SIZE(dim) * 4)
#define FOVEA_CACHE_SCALES(kv_heads, capacity) (FOVEA_AS_SIZE(kv_heads) * FOVEA_FIXED_UP64(capacity) * 6)
/* The capacity of a ring to which at most `at_once` tokens are appended at a time. A ring that is a branch
 * takes 16 tokens more (I8: 64), because it copies the last ones of its parent. */
#define FOVEA_CACHE_RING(window, keep_first, at_once, dtype)         \
  (((keep_first) + FOVEA_CACHE_STEP_(dtype) - 1) / FOVEA_CACHE_STEP_(dtype) * FOVEA_CACHE_STEP_(dtype) + \
   ((window) + (at_once) + 2 * FOVEA_CACHE_STEP_(dtype) - 2) / FOVEA_CACHE_STEP_(dtype) *                \
       FOVEA_CACHE_STEP_(dtype))
#define FOVEA_CACHE_STEP_(dtype) ((dtype) == FOVEA_I8 ? 64 : 16)

#ifdef __cplusplus
}
#endif
#endif
