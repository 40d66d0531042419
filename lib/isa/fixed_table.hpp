// All integer kernels that a build may hold; each stands in a file of its own, compiled with the flags of its
// ISA.
#pragma once
#include "fixed/kernel.hpp"
#include "fixed/product.hpp"

namespace fovea::fixed {

#define FOVEA_FIXED_ISA(name, constant, text)        \
  extern const fixed_kernel fixed_##name##_kernel;   \
  extern const fixed_product fixed_##name##_product; \
  extern const fixed_layer fixed_##name##_layer;     \
  extern const fixed_scaling fixed_##name##_scaling;
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"

extern const fixed_kernel fixed_s16_kernel; // S16
extern const arranged_product fixed_dsp_arranged_product;

} // namespace fovea::fixed
