// What this x86 core and its operating system can run: cpuid, and XGETBV for the registers that the system
// saves.
#pragma once
#include <cpuid.h>

#include <cstdint>

#include "fovea/fovea.h"
#include "platforms/cpu_has.hpp"

namespace fovea {

inline uint64_t saved_registers() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

constexpr int32_t cpu_of_amd = 31, cpu_is_zen4 = 30, cpu_is_zen5 = 29; // bits that are no ISA's

// Family 19h are Zen 3, which has no AVX-512, and Zen 4, which executes it in two halves. 1Ah is Zen 5.
inline uint32_t family_of(uint32_t signature) {
  const uint32_t family = signature >> 8 & 0xf;
  return family == 0xf ? family + (signature >> 20 & 0xff) : family;
}

// Bit i is set when ISA i can run; and those bits.
inline uint32_t read_cpu() {
  uint32_t a, b, c, d, b7 = 0, c7, d7, unused;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  const uint32_t signature = a;
  const bool has_7 = __get_cpuid_count(7, 0, &a, &b7, &c7, &d7);
  const uint64_t saved = (c & bit_OSXSAVE) ? saved_registers() : 0;
  const bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6;
  const bool fma = ymm && (c & bit_FMA) && (c & bit_AVX);
  const bool avx2 = fma && has_7 && (b7 & bit_AVX2) && (c & bit_F16C);
  constexpr uint32_t wide = bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
  uint32_t isas = 1;
  if (d & bit_SSE2) isas |= 1u << FOVEA_SCALAR_NO_FMA;
  const bool amd = __get_cpuid(0, &a, &b, &unused, &d) && b == signature_AMD_ebx;
  if (fma) isas |= 1u << FOVEA_SCALAR;
  if (c & bit_SSE4_1) isas |= 1u << FOVEA_SSE41;
  if (avx2) isas |= 1u << FOVEA_AVX2;
  if (avx2 && zmm && (b7 & wide) == wide) {
    isas |= 1u << FOVEA_AVX512;
    if (amd && family_of(signature) == 0x19) isas |= 1u << cpu_is_zen4;
  }
  if (amd) isas |= 1u << cpu_of_amd;
  if (amd && family_of(signature) == 0x1a) isas |= 1u << cpu_is_zen5;
  return isas;
}

inline bool cpu_runs(int32_t isa) { return cpu_has<read_cpu>(isa); }

} // namespace fovea
