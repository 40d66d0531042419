/* A prefix in constant memory, as a system prompt in flash, and two answers that continue it: each holds only
 * its own tokens. C99. */
#include <stdio.h>
#include <string.h>

#include "fovea/cache.h"

enum { heads = 2, dim = 8, prefix_tokens = 37, own_tokens = 20, answers = 2 };
/* A branch begins with copies of prefix_tokens % 16 tokens. */
enum { capacity = prefix_tokens % 16 + own_tokens };

static FOVEA_CACHE_ALIGN unsigned char flash[FOVEA_CACHE_BYTES(heads, dim, dim, prefix_tokens, FOVEA_F32)];
static FOVEA_CACHE_ALIGN unsigned char ram[answers][FOVEA_CACHE_BYTES(heads, dim, dim, capacity, FOVEA_F32)];
static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
static float q[heads][dim], out[heads][dim], k[heads][dim], v[heads][dim];

static int32_t append(void *cache, float value) {
  fovea_in keys = {0}, values = {0};
  for (int h = 0; h < heads; ++h)
    for (int c = 0; c < dim; ++c) v[h][c] = value; /* k and q are zeros, so the result is a mean */
  keys.data = k;
  values.data = v;
  return fovea_cache_append(cache, &keys, &values, 1);
}

/* On a computer, before the image is written into flash. */
static int32_t make_prefix(void) {
  fovea_cache_shape shape = {0};
  int32_t status;
  shape.kv_heads = heads;
  shape.dim = dim;
  shape.capacity = prefix_tokens;
  status = fovea_cache_init(flash, sizeof flash, &shape);
  for (int token = 0; token < prefix_tokens && status == FOVEA_OK; ++token) status = append(flash, 1);
  return status;
}

/* Both views go into the same call: first the parent, then the branch. */
static int32_t attend(const void *prefix, const void *answer) {
  fovea_attention a = {0};
  fovea_segments where = {0};
  int32_t status;
  a.q.data = q;
  a.out.data = out;
  a.q_heads = heads;
  a.queries = 1;
  status = fovea_cache_view(prefix, &where, &a);
  if (status == FOVEA_OK) status = fovea_cache_view(answer, &where, &a);
  return status == FOVEA_OK ? fovea_attend(&a, scratch, sizeof scratch) : status;
}

int main(void) {
  static unsigned char before[sizeof flash];
  const void *const prefix = flash;
  fovea_cache_shape shape = {0};
  shape.capacity = capacity; /* all else is that of the prefix */
  if (make_prefix() != FOVEA_OK) return 1;
  memcpy(before, flash, sizeof flash);
  for (int i = 0; i < answers; ++i) {
    const float value = (float)(10 * (i + 1));
    if (fovea_cache_branch(ram[i], sizeof ram[i], &shape, prefix, prefix_tokens) != FOVEA_OK) return 1;
    for (int token = 1; token <= own_tokens; ++token) {
      const float mean = ((float)prefix_tokens + (float)token * value) / (float)(prefix_tokens + token);
      if (append(ram[i], value) != FOVEA_OK || attend(prefix, ram[i]) != FOVEA_OK) return 1;
      if (out[0][0] - mean > 1e-4f || mean - out[0][0] > 1e-4f) return 1;
    }
  }
  if (memcmp(before, flash, sizeof flash) != 0) return 1; /* nobody wrote into the prefix */
  printf("prefix_branches: %d answers of %u bytes behind a prefix of %u\n", (int)answers,
         (unsigned)sizeof ram[0], (unsigned)sizeof flash);
  return 0;
}
