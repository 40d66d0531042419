/* The public headers in C99, as firmware uses them: zeroed structs, constants, scratch at file scope. */
#include <string.h>

#include "fovea/cache.h"
#include "fovea/fixed.h"
#include "fovea/fixed_linear.h"
#include "fovea/fixed_quantize.h"
#include "fovea/fixed_softmax.h"
#include "fovea/fovea.h"
#include "fovea/layer.h"
#include "fovea/linear.h"
#include "fovea/ops.h"
#include "fovea/selftest.h"

int fovea_header_c99(void);

static unsigned char scratch[FOVEA_SCRATCH(3, 2)];
FOVEA_ASSERT_FITS(scratch, 3, 2);
static unsigned char fast_scratch[FOVEA_SCRATCH_FAST(3, 2, 4, 20)];
FOVEA_ASSERT_FITS(fast_scratch, 3, 2);
static unsigned char integer_scratch[FOVEA_FIXED_SCRATCH_ROWS(3, 2)];
static unsigned char layer_scratch[FOVEA_LAYER_SCRATCH(3, 3, 4, 2, 1, 2, 2)];
static int8_t key_panels[FOVEA_FIXED_PANELS(2, 3)], value_panels[FOVEA_FIXED_PANELS(2, 2)];

static FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(1, 3, 2, 2, FOVEA_F32)];
static FOVEA_CACHE_ALIGN unsigned char
    byte_cache[FOVEA_CACHE_BYTES(1, 3, 2, 2, FOVEA_I8) + FOVEA_CACHE_SCALES(1, 2) + FOVEA_CACHE_MEAN(1, 3)];

static const int32_t dtypes[] = {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I16};
static const int32_t layouts[] = {FOVEA_ROWS, FOVEA_PANELS};
static const int32_t isas[] = {FOVEA_ISA_BEST, FOVEA_SCALAR, FOVEA_SSE41,  FOVEA_AVX2,
                               FOVEA_AVX512,   FOVEA_NEON,   FOVEA_NEON64, FOVEA_SCALAR_NO_FMA,
                               FOVEA_HELIUM,   FOVEA_RVV};
static const int32_t flags = FOVEA_CAUSAL | FOVEA_POSITION | FOVEA_WINDOW | FOVEA_SCALE;

/* Structs keep their sizes from version to version; a pattern stands in what were reserved words. */
static int layouts_are_right(void) {
  const size_t pointer = sizeof(void *), rest = pointer == 4 ? 4 : 0;
  return offsetof(fovea_attention, pattern) == offsetof(fovea_attention, segments) + pointer &&
         offsetof(fovea_fixed_attention, pattern) == offsetof(fovea_fixed_attention, segments) + pointer &&
         sizeof(fovea_attention) == offsetof(fovea_attention, pattern) + pointer + 2 * rest &&
         sizeof(fovea_fixed_attention) == offsetof(fovea_fixed_attention, pattern) + pointer + rest &&
         sizeof(fovea_pattern) == pointer + 24 && (pointer != 8 || sizeof(fovea_attention) == 432) &&
         (pointer != 8 || sizeof(fovea_fixed_attention) == 392);
}

/* A chain of drafts sees what causal attention sees; in chunks of one key a query sees its own. */
static int attends_by_pattern(void) {
  static const int16_t parents[2] = {-1, 0};
  const float q[4] = {1, 2, 3, 4}, k[4] = {4, 3, 2, 1}, v[4] = {1, 2, 3, 5};
  float causal[4], chain[4], alone[4];
  fovea_pattern pattern = {0};
  fovea_attention a = {0};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.q_heads = 1;
  a.dim = a.queries = a.keys = 2;
  a.flags = FOVEA_CAUSAL;
  a.out.data = causal;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  a.pattern = &pattern;
  pattern.parents = parents;
  a.out.data = chain;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  pattern.parents = NULL;
  pattern.chunk = 1;
  a.out.data = alone;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  return memcmp(causal, chain, sizeof causal) == 0 && alone[2] > 2.9999f && alone[2] < 3.0001f;
}

static int constants_are_right(void) {
  const int32_t status = FOVEA_RANGE | FOVEA_ARG_PART << 8;
  return dtypes[0] == 0 && dtypes[4] == 4 && layouts[1] == 1 && isas[0] == 0 && FOVEA_ISA_END == 10 &&
         flags == 15 && FOVEA_OK == 0 && FOVEA_REASON(status) == FOVEA_RANGE &&
         FOVEA_ARGUMENT(status) == FOVEA_ARG_PART && FOVEA_UP16(0) == 0 && FOVEA_UP16(1) == 16 &&
         FOVEA_UP16(16) == 16 && FOVEA_UP16(17) == 32 && FOVEA_VERSION >= 100;
}

