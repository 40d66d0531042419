// What the library needs of its compiler, and which kernels it holds. Every source of the library includes
// this file first, so that a Makefile or an IDE that knows nothing of our CMake gets the same bits, or an
// error that names the flag.
#pragma once
#include "common/features.hpp"
#include "common/system.hpp"

// 1. Flags under which results would be wrong.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0)
#error "fovea's results would be wrong: drop -ffast-math, -Ofast and parts of them, see docs/integration.md"
#endif
#if __FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2 || __FLT_EVAL_METHOD__ == -1
#error "fovea's floats must be computed as floats, not in x87 registers: compile it with -msse2 -mfpmath=sse"
#endif
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(FOVEA_NO_FLOAT_VECTORS)
#error "Helium's floats flush denormals and lose NaN: compile with -mcpu=cortex-m55+nomve.fp"
#endif

// 2. Flags that no macro shows. Our CMake gives them and says so; elsewhere pragmas set them for everything
// below. Products are rounded before they are added, but by an explicit fma.
#if FOVEA_EXACT_FLAGS
#elif defined(__clang__)
#pragma float_control(precise, on)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
// Where the core has low-overhead loops (Cortex-M52, M55, M85), gcc 12 and 14 let the end of a loop overwrite
// flags that a condition after the loop still reads, so that a loop by two always takes one step more. On
// other cores this changes nothing.
#pragma GCC optimize("no-branch-count-reg")
#ifdef __OPTIMIZE__
#pragma GCC optimize("omit-frame-pointer") // assembly needs all registers but one
#endif
#endif
#endif

// 3. Cortex-M from M3 on: the library is compiled for size, whatever -O it is given, but -O0. Attention loses
// nothing, for its loops are unrolled by hand. What is faster with -O2 says so: a function by
// FOVEA_FOR_SPEED, a source by FOVEA_SOURCE_FOR_SPEED. What runs once a call or a block says
// FOVEA_SOURCE_FOR_SIZE.
#if !FOVEA_HAS_SYSTEM && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && __ARM_ARCH >= 7
#define FOVEA_FOR_SPEED \
  __attribute__((optimize("O2", "fp-contract=off", "no-branch-count-reg", "omit-frame-pointer")))
#define FOVEA_FOR_SIZE __attribute__((optimize("no-move-loop-invariants", "no-schedule-insns2")))
#if !FOVEA_EXACT_FLAGS && !defined(FOVEA_SOURCE_FOR_SPEED)
#pragma GCC optimize("Os", "fp-contract=off", "no-branch-count-reg", "omit-frame-pointer")
#endif
#ifdef FOVEA_SOURCE_FOR_SIZE
// In validation, whose loops are short, these optimisations only take flash: 2 % of an integer call.
#pragma GCC optimize("no-tree-loop-optimize", "no-move-loop-invariants", "no-schedule-insns2")
#endif
#else
#define FOVEA_FOR_SPEED
#define FOVEA_FOR_SIZE
#endif

// 4. Kernels: FOVEA_WITH_<ISA> is 1 for those that this build holds. The files of all others become empty.
#include "isa/list.hpp"
#if !(FOVEA_WITH_SCALAR || FOVEA_WITH_SCALAR_NO_FMA || FOVEA_WITH_HELIUM) || \
    !(FOVEA_WITH_FIXED_SCALAR || FOVEA_WITH_FIXED_CORTEX_M)
#error "FOVEA_WITH_...: name all kernels of this build, a scalar one among them, or none"
#endif
#ifndef FOVEA_WITH_FIXED_S16
#define FOVEA_WITH_FIXED_S16 1 // integer attention on 16-bit numbers
#endif
