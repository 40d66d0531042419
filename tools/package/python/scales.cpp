// What the wheel needs of the C++ headers, as C functions: scales of integer attention and of integer layers.
#include "fovea/fixed.hpp"

extern "C" {
FOVEA_API const char* fovea_python_scale(double q, double k, double v, double out, double softmax,
                                         int32_t dim, int32_t max_keys, int32_t dtype, int32_t zero_points,
                                         fovea_fixed_scale* scale) {
  const fovea::fixed_scale_answer a = fovea::make_fixed_scale({q, k, v, out, softmax}, dim, max_keys, dtype,
                                                              zero_points != 0);
  *scale = a.scale;
  return a.refusal;
}
FOVEA_API void fovea_python_multiplier(double real, int32_t* multiplier, int32_t* shift) {
  const fovea::fixed_multiplier m = fovea::make_fixed_multiplier(real);
  *multiplier = m.multiplier;
  *shift = m.shift;
}
}
