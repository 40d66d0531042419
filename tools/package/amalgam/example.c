/* Attention of one query over four keys, in floats. */
#include <stdio.h>

#include "fovea.h"

int main(void) {
  static const float q[4] = {1, 0, 0, 0};
  static const float k[4][4] = {{4, 0, 0, 0}, {0, 4, 0, 0}, {0, 0, 4, 0}, {0, 0, 0, 4}};
  static const float v[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
  static unsigned char scratch[FOVEA_SCRATCH(4, 4)];
  float out[4];
  fovea_attention a = {0};
  a.q.data = q;
  a.k.data = k;
  a.v.data = v;
  a.out.data = out;
  a.q_heads = 1;
  a.dim = 4;
  a.queries = 1;
  a.keys = 4;
  const int32_t status = fovea_attend(&a, scratch, sizeof scratch);
  printf("%s: %.4f %.4f %.4f %.4f\n", fovea_reason_text(status), (double)out[0], (double)out[1], (double)out[2],
         (double)out[3]);
  return status == FOVEA_OK ? 0 : 1;
}
