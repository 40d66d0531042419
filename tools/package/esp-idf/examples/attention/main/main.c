#include <stdio.h>
#include <string.h>

#include "fovea.h"

@EXAMPLE@
void app_main(void) {
  float out[4];
  const int32_t status = look_up(out);
  printf("%s: %.4f %.4f %.4f %.4f\n", fovea_reason_text(status), out[0], out[1], out[2], out[3]);
}
