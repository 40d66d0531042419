// Integer attention on microcontrollers: the compiler's core decides what multiplies.
#define FOVEA_SOURCE_FOR_SPEED 1
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_CORTEX_M
#if (FOVEA_WITH_FIXED_DSP && !defined(__OPTIMIZE__)) || \
    (FOVEA_WITH_FIXED_THUMB && (!defined(__OPTIMIZE__) || defined(__OPTIMIZE_SIZE__)))
#error "assembly needs more registers: compile this file with -O2, or all with -DFOVEA_WITHOUT_ASSEMBLY=1"
#endif
#include "fixed/row_product.hpp"
#include "isa/fixed_table.hpp"
#if FOVEA_WITH_FIXED_HELIUM
#include "fixed/dot/helium_layer.hpp"
#elif FOVEA_WITH_FIXED_DSP
#include "fixed/dot/dsp_layer.hpp"
#include "fixed/dot/dsp_product.hpp"
#elif FOVEA_WITH_FIXED_THUMB
#include "fixed/dot/thumb_layer.hpp"
#else
#include "fixed/dot/plain_layer.hpp"
#include "fixed/dot/scalar.hpp"
#endif

namespace fovea::fixed {
namespace {
#if FOVEA_WITH_FIXED_HELIUM
using core_dot = helium_dot;
#elif FOVEA_WITH_FIXED_DSP
using core_dot = dsp_dot;
#elif FOVEA_WITH_FIXED_THUMB
using core_dot = thumb_dot;
#else
using core_dot = scalar_dot;
#endif
} // namespace

uint32_t weigh_fixed_sink(const fixed_plan& p, fixed_row& r, int32_t* scores, void* weights) {
  return core_dot::weigh_sink(p, r, scores, weights);
}
FOVEA_HOT void scale_fixed_weights(void* weights, int rows, int row, const int16_t* by, int from, int to) {
  core_dot::scale_weights(static_cast<core_dot::element*>(weights), rows, row, by, from, to);
}

#if FOVEA_WITH_FIXED_HELIUM
const fixed_kernel fixed_helium_kernel = compact_kernel_of<helium_dot>(FOVEA_FIXED_HELIUM);
const fixed_product fixed_helium_product = row_product<helium_dot>::exact(FOVEA_FIXED_HELIUM);
const fixed_layer fixed_helium_layer = row_layer<helium_layer>::at(FOVEA_FIXED_HELIUM);
const fixed_scaling fixed_helium_scaling = row_scaling_of<group_product<row_product<helium_dot>>>(
    FOVEA_FIXED_HELIUM);
#elif FOVEA_WITH_FIXED_DSP
const fixed_kernel fixed_dsp_kernel = compact_kernel_of<dsp_dot>(FOVEA_FIXED_DSP);
const fixed_product fixed_dsp_product = row_product<dsp_dot>::exact(FOVEA_FIXED_DSP);
const arranged_product fixed_dsp_arranged_product = {dsp_product::row_bytes, dsp_product::quantize,
                                                     dsp_product::multiply};
const fixed_layer fixed_dsp_layer = row_layer<dsp_layer>::at(FOVEA_FIXED_DSP);
const fixed_scaling fixed_dsp_scaling = row_scaling_of<group_product<row_product<dsp_dot>>>(FOVEA_FIXED_DSP);
#elif FOVEA_WITH_FIXED_THUMB
const fixed_kernel fixed_thumb_kernel = compact_kernel_of<thumb_dot>(FOVEA_FIXED_THUMB);
const fixed_product fixed_thumb_product = row_product<thumb_dot>::exact(FOVEA_FIXED_THUMB);
const fixed_layer fixed_thumb_layer = row_layer<thumb_layer>::at(FOVEA_FIXED_THUMB);
const fixed_scaling fixed_thumb_scaling = row_scaling_of<group_product<row_product<thumb_dot>>>(
    FOVEA_FIXED_THUMB);
#elif FOVEA_WITH_FIXED_COMPACT
const fixed_kernel fixed_scalar_kernel = compact_kernel_of<scalar_dot>(FOVEA_FIXED_SCALAR);
const fixed_product fixed_scalar_product = row_product<scalar_dot>::exact(FOVEA_FIXED_SCALAR);
const fixed_layer fixed_scalar_layer = row_layer<plain_layer<scalar_dot>>::at(FOVEA_FIXED_SCALAR);
const fixed_scaling fixed_scalar_scaling = row_scaling_of<group_product<row_product<scalar_dot>>>(
    FOVEA_FIXED_SCALAR);
#endif
} // namespace fovea::fixed
#endif
