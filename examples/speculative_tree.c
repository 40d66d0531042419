/* Speculative decoding: a small model drafts a tree of tokens, one call of attention looks at all of them,
 * and the path that the large model agrees with stays in the cache. C99.
 *
 * Instead of models there are tables: what matters here is which tokens go where. */
#include <stdint.h>
#include <stdio.h>

#include "fovea/cache.h"

enum { heads = 4, kv_heads = 2, dim = 16, capacity = 96, words = 12, tokens = 40, nodes = 7 };

/* A last token, two guesses for the next one, and two more below each guess that is thought to be right:
 *
 *   0 -+- 1 -+- 3 -+- 5
 *      |     |     +- 6
 *      |     +- 4
 *      +- 2                                                                                             */
static const int16_t parents[nodes] = {-1, 0, 0, 1, 1, 3, 3};
static const int depth[nodes] = {0, 1, 1, 2, 2, 3, 3};

static FOVEA_CACHE_ALIGN unsigned char cache[FOVEA_CACHE_BYTES(kv_heads, dim, dim, capacity, FOVEA_F32)];
static unsigned char scratch[FOVEA_SCRATCH_FAST(dim, dim, nodes *heads / kv_heads, 0)];
static float q[heads][nodes][dim], k[kv_heads][nodes][dim], v[kv_heads][nodes][dim], out[heads][nodes][dim];

/* A number from -1 to 1 that depends on all of its arguments. */
static float number(int kind, int head, int token, int position, int c) {
  uint32_t x = (uint32_t)((((kind * 7 + head) * 31 + token) * 101 + position) * dim + c) * 0x9E3779B1u;
  x = (x ^ (x >> 15)) * 0x846CA68Bu;
  return (float)(x >> 8) / (1 << 23) - 1;
}

/* Query, key and value of a token at a position, as a layer projects and rotates them. */
static void project(int node, int token, int position) {
  for (int c = 0; c < dim; ++c) {
    for (int h = 0; h < heads; ++h) q[h][node][c] = 3 * number(0, h, token, position, c);
    for (int g = 0; g < kv_heads; ++g) k[g][node][c] = number(1, g, token, position, c);
    for (int g = 0; g < kv_heads; ++g) v[g][node][c] = number(2, g, token, 0, c);
  }
}

/* The word that the large model says after a node: the one that its output is most like. */
static int next_word(int node) {
  int best = 0;
  float most = -1e9f;
  for (int word = 0; word < words; ++word) {
    float like = 0;
    for (int h = 0; h < heads; ++h)
      for (int c = 0; c < dim; ++c) like += out[h][node][c] * number(3, h, word, 0, c);
    if (like > most) {
      most = like;
      best = word;
    }
  }
  return best;
}

/* The first `count` rows of k and v become tokens of the cache. */
static int32_t append(int count) {
  fovea_in keys = {0}, values = {0};
  keys.data = k;
  values.data = v;
  keys.head_stride = values.head_stride = nodes * dim;
  return fovea_cache_append(cache, &keys, &values, count);
}

static int32_t attend(int queries, const fovea_pattern *pattern) {
  fovea_attention a = {0};
  int32_t status;
  a.q.data = q;
  a.out.data = out;
  a.q.head_stride = a.out.head_stride = nodes * dim;
  a.q_heads = heads;
  a.queries = queries;
  a.flags = FOVEA_CAUSAL;
  a.pattern = pattern;
  status = fovea_cache_view(cache, NULL, &a);
  return status == FOVEA_OK ? fovea_attend(&a, scratch, sizeof scratch) : status;
}

/* One token a call. */
static int decode_plainly(int text[tokens]) {
  text[0] = 0;
  for (int n = 0; n + 1 < tokens; ++n) {
    project(0, text[n], n);
    if (append(1) != FOVEA_OK || attend(1, NULL) != FOVEA_OK) return 0;
    text[n + 1] = next_word(0);
  }
  return 1;
}

/* The small model. It is right unless the position is a multiple of four; a second guess is another word. */
static void draft(const int text[tokens], int last, int length, int guess[nodes]) {
  guess[0] = last;
  for (int node = 1; node < nodes; ++node) {
    const int at = length + depth[node], word = at < tokens ? text[at] : 0;
    guess[node] = (word + (node % 2 == 0) + (at % 4 == 0)) % words;
  }
}

/* Follows the tree as long as it has the word that the large model says. Returns how many nodes are kept, and
 * the word behind them. */
static int accept(const int guess[nodes], int path[nodes], int *next) {
  int kept = 1, child = 1;
  path[0] = 0;
  *next = next_word(0);
  for (; child < nodes; ++child) {
    if (parents[child] != path[kept - 1] || guess[child] != *next) continue;
    path[kept++] = child;
    *next = next_word(child);
  }
  return kept;
}

int main(void) {
  static int text[tokens], spoken[tokens];
  fovea_cache_shape shape = {0};
  fovea_pattern tree = {0};
  int length = 0, calls = 0, last = 0;
  tree.parents = parents;
  shape.kv_heads = kv_heads;
  shape.dim = dim;
  shape.capacity = capacity;
  if (fovea_cache_init(cache, sizeof cache, &shape) != FOVEA_OK || !decode_plainly(text)) return 1;
  if (fovea_cache_reset(cache) != FOVEA_OK) return 1;
  while (length < tokens) {
    int guess[nodes], path[nodes], next, kept;
    draft(text, last, length, guess);
    for (int node = 0; node < nodes; ++node) project(node, guess[node], length + depth[node]);
    if (append(nodes) != FOVEA_OK || attend(nodes, &tree) != FOVEA_OK) return 1;
    ++calls;
    kept = accept(guess, path, &next);
    /* The tree goes, and its accepted path comes back, now side by side. */
    for (int n = 0; n < kept; ++n) {
      if (length + n < tokens) spoken[length + n] = guess[path[n]];
      project(n, guess[path[n]], length + n);
    }
    if (fovea_cache_truncate(cache, length) != FOVEA_OK || append(kept) != FOVEA_OK) return 1;
    length += kept;
    last = next;
  }
  for (int n = 0; n < tokens; ++n)
    if (spoken[n] != text[n]) return 1;
  if (fovea_cache_length(cache) != length) return 1;
  printf("speculative_tree: %d tokens in %d calls, the same as one by one\n", (int)tokens, calls);
  return calls < tokens ? 0 : 1;
}
