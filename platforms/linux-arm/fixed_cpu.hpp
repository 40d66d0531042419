// Which integer ISAs this Arm core can run, as Linux tells it.
#pragma once
#include <sys/auxv.h>

#include "fovea/fixed.h"

namespace fovea {

#if defined(__aarch64__)
inline bool cpu_runs_fixed(int32_t isa) {
  constexpr unsigned long dotprod = 1ul << 20, i8mm = 1ul << 13;
  if (isa == FOVEA_FIXED_DOTPROD) return getauxval(AT_HWCAP) & dotprod;
  if (isa == FOVEA_FIXED_I8MM) return (getauxval(AT_HWCAP) & dotprod) && (getauxval(AT_HWCAP2) & i8mm);
  return true;
}
#else
inline bool cpu_runs_fixed(int32_t isa) {
  constexpr unsigned long neon = 1ul << 12;
  return isa != FOVEA_FIXED_NEON || (getauxval(AT_HWCAP) & neon);
}
#endif

} // namespace fovea
