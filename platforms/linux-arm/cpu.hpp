// What this 32-bit Arm core can run, as Linux tells it.
#pragma once
#include <sys/auxv.h>

#include "fovea/fovea.h"

namespace fovea {

inline bool cpu_runs(int32_t isa) {
  constexpr unsigned long hwcap_neon = 1ul << 12, hwcap_vfpv4 = 1ul << 16;
  if (isa == FOVEA_SCALAR_NO_FMA) return true;
  const unsigned long caps = getauxval(AT_HWCAP);
  if (isa == FOVEA_NEON) return (caps & hwcap_neon) && (caps & hwcap_vfpv4);
  return caps & hwcap_vfpv4;
}

} // namespace fovea
