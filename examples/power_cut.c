/* A cache that survives a power cut. It is saved into two banks in turn. Power fails at every byte of a save,
 * and each time the newest whole bank gives the state before the save, or the one that was saved. C99. */
#include <stdio.h>
#include <string.h>

#include "fovea/cache.h"

enum { heads = 1, dim = 4, capacity = 20 };
enum { size = FOVEA_CACHE_BYTES(heads, dim, dim, capacity, FOVEA_F32) };

static FOVEA_CACHE_ALIGN unsigned char cache[size], bank[2][size], restored[size];

static int32_t append(int token) {
  float k[heads][dim], v[heads][dim];
  fovea_in keys = {0}, values = {0};
  for (int c = 0; c < dim; ++c) {
    k[0][c] = (float)(token + c);
    v[0][c] = (float)(token - c);
  }
  keys.data = k;
  values.data = v;
  return fovea_cache_append(cache, &keys, &values, 1);
}

/* Writes the first `bytes` bytes of the cache, then power fails. */
static void save(unsigned char *to, size_t bytes) { memcpy(to, cache, bytes); }

/* After the start: the newer one of the banks that are whole. -1: there is none. */
static int find_newest(void) {
  int newest = -1;
  for (int i = 0; i < 2; ++i) {
    if (fovea_cache_verify(bank[i], size) != FOVEA_OK) continue;
    if (newest < 0 ||
        (int32_t)(fovea_cache_generation(bank[i]) - fovea_cache_generation(bank[newest])) > 0)
      newest = i;
  }
  return newest;
}

/* One token more, saved over the older bank; power fails at every byte. */
static int survives(int token, unsigned char *older) {
  static unsigned char before[size];
  memcpy(before, older, size);
  if (append(token) != FOVEA_OK) return 0;
  for (size_t bytes = 0; bytes <= size; ++bytes) {
    int newest;
    memcpy(older, before, size);
    save(older, bytes);
    newest = find_newest();
    if (newest < 0 || fovea_cache_restore(restored, size, bank[newest], size) != FOVEA_OK) return 0;
    if (fovea_cache_length(restored) != token && fovea_cache_length(restored) != token + 1) return 0;
  }
  return fovea_cache_length(restored) == token + 1;
}

int main(void) {
  fovea_cache_shape shape = {0};
  shape.kv_heads = heads;
  shape.dim = dim;
  shape.capacity = capacity;
  if (fovea_cache_init(cache, size, &shape) != FOVEA_OK) return 1;
  save(bank[0], size);
  for (int token = 0; token < capacity; ++token)
    if (!survives(token, bank[(token + 1) % 2])) {
      printf("power_cut: token %d was lost\n", token);
      return 1;
    }
  printf("power_cut: %d saves of %d bytes, cut at every byte\n", (int)capacity, (int)size);
  return 0;
}