/* A layer whose query and key matrices are zero returns the mean of its tokens. */
static int runs_a_layer(void) {
  const float x[12] = {1, 2, 3, 4, 3, 4, 5, 6, 5, 6, 7, 8};
  const float identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  static float in[FOVEA_LINEAR_BYTES(4, 8, FOVEA_F32) / sizeof(float)];
  static float out[FOVEA_LINEAR_BYTES(4, 4, FOVEA_F32) / sizeof(float)];
  float y[12];
  fovea_rows_in w = {0};
  fovea_layer layer = {0};
  fovea_layer_call call = {0};
  w.data = identity;
  if (fovea_pack_linear(in, sizeof in, 4, 8, FOVEA_F32, 6, &w, 2) != FOVEA_OK) return 0;
  if (fovea_pack_linear(out, sizeof out, 4, 4, FOVEA_F32, 0, &w, 4) != FOVEA_OK) return 0;
  layer.q.packed = in;
  layer.out.packed = out;
  layer.q.in = layer.out.in = layer.out.out = 4;
  layer.q.out = 8;
  layer.q_heads = 2;
  layer.kv_heads = 1;
  layer.dim = 2;
  call.layer = &layer;
  call.x.data = x;
  call.y.data = y;
  call.tokens = 3;
  if (fovea_run_layer(&call, layer_scratch, sizeof layer_scratch) != FOVEA_OK) return 0;
  return y[0] > 2.9999f && y[0] < 3.0001f && y[11] > 3.9999f && y[11] < 4.0001f;
}

/* Two keys with equal scores: the result is the mean of their values. */
static int attends(void* memory, size_t size) {
  const float q[3] = {0, 0, 0}, k[6] = {1, 2, 3, 4, 5, 6}, v[4] = {1, 10, 3, 30};
  float out[2] = {-1, -1};
  fovea_attention a = {0};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.q_heads = 1;
  a.dim = 3;
  a.v_dim = 2;
  a.queries = 1;
  a.keys = 2;
  if (fovea_attend(&a, memory, size) != FOVEA_OK) return 0;
  return out[0] > 1.99999f && out[0] < 2.00001f && out[1] > 19.9999f && out[1] < 20.0001f;
}

/* The same in integers, from rows and from panels. */
static int attends_in_integers(int32_t layout) {
  const int8_t q[3] = {0, 0, 0}, k[6] = {1, 2, 3, 4, 5, 6}, v[4] = {1, 10, 3, 30};
  int8_t out[2] = {-1, -1};
  fovea_fixed_attention a = {0};
  fovea_fixed_pack_keys(key_panels, 0, k, 0, 2, 3);
  fovea_fixed_pack_values(value_panels, 0, v, 0, 2, 2);
  a.q.data = q;
  a.k.data = layout == FOVEA_PANELS ? key_panels : k;
  a.v.data = layout == FOVEA_PANELS ? value_panels : v;
  a.k.layout = a.v.layout = layout;
  a.out.data = out;
  a.q_heads = 1;
  a.dim = 3;
  a.v_dim = 2;
  a.queries = 1;
  a.keys = 2;
  a.scale.score_multiplier = 1 << 30; /* a score of 1 is 2^-10 octaves */
  a.scale.score_shift = 24;
  a.scale.out_multiplier = 1 << 30; /* the scale of v */
  a.scale.out_shift = 1;
  if (fovea_fixed_attend(&a, integer_scratch, sizeof integer_scratch) != FOVEA_OK) return 0;
  return out[0] == 2 && out[1] == 20;
}

/* Two inputs, one output and fifteen that do not exist: packed at build time, as for flash. */
static const float packed_in_flash[FOVEA_LINEAR_BYTES(2, 1, FOVEA_F32) / sizeof(float)] = {
    3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* input 0 */
    4};
static unsigned char product_scratch[FOVEA_MULTIPLY_SCRATCH(2, 1, FOVEA_I8)];

static int multiplies(void) {
  static const float weights[2] = {3, 4}, bias[1] = {0.5f}, x[4] = {1, 1, 2, -1};
  static const fovea_linear linear = {packed_in_flash, bias, 2, 1, FOVEA_F32, {0, 0}, 0};
  float packed[FOVEA_LINEAR_BYTES(2, 1, FOVEA_F32) / sizeof(float)], y[2] = {0, 0};
  fovea_rows_in rows = {0};
  fovea_product p = {0};
  rows.data = weights;
  if (fovea_pack_linear(packed, sizeof packed, 2, 1, FOVEA_F32, 0, &rows, 1) != FOVEA_OK) return 0;
  if (memcmp(packed, packed_in_flash, sizeof packed) != 0) return 0;
  if (fovea_linear_size(2, 1, FOVEA_F32) != sizeof packed) return 0;
  p.w = &linear;
  p.x.data = x;
  p.y.data = y;
  p.rows = 2;
  if (fovea_multiply(&p, product_scratch, sizeof product_scratch) != FOVEA_OK) return 0;
  return y[0] == 7.5f && y[1] == 2.5f;
}

