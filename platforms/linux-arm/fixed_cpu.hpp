// Which integer ISAs this 64-bit Arm core can run, as Linux tells it.
#pragma once
#include <sys/auxv.h>

#include "fovea/fixed.h"

namespace fovea {

inline bool cpu_runs_fixed(int32_t isa) {
  constexpr unsigned long dotprod = 1ul << 20, i8mm = 1ul << 13;
  if (isa == FOVEA_FIXED_DOTPROD) return getauxval(AT_HWCAP) & dotprod;
  if (isa == FOVEA_FIXED_I8MM) return (getauxval(AT_HWCAP) & dotprod) && (getauxval(AT_HWCAP2) & i8mm);
  return true;
}

} // namespace fovea
