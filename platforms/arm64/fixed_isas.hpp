// From the words in which systems speak of a 64-bit Arm core to its integer ISAs: bit i is set when ISA i can
// run. No system is asked here, so tests can answer for any.
#pragma once
#include <stdint.h>

#include "fovea/fixed.h"

namespace fovea {

// The kernel of i8mm takes dot products, too.
constexpr uint32_t fixed_isas_of(bool dotprod, bool i8mm) {
  return 1u << FOVEA_FIXED_SCALAR | 1u << FOVEA_FIXED_NEON | (dotprod ? 1u << FOVEA_FIXED_DOTPROD : 0) |
         (dotprod && i8mm ? 1u << FOVEA_FIXED_I8MM : 0);
}

// Linux, FreeBSD and OpenBSD: two words of flags.
constexpr uint32_t fixed_isas_of_hwcaps(unsigned long hwcap, unsigned long hwcap2) {
  constexpr unsigned long dotprod = 1ul << 20, i8mm = 1ul << 13;
  return fixed_isas_of(hwcap & dotprod, hwcap2 & i8mm);
}

// Apple: ask(name) is a number, 0 where the system does not know the name.
template <class Ask>
uint32_t fixed_isas_of_sysctl(Ask ask) {
  return fixed_isas_of(ask("hw.optional.arm.FEAT_DotProd") != 0, ask("hw.optional.arm.FEAT_I8MM") != 0);
}

// Windows: ask(number) is 0 where the system does not know the number.
template <class Ask>
uint32_t fixed_isas_of_windows(Ask ask) {
  constexpr unsigned long dotprod = 43, i8mm = 66; // PF_ARM_V82_DP_, PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE
  return fixed_isas_of(ask(dotprod) != 0, ask(i8mm) != 0);
}

// What the compiler was allowed to use anywhere: all there is on bare metal and on systems that cannot be
// asked.
constexpr uint32_t fixed_isas_of_compiler() {
#if defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_MATMUL_INT8)
  return fixed_isas_of(true, true);
#elif defined(__ARM_FEATURE_DOTPROD)
  return fixed_isas_of(true, false);
#else
  return fixed_isas_of(false, false);
#endif
}

} // namespace fovea
