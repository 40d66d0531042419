// Which integer ISAs this 32-bit Arm core can run, as Linux tells it.
#pragma once
#include <sys/auxv.h>

#include "fovea/fixed.h"

namespace fovea {

inline bool cpu_runs_fixed(int32_t isa) {
  constexpr unsigned long neon = 1ul << 12;
  return isa != FOVEA_FIXED_NEON || (getauxval(AT_HWCAP) & neon);
}

} // namespace fovea
