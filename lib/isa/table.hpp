// All kernels that a build may hold; each stands in a file of its own, compiled with the flags of its ISA.
#pragma once
#include "kernel.hpp"

namespace fovea {
extern const kernel scalar_no_fma_kernel, scalar_kernel, sse41_kernel, avx2_kernel, avx512_kernel, neon_kernel, neon64_kernel;
} // namespace fovea
