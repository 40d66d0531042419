// What this RISC-V core can run, as Linux and the core itself tell it.
#pragma once
#include <sys/auxv.h>

#include "fovea/fovea.h"

namespace fovea {

// Linux also tells of vectors on cores with a draft of them, 0.7.1, whose instructions differ. Such a core
// refuses the two highest bits of this setting and answers 0; others answer the bytes of a register.
inline unsigned long bytes_of_vector() {
  unsigned long bytes;
  __asm__ volatile(
      ".option push\n\t"
      ".option arch, +v\n\t"
      "vsetvli %0, zero, e8, m1, ta, ma\n\t"
      ".option pop"
      : "=r"(bytes)
      :
      : "vl", "vtype");
  return bytes;
}

inline bool cpu_runs(int32_t isa) {
  constexpr unsigned long hwcap_v = 1ul << ('V' - 'A');
  if (isa != FOVEA_RVV) return true;
  return (getauxval(AT_HWCAP) & hwcap_v) && bytes_of_vector() >= 16;
}

} // namespace fovea
