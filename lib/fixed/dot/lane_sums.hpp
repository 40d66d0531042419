// Sums of the lanes of a column, one lane each, in as many registers as that takes.
#pragma once
#include "fixed/tile.hpp"

namespace fovea::fixed {

template <class Registers, int Slices = 1>
struct lane_sums {
  using reg = typename Registers::reg;
  static constexpr int regs = 16 / Slices / Registers::lanes;

  template <class Start>
  static FOVEA_INLINE void begin(reg (&sum)[regs], Start start) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = Registers::spread(start(0));
  }
  static FOVEA_INLINE void fold(const reg (&sum)[regs], int, reg (&out)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) out[i] = sum[i];
  }
};

} // namespace fovea::fixed
