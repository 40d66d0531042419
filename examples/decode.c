/* Decode on fixed buffers: each new token is appended to a cache, and attends to all tokens so far. C99. */
#include <stdio.h>

#include "fovea/cache.h"

enum { heads = 4, kv_heads = 2, dim = 8, capacity = 32 };

static float q[heads][dim], out[heads][dim];
static float k[kv_heads][dim], v[kv_heads][dim]; /* of one token */
static FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(kv_heads, dim, dim, capacity, FOVEA_F32)];
static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
FOVEA_ASSERT_FITS(scratch, dim, dim);

/* In the place of numbers that a model would compute. */
static float made_up(int seed) { return (float)((seed * 37 + 11) % 64 - 32) / 32; }

static int32_t begin(void) {
  fovea_cache_shape shape = {0};
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.capacity = capacity;
  return fovea_cache_init(cache, sizeof cache, &shape);
}

static int32_t append(int token) {
  fovea_in keys = {0}, values = {0};
  for (int g = 0; g < kv_heads; ++g)
    for (int c = 0; c < dim; ++c) {
      k[g][c] = made_up(token * 5 + g * 3 + c);
      v[g][c] = g == 0 ? 1.0f : (float)token; /* heads of group 0 give 1, of group 1 a mean */
    }
  keys.data = k;
  values.data = v;
  return fovea_cache_append(cache, &keys, &values, 1);
}

static int32_t decode(int token) {
  fovea_attention step = {0};
  int32_t status = append(token);
  if (status != FOVEA_OK) return status;
  for (int h = 0; h < heads; ++h)
    for (int c = 0; c < dim; ++c) q[h][c] = made_up(token * 7 + h + c);

  step.q.data = q;
  step.out.data = out;
  step.q_heads = heads;
  step.queries = 1;
  status = fovea_cache_view(cache, NULL, &step); /* keys, values, and how many there are */
  if (status != FOVEA_OK) return status;
  return fovea_attend(&step, scratch, sizeof scratch);
}

int main(void) {
  if (begin() != FOVEA_OK) return 1;
  for (int token = 0; token < capacity; ++token) {
    const int32_t status = decode(token);
    if (status != FOVEA_OK) {
      printf("decode: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
      return 1;
    }
    const float off = out[0][0] - 1.0f, mean = out[heads - 1][0];
    if (off > 1e-6f || off < -1e-6f || mean < -1e-5f || mean > (float)token + 1e-5f) return 1;
  }
  printf("decode: %d tokens in a cache of %u bytes, and %u bytes of scratch\n", (int)capacity,
         (unsigned)sizeof cache, (unsigned)sizeof scratch);
  return 0;
}
