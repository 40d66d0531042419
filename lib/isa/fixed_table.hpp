// All integer kernels that a build may hold; each stands in a file of its own, compiled with the flags of its
// ISA.
#pragma once
#include "fixed/kernel.hpp"

namespace fovea::fixed {
extern const fixed_kernel fixed_scalar_kernel, fixed_avx2_kernel, fixed_avxvnni_kernel,
    fixed_avx512vnni_kernel, fixed_neon_kernel, fixed_dotprod_kernel, fixed_i8mm_kernel,
    fixed_cortex_m_kernel, fixed_wide_kernel;
} // namespace fovea::fixed
