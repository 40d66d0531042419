// The peak of products of bytes, by the instruction that the integer kernels of an ISA use: a loop of twelve
// chains in registers.
#pragma once
#include <cstdint>

#include "fovea/fixed.h"

namespace bench {

#if defined(__x86_64__) && defined(__GNUC__)
// Twelve registers of sums; 12 is for products, 14 and 15 are the factors.
#define BENCH_CHAINS(before, after)                                                                  \
  __asm__ volatile("1:\n.irp r, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11\n" before "\\r" after           \
                   "\n.endr\n"                                                                       \
                   "dec %0\njnz 1b"                                                                  \
                   : "+r"(turns)                                                                     \
                   :                                                                                 \
                   : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                     "xmm10", "xmm11", "xmm12", "cc")

// Runs `turns` turns and returns the products of one; 0 where this file knows no loop.
inline double multiply_bytes(int32_t fixed_isa, int64_t turns) {
  switch (fixed_isa) {
    case FOVEA_FIXED_AVX512VNNI:
      BENCH_CHAINS("vpdpbusd %%zmm14, %%zmm15, %%zmm", "");
      return 12 * 64;
    case FOVEA_FIXED_AVXVNNI:
      BENCH_CHAINS("%{vex%} vpdpbusd %%ymm14, %%ymm15, %%ymm", "");
      return 12 * 32;
    case FOVEA_FIXED_AVX2:
      BENCH_CHAINS("vpmaddwd %%ymm14, %%ymm15, %%ymm12\nvpaddd %%ymm12, %%ymm\\r, %%ymm", "");
      return 12 * 16;
    case FOVEA_FIXED_SSE41:
      BENCH_CHAINS("movdqa %%xmm14, %%xmm12\npmaddwd %%xmm15, %%xmm12\npaddd %%xmm12, %%xmm", "");
      return 12 * 8;
    default:
      return 0;
  }
}
#undef BENCH_CHAINS
#else
inline double multiply_bytes(int32_t, int64_t) { return 0; }
#endif

} // namespace bench
