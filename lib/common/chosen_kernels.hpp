// The kernels of a build whose flags name none: what every source was compiled for. A kernel of floats that
// wants xsimd is in it where xsimd is in the include path.
#pragma once
#include "common/system.hpp"

// Floats. Without an instruction for fma each product would be a call of libm, five to seventeen times
// slower.
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || defined(__riscv_flen) || \
    defined(__powerpc64__)
#define FOVEA_WITH_SCALAR 1
#else
#define FOVEA_WITH_SCALAR_NO_FMA 1
#endif
#if defined(__x86_64__) && __has_include(<xsimd/xsimd.hpp>)
#if defined(__SSE4_1__)
#define FOVEA_WITH_SSE41 1
#endif
#if defined(__AVX2__) && defined(__FMA__)
#define FOVEA_WITH_AVX2 1
#endif
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define FOVEA_WITH_AVX512 1
#endif
#endif
#if FOVEA_HAS_SYSTEM && defined(__aarch64__)
#define FOVEA_WITH_NEON64 1
#elif FOVEA_HAS_SYSTEM && defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
#define FOVEA_WITH_NEON 1
#endif

// Integers.
#if !FOVEA_HAS_SYSTEM
#define FOVEA_WITH_FIXED_CORTEX_M 1 // the core decides in there: Helium, DSP, Thumb or plain C++
#else
#define FOVEA_WITH_FIXED_SCALAR 1
#if defined(__x86_64__) && defined(__AVX2__)
#define FOVEA_WITH_FIXED_AVX2 1
#endif
#if defined(__x86_64__) && defined(__AVX2__) && defined(__AVXVNNI__)
#define FOVEA_WITH_FIXED_AVXVNNI 1
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__) && \
    defined(__AVX512VNNI__)
#define FOVEA_WITH_FIXED_AVX512VNNI 1
#endif
#if defined(__ARM_NEON)
#define FOVEA_WITH_FIXED_NEON 1
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#define FOVEA_WITH_FIXED_DOTPROD 1
#endif
#if defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_MATMUL_INT8)
#define FOVEA_WITH_FIXED_I8MM 1
#endif
#endif
