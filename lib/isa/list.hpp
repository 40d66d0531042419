// The one list of instruction sets. It is read in two ways.
//
// 1. build.hpp reads it once, to decide which kernels a build holds: FOVEA_WITH_<ISA> is 1 for those.
//    - CMake names them with -D.
//    - Where no ISA is named, the build holds those that the compiler's flags allow. Float kernels that need
//      xsimd are among them if xsimd is in the include path.
//
// 2. Each table reads it. Define FOVEA_ISA(name, constant, text), or FOVEA_FIXED_ISA for integer kernels, and
//    include this file: it expands to a row for each ISA of this build, the best last. With FOVEA_ALL_ISAS it
//    expands to a row for each ISA there is.
#ifndef FOVEA_ISAS_SETTLED
#define FOVEA_ISAS_SETTLED
#include "common/system.hpp"

#if !defined(FOVEA_WITH_SCALAR) && !defined(FOVEA_WITH_SCALAR_NO_FMA) && !defined(FOVEA_WITH_SSE41) && \
    !defined(FOVEA_WITH_AVX2) && !defined(FOVEA_WITH_AVX512) && !defined(FOVEA_WITH_NEON) &&           \
    !defined(FOVEA_WITH_NEON64) && !defined(FOVEA_WITH_HELIUM) && !defined(FOVEA_WITH_RVV) &&          \
    !defined(FOVEA_WITH_FIXED_SCALAR) && !defined(FOVEA_WITH_FIXED_CORTEX_M)

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
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && defined(__AVX512DQ__) && \
    defined(__AVX512VL__)
#define FOVEA_WITH_AVX512 1
#endif
#endif
#if FOVEA_HAS_SYSTEM && defined(__aarch64__)
#define FOVEA_WITH_NEON64 1
#elif FOVEA_HAS_SYSTEM && defined(__ARM_NEON) && defined(__ARM_FEATURE_FMA)
#define FOVEA_WITH_NEON 1
#elif FOVEA_HAS_SYSTEM && defined(__riscv_v) && defined(__clang__) && __clang_major__ >= 17
#define FOVEA_WITH_RVV 1
#endif

// Integers.
#if !FOVEA_HAS_SYSTEM
#define FOVEA_WITH_FIXED_CORTEX_M 1
#else
#define FOVEA_WITH_FIXED_SCALAR 1
#if defined(__x86_64__) && defined(__SSE4_1__)
#define FOVEA_WITH_FIXED_SSE41 1
#endif
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

#endif // no ISA is named

// A microcontroller has one kernel of integers, fixed_cortex_m.cpp; its core decides which ISA that is.
#if FOVEA_WITH_FIXED_CORTEX_M
#if defined(__clang__) && !defined(FOVEA_WITHOUT_ASSEMBLY)
#define FOVEA_WITHOUT_ASSEMBLY 1 // clang has too few registers for it: plain C++ instead
#endif
#if defined(__ARM_FEATURE_MVE)
#define FOVEA_WITH_FIXED_HELIUM 1
#elif defined(__ARM_FEATURE_DSP) && !FOVEA_WITHOUT_ASSEMBLY
#define FOVEA_WITH_FIXED_DSP 1
#elif defined(__arm__) && __ARM_ARCH < 7 && !FOVEA_WITHOUT_ASSEMBLY
#define FOVEA_WITH_FIXED_THUMB 1
#elif !FOVEA_WITH_FIXED_SCALAR
#define FOVEA_WITH_FIXED_COMPACT 1 // plain C++, in little code: the scalar ISA, too
#endif
#endif
// Are there float kernels beside the plain one that attend in tiles of vectors?
#define FOVEA_WITH_VECTORS                                                                             \
  (FOVEA_WITH_SSE41 || FOVEA_WITH_AVX2 || FOVEA_WITH_AVX512 || FOVEA_WITH_NEON || FOVEA_WITH_NEON64 || \
   FOVEA_WITH_RVV)
#endif // settled

#ifdef FOVEA_ISA
#if FOVEA_WITH_SCALAR_NO_FMA || FOVEA_ALL_ISAS
FOVEA_ISA(scalar_no_fma, FOVEA_SCALAR_NO_FMA, "scalar-no-fma")
#endif
#if FOVEA_WITH_SCALAR || FOVEA_ALL_ISAS
FOVEA_ISA(scalar, FOVEA_SCALAR, "scalar")
#endif
#if FOVEA_WITH_SSE41 || FOVEA_ALL_ISAS
FOVEA_ISA(sse41, FOVEA_SSE41, "sse41")
#endif
#if FOVEA_WITH_AVX2 || FOVEA_ALL_ISAS
FOVEA_ISA(avx2, FOVEA_AVX2, "avx2")
#endif
#if FOVEA_WITH_AVX512 || FOVEA_ALL_ISAS
FOVEA_ISA(avx512, FOVEA_AVX512, "avx512")
#endif
#if FOVEA_WITH_NEON || FOVEA_ALL_ISAS
FOVEA_ISA(neon, FOVEA_NEON, "neon")
#endif
#if FOVEA_WITH_NEON64 || FOVEA_ALL_ISAS
FOVEA_ISA(neon64, FOVEA_NEON64, "neon64")
#endif
#if FOVEA_WITH_HELIUM || FOVEA_ALL_ISAS
FOVEA_ISA(helium, FOVEA_HELIUM, "helium")
#endif
#if FOVEA_WITH_RVV || FOVEA_ALL_ISAS
FOVEA_ISA(rvv, FOVEA_RVV, "rvv")
#endif
#undef FOVEA_ISA
#endif

#ifdef FOVEA_FIXED_ISA
#if FOVEA_WITH_FIXED_SCALAR || FOVEA_WITH_FIXED_COMPACT || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(scalar, FOVEA_FIXED_SCALAR, "scalar")
#endif
#if FOVEA_WITH_FIXED_THUMB || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(thumb, FOVEA_FIXED_THUMB, "thumb")
#endif
#if FOVEA_WITH_FIXED_DSP || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(dsp, FOVEA_FIXED_DSP, "dsp")
#endif
#if FOVEA_WITH_FIXED_HELIUM || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(helium, FOVEA_FIXED_HELIUM, "helium")
#endif
#if FOVEA_WITH_FIXED_SSE41 || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(sse41, FOVEA_FIXED_SSE41, "sse41")
#endif
#if FOVEA_WITH_FIXED_AVX2 || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(avx2, FOVEA_FIXED_AVX2, "avx2")
#endif
#if FOVEA_WITH_FIXED_AVXVNNI || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(avxvnni, FOVEA_FIXED_AVXVNNI, "avxvnni")
#endif
#if FOVEA_WITH_FIXED_AVX512VNNI || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(avx512vnni, FOVEA_FIXED_AVX512VNNI, "avx512vnni")
#endif
#if FOVEA_WITH_FIXED_NEON || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(neon, FOVEA_FIXED_NEON, "neon")
#endif
#if FOVEA_WITH_FIXED_DOTPROD || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(dotprod, FOVEA_FIXED_DOTPROD, "dotprod")
#endif
#if FOVEA_WITH_FIXED_I8MM || FOVEA_ALL_ISAS
FOVEA_FIXED_ISA(i8mm, FOVEA_FIXED_I8MM, "i8mm")
#endif
#undef FOVEA_FIXED_ISA
#endif
#undef FOVEA_ALL_ISAS
