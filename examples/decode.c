/* Decode on fixed buffers: each new token writes its key and value, and attends to all tokens so far. C99. */
#include <stdio.h>

#include "fovea/fovea.h"

enum { heads = 4, kv_heads = 2, dim = 8, capacity = 32 };

static float q[heads][dim], out[heads][dim];
static float k[kv_heads][capacity][dim], v[kv_heads][capacity][dim];
static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
FOVEA_ASSERT_FITS(scratch, dim, dim);

/* In the place of numbers that a model would compute. */
static float made_up(int seed) { return (float)((seed * 37 + 11) % 64 - 32) / 32; }

static int32_t decode(int token) {
  fovea_attention step = {0};
  for (int g = 0; g < kv_heads; ++g)
    for (int c = 0; c < dim; ++c) {
      k[g][token][c] = made_up(token * 5 + g * 3 + c);
      v[g][token][c] = g == 0 ? 1.0f : (float)token; /* heads of group 0 give 1, of group 1 a mean */
    }
  for (int h = 0; h < heads; ++h)
    for (int c = 0; c < dim; ++c) q[h][c] = made_up(token * 7 + h + c);

  step.q.data = q;
  step.k.data = k;
  step.v.data = v;
  step.out.data = out;
  step.k.head_stride = step.v.head_stride = capacity * dim; /* room for `capacity` rows per head */
  step.q_heads = heads;
  step.kv_heads = kv_heads;
  step.dim = dim;
  step.queries = 1;
  step.keys = token + 1;
  return fovea_attend(&step, scratch, sizeof scratch);
}

int main(void) {
  for (int token = 0; token < capacity; ++token) {
    const int32_t status = decode(token);
    if (status != FOVEA_OK) {
      printf("decode: %s: %s\n", fovea_argument_text(status), fovea_reason_text(status));
      return 1;
    }
    const float off = out[0][0] - 1.0f, mean = out[heads - 1][0];
    if (off > 1e-6f || off < -1e-6f || mean < -1e-5f || mean > (float)token + 1e-5f) return 1;
  }
  printf("decode: %d tokens in %u bytes of scratch\n", (int)capacity, (unsigned)sizeof scratch);
  return 0;
}
