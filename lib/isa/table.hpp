// All kernels that a build may hold; each stands in a file of its own, compiled with the flags of its ISA.
#pragma once
#include "f32/kernel.hpp"

namespace fovea::f32 {
extern const kernel scalar_no_fma_kernel, scalar_kernel, sse41_kernel, avx2_kernel, avx512_kernel,
    neon_kernel, neon64_kernel;
} // namespace fovea::f32
