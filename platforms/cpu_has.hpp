// Remembers what a CPU or its system answers.
#pragma once
#include <stdint.h>

namespace fovea {

// Bit `isa` of what `read` answers, which is remembered in one relaxed atomic word: a cpuid costs
// microseconds on a virtual machine, and a system call is no cheaper.
template <uint32_t (*read)()>
inline bool cpu_has(int32_t isa) {
  static uint32_t known;
  uint32_t isas = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (isas == 0) {
    isas = read() | 1;
    __atomic_store_n(&known, isas, __ATOMIC_RELAXED);
  }
  return isas >> isa & 1;
}

} // namespace fovea
