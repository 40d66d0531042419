/* Cross-attention: queries are words of a translation, keys are words of the source. With the identity as V
 * the output is the weights. */
#include <stdio.h>

#include "fovea/fovea.h"

enum { translated = 4, source = 4, dim = 4 };

static const char* const source_words[source] = {"turn", "off", "the", "lights"};
static const char* const translated_words[translated] = {"schalte", "die", "Lichter", "aus"};
static const int expected[translated] = {0, 2, 3, 1};

static const float s[translated][dim] = {{4, 1, 0, 0}, {0, 0, 4, 1}, {0, 0, 1, 4}, {1, 4, 0, 0}};
static const float h[source][dim] = {{2, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 2, 0}, {0, 0, 0, 2}};
static const float identity[source][source] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
static float weights[translated][source];
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
  a.queries = translated;
  a.keys = source;
  if (fovea_attend(&a, scratch, sizeof scratch) != FOVEA_OK) return 1;

  printf("cross_attention:");
  for (int i = 0; i < translated; ++i) {
    const int j = heaviest(weights[i]);
    printf(" %s <- %s %.2f%s", translated_words[i], source_words[j], (double)weights[i][j],
           i + 1 < translated ? "," : "\n");
    if (j != expected[i]) return 1;
  }
  return 0;
}
