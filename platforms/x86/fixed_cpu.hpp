// Which integer ISAs this x86 core and its operating system can run.
#pragma once
#include "fovea/fixed.h"
#include "platforms/x86/cpu.hpp"

namespace fovea {

inline uint32_t read_fixed_cpu() {
  uint32_t isas = 1u << FOVEA_FIXED_SCALAR;
  if (cpu_runs(FOVEA_SSE41)) isas |= 1u << FOVEA_FIXED_SSE41; // every core with SSE4.1 has SSSE3
  if (!cpu_runs(FOVEA_AVX2)) return isas;
  isas |= 1u << FOVEA_FIXED_AVX2;
  constexpr uint32_t avxvnni_of_7_1 = 1u << 4, vnni_of_7_0 = 1u << 11;
  uint32_t a, b, c, d;
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & avxvnni_of_7_1)) isas |= 1u << FOVEA_FIXED_AVXVNNI;
  const bool wide = cpu_runs(FOVEA_AVX512) && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX512BW);
  if (wide && (c & vnni_of_7_0)) isas |= 1u << FOVEA_FIXED_AVX512VNNI;
  return isas;
}

inline bool cpu_runs_fixed(int32_t isa) { return cpu_has<read_fixed_cpu>(isa); }

} // namespace fovea
