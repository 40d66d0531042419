// Integer attention on microcontrollers: the compiler's core decides what multiplies.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_CORTEX_M
#include "isa/fixed_table.hpp"
#if defined(__ARM_FEATURE_MVE)
#include "fixed/dot/helium.hpp"
#elif defined(__ARM_FEATURE_DSP)
#include "fixed/dot/dsp.hpp"
#elif defined(__arm__) && __ARM_ARCH < 7
#include "fixed/dot/thumb.hpp"
#else
#include "fixed/dot/scalar.hpp"
#endif

namespace fovea::fixed {
#if defined(__ARM_FEATURE_MVE)
const fixed_kernel fixed_cortex_m_kernel = compact_kernel_of<helium_dot>(FOVEA_FIXED_HELIUM);
#elif defined(__ARM_FEATURE_DSP)
const fixed_kernel fixed_cortex_m_kernel = compact_kernel_of<dsp_dot>(FOVEA_FIXED_DSP);
#elif defined(__arm__) && __ARM_ARCH < 7
const fixed_kernel fixed_cortex_m_kernel = compact_kernel_of<thumb_dot>(FOVEA_FIXED_THUMB);
#else
const fixed_kernel fixed_cortex_m_kernel = compact_kernel_of<scalar_dot>(FOVEA_FIXED_SCALAR);
#endif
} // namespace fovea::fixed
#endif
