// Which instruction sets a test walks through, and what each of them promises.
#pragma once
#include <doctest/doctest.h>

#include "fovea/fovea.h"

namespace isas {

// The one ISA that --isa asked for; 0: all that this machine has.
inline int32_t& only() {
  static int32_t isa = FOVEA_ISA_BEST;
  return isa;
}

inline bool tested(int32_t isa) {
  return fovea_has_isa(isa) == 1 && (only() == FOVEA_ISA_BEST || only() == isa);
}

// The same bits are promised wherever fma exists, as long as nothing is denormal: 32-bit NEON and Helium make
// zeros of those.
inline bool promises_bits(int32_t isa) { return isa != FOVEA_SSE41 && isa != FOVEA_SCALAR_NO_FMA; }
inline bool keeps_denormals(int32_t isa) { return isa != FOVEA_NEON && isa != FOVEA_HELIUM; }

// Of those that are tested: an Arm core without fma has none.
inline bool any_promises_bits() {
  bool any = false;
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa) any |= tested(isa) && promises_bits(isa);
  return any;
}

template <class Body>
void for_each(const Body& body) {
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa) {
    if (!tested(isa)) continue;
    INFO("isa ", doctest::String(fovea_isa_name(isa)));
    body(isa);
  }
}

} // namespace isas
