/* Cross-attention: the words of a translation ask, the words of the source answer; with V = the identity, the answer is the weights. */
#include <stdio.h>

#include "fovea/fovea.h"

enum { asking = 4, source = 4, dim = 4 };

static const char* const source_words[source] = {"turn", "off", "the", "lights"};
static const char* const asking_words[asking] = {"schalte", "die", "Lichter", "aus"};
static const int expected[asking] = {0, 2, 3, 1};

static const float s[asking][dim] = {{4, 1, 0, 0}, {0, 0, 4, 1}, {0, 0, 1, 4}, {1, 4, 0, 0}};
static const float h[source][dim] = {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}};
static const float identity[source][source] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
static float weights[asking][source];
static unsigned char scratch[FOVEA_SCRATCH(dim, source)];

static int heaviest(const float* row) {
  int best = 0;
  for (int j = 1; j < source; ++j)
    if (row[j] > row[best]) best = j;
  return best;
}

int main(void) {
  fovea_attention a = {0};
  a.q.data = s;
  a.k.data = h;
  a.v.data = identity;
  a.out.data = weights;
  a.q_heads = 1;
  a.dim = dim;
  a.v_dim = source;
  a.queries = asking;
  a.keys = source;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 1;

  printf("cross_attention:");
  for (int i = 0; i < asking; ++i) {
    const int j = heaviest(weights[i]);
    printf(" %s <- %s %.2f%s", asking_words[i], source_words[j], (double)weights[i][j], i + 1 < asking ? "," : "\n");
    if (j != expected[i]) return 1;
  }
  return 0;
}
