/* A stream without end in a ring: a query sees the last tokens, and the first ones, which carry the sinks of
 * attention. Positions stay absolute, so the ring is invisible in the results. C99. */
#include <stdio.h>

#include "fovea/cache.h"

enum { heads = 2, dim = 8, window = 40, keep_first = 4, at_once = 1, stream = 1000 };
enum { capacity = FOVEA_CACHE_RING(window, keep_first, at_once, FOVEA_F32) };

static float q[heads][dim], out[heads][dim], k[heads][dim], v[heads][dim];
static FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(heads, dim, dim, capacity, FOVEA_F32)];
static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];

static int32_t begin(void) {
  fovea_cache_shape shape = {0};
  shape.kv_heads = heads;
  shape.dim = dim;
  shape.capacity = capacity;
  shape.window = window;
  shape.keep_first = keep_first;
  return fovea_cache_init(cache, sizeof cache, &shape);
}

static int32_t step(int token) {
  fovea_in keys = {0}, values = {0};
  fovea_attention a = {0};
  fovea_segments where = {0}; /* a ring stands in up to three pieces */
  int32_t status;
  for (int h = 0; h < heads; ++h)
    for (int c = 0; c < dim; ++c) v[h][c] = (float)token; /* k and q are zeros, so the result is a mean */
  keys.data = k;
  values.data = v;
  status = fovea_cache_append(cache, &keys, &values, 1);
  if (status != FOVEA_OK) return status;

  a.q.data = q;
  a.out.data = out;
  a.q_heads = heads;
  a.queries = 1;
  a.flags = FOVEA_CAUSAL | FOVEA_WINDOW;
  a.window_left = window;
  a.window_right = -1;
  a.keep_first = keep_first;
  status = fovea_cache_view(cache, &where, &a);
  if (status != FOVEA_OK) return status;
  return fovea_attend(&a, scratch, sizeof scratch);
}

/* The mean of the tokens that a query sees. */
static float expected(int token) {
  int sum = 0, count = 0;
  for (int j = 0; j <= token; ++j)
    if (j < keep_first || j >= token - window) {
      sum += j;
      ++count;
    }
  return (float)sum / (float)count;
}

int main(void) {
  if (begin() != FOVEA_OK) return 1;
  for (int token = 0; token < stream; ++token) {
    const int32_t status = step(token);
    if (status != FOVEA_OK) {
      printf("sliding_window: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
      return 1;
    }
    const float off = out[heads - 1][dim - 1] - expected(token);
    if (off > 1e-3f || off < -1e-3f) return 1;
  }
  printf("sliding_window: %d tokens in a ring of %d\n", (int)stream, (int)capacity);
  return 0;
}
