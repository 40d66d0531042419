// What turns scores into distances below the reference, with registers of any width.
#pragma once
#include "fixed/tile.hpp"
#include "fovea/fixed.h"

namespace fovea::fixed {

template <class Registers>
struct distances_below : Registers {
  static constexpr bool measures = true;
  // Whole octaves of a hidden key below any reference: no rise makes 2^15 of them.
  static constexpr int16_t hidden = 1 << 14;
  struct distance_scale { // octaves are the high half of (s << up) * multiplier
    typename Registers::reg multiplier;
    decltype(Registers::by(0)) up;
  };
  static FOVEA_INLINE distance_scale scale_of(const fovea_fixed_scale& x) {
    return {Registers::spread(x.score_multiplier), Registers::by(32 - x.score_shift)};
  }
};

} // namespace fovea::fixed
