/* fovea.h: attention on memory that the caller owns. C99 and C++. Nothing else has to be included.
 *
 *   out[h][i] = sum_j p_ij v[g][j]                  g = h / (q_heads / kv_heads)
 *   p_i       = softmax_j(softcap(scale * q[h][i] . k[g][j]) + bias)
 *
 *   static unsigned char scratch[FOVEA_SCRATCH(64, 64)];
 *   fovea_attention a = {0};
 *   a.q.data = q; a.k.data = k; a.v.data = v; a.out.data = out;
 *   a.q_heads = 4; a.dim = 64; a.queries = 1; a.keys = 128;
 *   int32_t status = fovea_attend(&a, scratch, sizeof scratch);
 *
 * Defaults. Each struct is valid when zeroed. Zero is the default that the field's comment names. Where 0
 * is also a value, a flag says that the field is given.
 *
 * Errors. A call returns a status. On any status but FOVEA_OK nothing was written. What this version does
 * not offer is refused as FOVEA_UNSUPPORTED. There is no heap, exception, errno, I/O, lock or recursion.
 *
 * Threads, tasks, ISRs. A call touches only its arguments, so calls may overlap in time when no two of
 * them write the same bytes. An ISR needs scratch of its own and a saved FPU context. Rounding must be "to
 * nearest"; fovea changes no FPU mode.
 *
 * Units. Sizes are in bytes, strides in elements. Data must be aligned to its element; scratch may be at
 * any address (a multiple of 64 is a little faster). Structs grow only into their reserved words, which
 * must be zero. */
#ifndef FOVEA_H
#define FOVEA_H
#include <stddef.h>
#include <stdint.h>

