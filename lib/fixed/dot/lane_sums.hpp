// Sums of sixteen columns with a lane for each, in as many registers as that takes.
#pragma once
#include "fixed/tile.hpp"

namespace fovea::fixed {

template <class Registers>
struct lane_sums {
  using reg = typename Registers::reg;
  static constexpr int regs = 16 / Registers::lanes;

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
