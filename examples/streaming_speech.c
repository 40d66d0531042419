/* An encoder of speech that hears its input in chunks: a frame sees its whole chunk and two chunks before
 * it. The frames stand in a ring, so memory does not grow. Each result has the bits of the same attention
 * over the whole recording. C99. */
#include <stdio.h>
#include <string.h>

#include "fovea/cache.h"

enum { heads = 2, dim = 16, chunk = 8, left_chunks = 2, chunks = 12, frames = chunk * chunks };
enum { window = chunk * left_chunks, capacity = FOVEA_CACHE_RING(window, 0, chunk, FOVEA_F32) };

static FOVEA_CACHE_ALIGN unsigned char ring[FOVEA_CACHE_BYTES(heads, dim, dim, capacity, FOVEA_F32)];
static unsigned char scratch[FOVEA_SCRATCH(dim, dim)];
static float q[heads][frames][dim], k[heads][frames][dim], v[heads][frames][dim];
static float whole[heads][frames][dim], streamed[heads][frames][dim];

static fovea_attention call(const fovea_pattern *pattern) {
  fovea_attention a = {0};
  a.q_heads = heads;
  a.dim = dim;
  a.pattern = pattern;
  return a;
}

static int32_t hear_all(const fovea_pattern *pattern) {
  fovea_attention a = call(pattern);
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = whole;
  a.queries = a.keys = frames;
  return fovea_attend(&a, scratch, sizeof scratch);
}

/* The chunk that begins with frame `first`. */
static int32_t hear(const fovea_pattern *pattern, int first) {
  fovea_attention a = call(pattern);
  fovea_segments where = {0};
  fovea_in keys = {0}, values = {0};
  int32_t status;
  keys.data = k[0][first];
  values.data = v[0][first];
  keys.head_stride = values.head_stride = frames * dim;
  status = fovea_cache_append(ring, &keys, &values, chunk);
  if (status != FOVEA_OK) return status;
  a.q.data = q[0][first];
  a.out.data = streamed[0][first];
  a.q.head_stride = a.out.head_stride = frames * dim;
  a.queries = chunk;
  status = fovea_cache_view(ring, &where, &a);
  return status == FOVEA_OK ? fovea_attend(&a, scratch, sizeof scratch) : status;
}

int main(void) {
  fovea_pattern pattern = {0};
  fovea_cache_shape shape = {0};
  float *const all[] = {&q[0][0][0], &k[0][0][0], &v[0][0][0]};
  pattern.chunk = chunk;
  pattern.left_chunks = left_chunks;
  shape.kv_heads = heads;
  shape.dim = dim;
  shape.capacity = capacity;
  shape.window = window;
  for (int t = 0; t < 3; ++t)
    for (int i = 0; i < heads * frames * dim; ++i) all[t][i] = (float)((i * 37 + t * 11) % 101) / 50 - 1;
  if (fovea_cache_init(ring, sizeof ring, &shape) != FOVEA_OK || hear_all(&pattern) != FOVEA_OK) return 1;
  for (int first = 0; first < frames; first += chunk)
    if (hear(&pattern, first) != FOVEA_OK) return 1;
  if (memcmp(whole, streamed, sizeof whole) != 0) return 1;
  printf("streaming_speech: %d frames in chunks of %d from a ring of %d, the same bits as at once\n",
         (int)frames, (int)chunk, (int)capacity);
  return 0;
}