static int softmax_of_rows(void) {
  const float x[2] = {1, 1};
  const int8_t x8[2] = {7, 7};
  float p[2] = {0, 0};
  uint16_t p8[2] = {0, 0};
  fovea_softmax_rows s = {0};
  s.in = x;
  s.out = p;
  s.rows = 1;
  s.columns = 2;
  return fovea_softmax(&s) == FOVEA_OK && p[0] == 0.5f && p[1] == 0.5f &&
         fovea_fixed_softmax_s8(x8, NULL, 2, 1 << 30, 24, p8) == FOVEA_OK && p8[0] == 32768 && p8[1] == 32768;
}

static int quantises(void) {
  const float x[2] = {-1, 0.5f};
  const fovea_float_rows rows = {x, 0, 1, 2};
  float scale = 0;
  int8_t q[2] = {0, 0};
  return fovea_fixed_symmetric(&rows, FOVEA_FIXED_S8, &scale) == FOVEA_OK && scale > 0 &&
         fovea_fixed_quantize_s8(&rows, scale, 0, q) == FOVEA_OK && q[0] < -126 && q[1] > 62;
}

/* The mean again, of a cache. */
static int caches(void) {
  const float q[3] = {0, 0, 0}, k[6] = {1, 2, 3, 4, 5, 6}, v[4] = {1, 10, 3, 30};
  float out[2] = {-1, -1};
  fovea_cache_shape shape = {0};
  fovea_attention a = {0};
  fovea_in keys = {0}, values = {0};
  shape.kv_heads = 1;
  shape.dim = 3;
  shape.v_dim = 2;
  shape.capacity = 2;
  keys.data = k;
  values.data = v;
  a.q.data = q;
  a.out.data = out;
  a.q_heads = 1;
  a.queries = 1;
  if (fovea_cache_size(&shape) != sizeof cache) return 0;
  if (fovea_cache_init(cache, sizeof cache, &shape) != FOVEA_OK) return 0;
  if (fovea_cache_append(cache, &keys, &values, 2) != FOVEA_OK) return 0;
  if (fovea_cache_view(cache, NULL, &a) != FOVEA_OK) return 0;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  return out[0] > 1.99999f && out[0] < 2.00001f && out[1] > 19.9999f && out[1] < 20.0001f;
}

/* Nearly, of bytes, with smoothed keys and a bound of the error. */
static int caches_bytes(void) {
  const float q[3] = {0, 0, 0}, k[6] = {1, 2, 3, 4, 5, 6}, v[4] = {1, 10, 3, 30};
  float out[2] = {-1, -1}, bound[1] = {-1};
  fovea_cache_shape shape = {0};
  fovea_attention a = {0};
  fovea_in mean = {0}, keys = {0}, values = {0};
  shape.kv_heads = 1;
  shape.dim = 3;
  shape.v_dim = 2;
  shape.capacity = 2;
  shape.dtype = FOVEA_I8;
  shape.k_largest = 8;
  shape.v_largest = 32;
  shape.smooth_keys = 1;
  mean.data = keys.data = k;
  values.data = v;
  a.q.data = q;
  a.out.data = out;
  a.q_heads = 1;
  a.queries = 1;
  if (fovea_cache_size(&shape) != sizeof byte_cache) return 0;
  if (fovea_cache_init(byte_cache, sizeof byte_cache, &shape) != FOVEA_OK) return 0;
  if (fovea_cache_set_mean(byte_cache, &mean) != FOVEA_OK) return 0;
  if (fovea_cache_mean(byte_cache)[2] != 3.0f) return 0;
  if (fovea_cache_append(byte_cache, &keys, &values, 2) != FOVEA_OK) return 0;
  if (fovea_cache_view(byte_cache, NULL, &a) != FOVEA_OK) return 0;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 0;
  if (fovea_cache_error(byte_cache, &a, bound) != FOVEA_OK) return 0;
  return bound[0] < 0.2f && out[1] > 20.0f - bound[0] && out[1] < 20.0f + bound[0];
}

static int zeroed_structs_are_defaults(void) {
  fovea_attention by_memset, by_initialiser = {0};
  memset(&by_memset, 0, sizeof by_memset);
  return by_initialiser.q.data == NULL && by_memset.flags == 0 &&
         fovea_check(&by_initialiser) == fovea_check(&by_memset);
}

/* 0 when everything holds, else the number of the statement that does not. */
int fovea_header_c99(void) {
  if (!constants_are_right()) return 1;
  if (!zeroed_structs_are_defaults()) return 2;
  if (!attends(scratch, sizeof scratch)) return 3;
  if (!attends(fast_scratch, sizeof fast_scratch)) return 4;
  if (!attends_in_integers(FOVEA_ROWS)) return 5;
  if (!attends_in_integers(FOVEA_PANELS)) return 6;
  if (!softmax_of_rows()) return 7;
  if (!quantises()) return 8;
  if (!multiplies()) return 9;
  if (!caches()) return 10;
  if (!runs_a_layer()) return 11;
  if (!caches_bytes()) return 12;
  if (!layouts_are_right()) return 13;
  if (!attends_by_pattern()) return 14;
  return 0;
}
