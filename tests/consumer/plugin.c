/* A shared object that holds the static library: links only if the library is position independent. */
#include "fovea/fixed.h"
#include "fovea/fovea.h"

int plugin_supports_floats_and_integers(void);
int plugin_supports_floats_and_integers(void) {
  return fovea_has_isa(FOVEA_SCALAR) && fovea_fixed_isa() != 0 && fovea_fixed_attend(0, 0, 0) != FOVEA_OK &&
         fovea_attend(0, 0, 0) != FOVEA_OK;
}