#ifndef FOVEA_API
#if defined(_WIN32) || !defined(__GNUC__)
#define FOVEA_API
#else
#define FOVEA_API __attribute__((visibility("default")))
#endif
#endif
/* major * 10000 + minor * 100 + patch. fovea_version() returns that of the linked library. */
#define FOVEA_VERSION 500
#ifdef __cplusplus
extern "C" {
#endif

/* Constants are int32_t in each struct, because the size of an enum differs between ARM compilers. */

/* dtype. Attention takes q, k, v and out of FOVEA_F32, FOVEA_F16 and FOVEA_BF16, in any mixture, and k and v
 * of FOVEA_I8. All sums are float32. linear.h takes weights of these and of FOVEA_I4. */
enum { FOVEA_F32 = 0, FOVEA_F16 = 1, FOVEA_BF16 = 2, FOVEA_I8 = 3, FOVEA_I16 = 4, FOVEA_I4 = 5 };

/* layout. FOVEA_ROWS: `dim` contiguous elements per token. FOVEA_PANELS: k of floats and halves as
 * [keys/16][dim][16], as fovea_pack_keys and fovea_pack_keys_as write it; k and v of FOVEA_I8 in the panels
 * of fixed.h, so that one memory serves integer and float queries. The last panel must be readable as a
 * whole; what it holds behind the last key does not matter. Decoding is fastest from panels, because nothing
 * is packed again. */
enum { FOVEA_ROWS = 0, FOVEA_PANELS = 1 };

/* isa */
enum { FOVEA_ISA_BEST = 0, FOVEA_SCALAR, FOVEA_SSE41, FOVEA_AVX2, FOVEA_AVX512, FOVEA_NEON, FOVEA_NEON64,
       FOVEA_SCALAR_NO_FMA, FOVEA_HELIUM, FOVEA_RVV, FOVEA_ISA_END };

/* A status is 0, or reason + 256 * argument. Example: 0x0e03 is reason 0x03, FOVEA_RANGE, of argument 0x0e,
 * FOVEA_ARG_SCALE. */
enum { /* reasons: FOVEA_REASON(status) */
  FOVEA_OK = 0x00,
  FOVEA_NULL = 0x01,
  FOVEA_SIZE = 0x02,
  FOVEA_RANGE = 0x03,
  FOVEA_STRIDE = 0x04,
  FOVEA_ALIGN = 0x05,
  FOVEA_OVERLAP = 0x06,
  FOVEA_OVERFLOW = 0x07,
  FOVEA_TOO_SMALL = 0x08,
  FOVEA_NOT_FINITE = 0x09,
  FOVEA_UNSUPPORTED = 0x0a,
  FOVEA_FOREIGN = 0x0b, /* of cache.h */
  FOVEA_DAMAGED = 0x0c,
  FOVEA_REASON_END
};
enum { /* the argument that caused it: FOVEA_ARGUMENT(status) */
  FOVEA_ARG_CALL = 0x00,
  FOVEA_ARG_Q = 0x01,
  FOVEA_ARG_K = 0x02,
  FOVEA_ARG_V = 0x03,
  FOVEA_ARG_OUT = 0x04,
  FOVEA_ARG_HEADS = 0x05,
  FOVEA_ARG_DIM = 0x06,
  FOVEA_ARG_V_DIM = 0x07,
  FOVEA_ARG_QUERIES = 0x08,
  FOVEA_ARG_KEYS = 0x09,
  FOVEA_ARG_FIRST_KEY = 0x0a,
  FOVEA_ARG_FLAGS = 0x0b,
  FOVEA_ARG_PREFIX = 0x0c,
  FOVEA_ARG_KEEP_FIRST = 0x0d,
  FOVEA_ARG_SCALE = 0x0e,
  FOVEA_ARG_SOFTCAP = 0x0f,
  FOVEA_ARG_ALIBI = 0x10,
  FOVEA_ARG_SINKS = 0x11,
  FOVEA_ARG_MASK = 0x12,
  FOVEA_ARG_LSE = 0x13,
  FOVEA_ARG_WEIGHTS = 0x14,
  FOVEA_ARG_PART = 0x15,
  FOVEA_ARG_PARTIALS = 0x16,
  FOVEA_ARG_ISA = 0x17,
  FOVEA_ARG_RING = 0x18,
  FOVEA_ARG_RESERVED = 0x19,
  FOVEA_ARG_SCRATCH = 0x1a,
  FOVEA_ARG_IN = 0x1b,
  FOVEA_ARG_W = 0x1c,
  FOVEA_ARG_X = 0x1d,
  FOVEA_ARG_ROWS = 0x1e,
  FOVEA_ARG_COLUMNS = 0x1f,
  FOVEA_ARG_KEY_SUMS = 0x20, /* of fixed.h */
  FOVEA_ARG_PACKED = 0x21,   /* from here on of linear.h */
  FOVEA_ARG_BIAS = 0x22,
  FOVEA_ARG_Y = 0x23,
  FOVEA_ARG_RESIDUAL = 0x24,
  FOVEA_ARG_ACTIVATION = 0x25,
  FOVEA_ARG_DTYPE = 0x26,
  FOVEA_ARG_AT = 0x27,
  FOVEA_ARG_FIXED_ISA = 0x28,
  FOVEA_ARG_SUM = 0x29, /* from here on of ops.h and layer.h */
  FOVEA_ARG_KIND = 0x2a,
  FOVEA_ARG_EPSILON = 0x2b,
  FOVEA_ARG_TABLE = 0x2c,
  FOVEA_ARG_INDEX = 0x2d,
  FOVEA_ARG_STARTS = 0x2e,
  FOVEA_ARG_LENGTHS = 0x2f,
  FOVEA_ARG_SEQUENCES = 0x30,
  FOVEA_ARG_TOKENS = 0x31,
  FOVEA_ARG_ROPE = 0x32,
  FOVEA_ARG_POSITIONS = 0x33,
  FOVEA_ARG_BASE = 0x34,
  FOVEA_ARG_FACTOR = 0x35,
  FOVEA_ARG_LAYER = 0x36,
  FOVEA_ARG_CONTEXT = 0x37,
  FOVEA_ARG_KV = 0x38,
  FOVEA_ARG_CACHE = 0x39,
  FOVEA_ARG_STAGE = 0x3a,
  FOVEA_ARG_SHARED = 0x3b,
  FOVEA_ARG_ATTENTION = 0x3c,
  FOVEA_ARG_NORM = 0x3d,
  FOVEA_ARG_VALUES = 0x3e,
  FOVEA_ARG_SEGMENTS = 0x3f,
  FOVEA_ARG_IMAGE = 0x40, /* of cache.h */
  FOVEA_ARG_PARENT = 0x41, /* of cache.h, and of a fovea_pattern */
  FOVEA_ARG_MEAN = 0x42,   /* of cache.h */
  FOVEA_ARG_CHUNK = 0x43,
  FOVEA_ARG_ERROR = 0x44, /* of cache.h */
  FOVEA_ARG_END
};
#define FOVEA_REASON(status) ((status) & 255)
#define FOVEA_ARGUMENT(status) (((status) >> 8) & 255)

enum {                /* flags of a call */
  FOVEA_CAUSAL = 1,   /* a query at position p sees key j when j <= p */
  FOVEA_POSITION = 2, /* `position` is given; else the queries are the last keys */
  FOVEA_WINDOW = 4,   /* `window_left` and `window_right` are given, both inclusive; negative = open */
  FOVEA_SCALE = 8     /* `scale` is given; else 1 / sqrt(dim) */
};

/* heads x tokens x dim. The elements of a row are contiguous. A stride of 0 means contiguous
 * [head][token][dim]; a negative one is refused. zero_point must be 0: integers with a zero point are for
 * fixed.h. */
typedef struct fovea_in {
  const void *data;   /* may be null only when it has no element */
  const void *scales; /* FOVEA_I8: a scale for each token and head, what a number is multiplied by; null: 1 */
  ptrdiff_t head_stride, token_stride, scale_head_stride, scale_token_stride;
  int32_t dtype, layout, zero_point;
  /* 0: scales are floats. Else they are integers, int32_t of k and int16_t of v, and a scale is the integer
   * times this number: the tables of fixed.h and cache.h as they are. */
  float scale_unit;
} fovea_in;

typedef struct fovea_out {
  void *data; /* its byte range, first to last element, must not overlap an input, scratch or partials */
  ptrdiff_t head_stride, token_stride;
  float scale; /* must be 0, and zero_point, too: no output of these calls is quantised */
  int32_t dtype, zero_point, reserved;
} fovea_out;

/* [query][key]. Bool: uint8_t, nonzero = attend. Bias: float, added to the score. Only -inf masks a key. A
 * score plus its bias must not exceed 2e38, or the row may become NaN. */
typedef struct fovea_mask {
  const void *data;                    /* null = no mask */
  ptrdiff_t head_stride, query_stride; /* 0 = the same rows for all heads, the same row for all queries */
  int32_t is_bias;                     /* 0: bool; 1: bias */
  int32_t keys;                        /* columns of the mask, 0 = all keys; keys behind them are masked */
} fovea_mask;

/* Returned softmax weights, or scores, of chosen rows:
 * data[(head - first_head) * queries + i - first_query][key]
 * Not with partials, nor with segments that do not hold all keys of the call. */
typedef struct fovea_weights {
  float *data;                                     /* null = not wanted */
  int32_t first_head, heads, first_query, queries; /* counts of 0: all from the first on */
  /* 0: weights, 0 for a key that is not seen. 1: scaled scores of all keys. 2: the same after softcap.
   * 3: after bias, -inf for a key that is not seen. */
  int32_t stage, reserved;
} fovea_weights;

/* A share of the work of a call. The work is cut into units: rows of one KV head, and with partials of one
 * piece of the keys: 256 keys, or 4,096 where a KV head has more than 16 rows. A unit is one row, or up to 32
 * rows whose number times the keys is at most 4,096.
 * Where there are at least as many parts as units, each part is one unit or nothing: slices of bounded time
 * for a control loop. Else parts cost about the same. A part behind the last unit returns FOVEA_OK in under
 * 200 instructions. It reads only part, heads, queries, keys, first_key and partials; other fields that are
 * wrong are refused by the parts before it. No bit depends on parts. */
typedef struct fovea_part {
  int32_t index, count; /* {0, 0} = all the work */
} fovea_part;

/* Keys and values that stand in several pieces of memory, as in a ring, or behind a prefix in constant
 * memory. Piece i holds keys first_key .. first_key + keys - 1. Pieces ascend and do not overlap; each begins
 * at a multiple of 16 (integers: 64). A key that no piece holds must not be seen by any query.
 * fovea_cache_view fills it. */
#define FOVEA_SEGMENTS_MAX 8
typedef struct fovea_segment {
  const void *k, *v;                          /* key `first_key`; k in panels */
  const void *key_multipliers, *value_weights; /* integers: the tables of fixed.h */
  ptrdiff_t k_head_stride, v_head_stride, table_head_stride; /* 0: heads follow each other */
  int32_t first_key, keys;
} fovea_segment;
typedef struct fovea_segments {
  int32_t count;
  uint32_t sum; /* of cache.h: the checksum of the image that was viewed last */
  fovea_segment at[FOVEA_SEGMENTS_MAX];
} fovea_segments;

/* What one rule for all queries does not say. A zeroed pattern changes nothing. */
#define FOVEA_TREE_MAX 1024
typedef struct fovea_pattern {
  /* null, or [queries]: a tree of drafts, as in speculative decoding. The last `queries` keys are those of
   * the queries. parents[i] is the query that query i follows, less than i, or -1: it follows the cache. Of
   * the last `queries` keys a query sees its own and those of its parent, its parent's parent, and so on.
   * The position of a query, and of its key, is the key of query 0 plus the number of these parents; a given
   * `position` must be that key. Needs FOVEA_CAUSAL, and at most FOVEA_TREE_MAX queries. */
  const int16_t *parents;
  /* Keys of a chunk, or 0. Chunks begin at multiples of it. A query sees the whole chunk of its position,
   * with FOVEA_CAUSAL up to its position, and `left_chunks` chunks before it; negative: all. Not with
   * `parents`. */
  int32_t chunk, left_chunks;
  int32_t reserved[4];
} fovea_pattern;

typedef struct fovea_attention {
  fovea_in q, k, v;
  fovea_out out;
  int32_t q_heads, kv_heads, dim, v_dim; /* kv_heads 0 = q_heads, v_dim 0 = dim; dims up to 1024 */
  int32_t queries, keys;                 /* keys may be 0. A row that sees no key becomes zeros */
  int32_t first_key;       /* absolute position of row 0 of k and v; all positions are absolute */
  int32_t flags, position; /* position of query 0 among the keys, may be negative */
  int32_t window_left, window_right;
  int32_t prefix;       /* keys 0 .. prefix-1 are seen by all queries, whatever causal and window say */
  int32_t keep_first;   /* keys 0 .. keep_first-1 are seen outside the window; causal still applies */
  float scale, softcap; /* scale: 0, or positive or negative of at least 1e-38; softcap 0 = off */
  const float *alibi;   /* [q_heads] bias of -alibi[h] * |p - j|, scores stop at -2e38; null = none */
  const float *sinks;   /* [q_heads] a logit without a key, in the denominator only; -inf or null = none */
  fovea_mask mask;
  float *lse; /* [q_heads][queries] natural log of the denominator with its sink, -inf where that is empty;
               * null = not wanted */
  fovea_weights weights;
  fovea_part part;      /* parts may run in any order and at the same time, each with scratch of its own */
  void *partials;       /* null: no row is split. Else memory that all parts share; then call fovea_merge */
  size_t partials_size; /* at least fovea_partials_size */
  int32_t isa;          /* 0 = the best of this machine; else exactly that one */
  int32_t ring;         /* must be 0; keys of a ring are given by `segments` */
  /* null: all keys stand in k and v. Else where they stand; k.data, v.data and their strides are not used. */
  const fovea_segments *segments;
  const fovea_pattern *pattern; /* null: none */
#if UINTPTR_MAX <= 0xffffffff
  int32_t reserved[2];
#endif
} fovea_attention;
/* Query i is at position p = position + i. It sees key j when first_key <= j < first_key + keys and
 *   j < prefix or ((not causal or j <= p) and (no window or j < keep_first or p - left <= j <= p + right)).
 * With chunks of c keys it must be j < prefix, or also
 *   j / c <= p / c and (j < keep_first or p / c - left_chunks <= j / c).
 * In a tree, p and j are positions as fovea_pattern says, for alibi and windows alike.
 * A key that a row does not see contributes nothing, whatever it holds. Memory outside the given rows is
 * never read. The largest |v| times the number of keys must stay below 2^126, or sums may become infinite. */

FOVEA_API int32_t fovea_attend(const fovea_attention *a, void *scratch, size_t scratch_size);
/* The same for float32 only: a program without other types links only the code that they need. */
FOVEA_API int32_t fovea_attend_f32(const fovea_attention *a, void *scratch, size_t scratch_size);
/* The same for small firmware, in two fifths of the code: float32, K in rows or panels, groups of heads,
 * causal, position, window, scale; what else a call may ask for is refused. Scratch of FOVEA_SCRATCH_PLAIN
 * bytes is enough. On a core with vectors, a call with FOVEA_SCRATCH bytes takes the kernels of fovea_attend;
 * one with less is as slow as plain C. The bits are the same. */
FOVEA_API int32_t fovea_attend_plain(const fovea_attention *a, void *scratch, size_t scratch_size);
/* Joins the partials of all parts: once, by one thread, after all parts have ended. */
FOVEA_API int32_t fovea_merge(const fovea_attention *a);
/* The status that fovea_attend would return with enough scratch. */
FOVEA_API int32_t fovea_check(const fovea_attention *a);
/* Bytes of scratch: the least that suffices, at most FOVEA_SCRATCH(dim, v_dim); the most that is ever used;
 * and bytes of partials for all parts together. 0 if the call is refused. */
FOVEA_API size_t fovea_scratch_least(const fovea_attention *a);
FOVEA_API size_t fovea_scratch_best(const fovea_attention *a);
FOVEA_API size_t fovea_partials_size(const fovea_attention *a);

/* Writes `count` rows of keys into the panels of one KV head, as keys at .. at + count - 1. The panels hold
 * FOVEA_UP16(keys) * dim floats. */
FOVEA_API int32_t fovea_pack_keys(float *panels, int32_t at, const float *rows, ptrdiff_t row_stride,
                                  int32_t count, int32_t dim);
/* The same for panels of `dtype`, FOVEA_F16 or FOVEA_BF16, from rows of `row_dtype`: the same type, whose
 * bits are moved, or FOVEA_F32, rounded to nearest even. The panels hold FOVEA_UP16(keys) * dim halves. */
FOVEA_API int32_t fovea_pack_keys_as(int32_t dtype, void *panels, int32_t at, int32_t row_dtype,
                                     const void *rows, ptrdiff_t row_stride, int32_t count, int32_t dim);

FOVEA_API int32_t fovea_isa(void);            /* the best ISA here; 0 if all calls are refused here */
FOVEA_API int32_t fovea_has_isa(int32_t isa); /* 1 if a call may ask for it here */
/* Constant texts, never null: "avx2" (of 0: "best", the name of the request), "a stride is negative or smaller
 * than a row", "k". */
FOVEA_API const char *fovea_isa_name(int32_t isa);
FOVEA_API const char *fovea_reason_text(int32_t status);
FOVEA_API const char *fovea_argument_text(int32_t status);
FOVEA_API int32_t fovea_version(void);

#ifdef __cplusplus
#define FOVEA_AS_SIZE(n) static_cast<size_t>(n)
#else
#define FOVEA_AS_SIZE(n) ((size_t)(n))
#endif
#define FOVEA_UP16(n) ((FOVEA_AS_SIZE(n) + 15) / 16 * 16)
/* Scratch as a constant expression. It is enough on each ISA, for any number of heads, queries and keys,
 * with all options: a panel of 16 keys, a row of q, the scores of a block, the outputs of a span and of the
 * row, the sums of both, and bookkeeping. */
#define FOVEA_SCRATCH(dim, v_dim) \
  (64 + sizeof(float) * (17 * FOVEA_UP16(dim) + 272 + 2 * FOVEA_UP16(v_dim) + 2 * 16 + 128))
/* Of fovea_attend_plain on cores without vectors: a row of q, the scores of a block, two outputs. */
#define FOVEA_SCRATCH_PLAIN(dim, v_dim) \
  (sizeof(float) * (1 + FOVEA_AS_SIZE(dim) + 256 + 2 * FOVEA_AS_SIZE(v_dim)))
/* FOVEA_SCRATCH with room for speed: for `rows` rows at a time, of one KV head or of several that have few
 * each, and for the panels of `keys` keys of one KV head. */
#define FOVEA_SCRATCH_FAST(dim, v_dim, rows, keys)          \
  (FOVEA_SCRATCH(dim, v_dim) +                              \
   sizeof(float) * (FOVEA_UP16(keys) * FOVEA_AS_SIZE(dim) + \
                    FOVEA_UP16(rows) * (FOVEA_UP16(dim) + 2 * FOVEA_UP16(v_dim) + 272 + 96)))
/* FOVEA_ASSERT_FITS(scratch, 64, 64); at file scope does not compile when the array is too small. */
#define FOVEA_ASSERT_FITS(array, dim, v_dim) \
  extern char fovea_fits_##array[sizeof(array) >= FOVEA_SCRATCH(dim, v_dim) ? 1 : -1]

#ifdef __cplusplus
}
#endif
#endif
