/* Causal prefill in chunks, so that a device can do other work in between. The bits are those of one call.
 * C99. */
#include <stdio.h>
#include <string.h>

#include "fovea/fovea.h"

enum { heads = 2, dim = 16, tokens = 100, chunk = 16 };

static float q[tokens][heads][dim], k[tokens][heads][dim], v[tokens][heads][dim];
static float whole[tokens][heads][dim], pieces[tokens][heads][dim];
static unsigned char scratch[FOVEA_SCRATCH_FAST(dim, dim, chunk, tokens)];

/* Queries first .. first + count - 1 over all keys up to the last of them. By default queries are the last
 * keys. */
static int32_t prefill(int first, int count, float* out) {
  fovea_attention a = {0};
  a.q.data = q[first];
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  /* [token][head][dim], read in place */
  a.q.head_stride = a.k.head_stride = a.v.head_stride = a.out.head_stride = dim;
  a.q.token_stride = a.k.token_stride = a.v.token_stride = a.out.token_stride = heads * dim;
  a.q_heads = heads;
  a.dim = dim;
  a.queries = count;
  a.keys = first + count;
  a.flags = FOVEA_CAUSAL;
  return fovea_attend(&a, scratch, sizeof scratch);
}

static void fill(float* values, int count, int seed) {
  for (int i = 0; i < count; ++i) values[i] = (float)((i * 29 + seed * 17) % 101 - 50) / 50;
}

int main(void) {
  fill(&q[0][0][0], tokens * heads * dim, 1);
  fill(&k[0][0][0], tokens * heads * dim, 2);
  fill(&v[0][0][0], tokens * heads * dim, 3);

  if (prefill(0, tokens, &whole[0][0][0]) != FOVEA_OK) return 1;
  for (int first = 0; first < tokens; first += chunk) {
    const int count = tokens - first < chunk ? tokens - first : chunk;
    if (prefill(first, count, &pieces[first][0][0]) != FOVEA_OK) return 1;
  }
  if (memcmp(whole, pieces, sizeof whole) != 0) return 1;
  printf("chunked_prefill: %d tokens in chunks of %d, the same bits as in one call\n", (int)tokens,
         (int)chunk);
  return 0;
}
