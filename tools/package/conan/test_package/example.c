#include <stdio.h>
#include <string.h>

#include "fovea/fovea.h"

@EXAMPLE@
int main(void) {
  float out[4];
  const int32_t status = look_up(out);
  printf("%s: %.4f %.4f %.4f %.4f\n", fovea_reason_text(status), (double)out[0], (double)out[1], (double)out[2],
         (double)out[3]);
  return status == FOVEA_OK && out[1] > out[0] ? 0 : 1;
}
