#include <string.h>

#include "fovea.h"

@EXAMPLE@
volatile float result[4]; /* look at it in the debugger: the second number is the largest */

int main(void) {
  float out[4];
  const int32_t status = look_up(out);
  for (int i = 0; i < 4; ++i) result[i] = status == FOVEA_OK ? out[i] : 0;
  for (;;) {
  }
}
