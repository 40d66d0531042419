// Scores with VNNI of any width: VPDPBUSD, four bytes deep. Keys are the unsigned operand: their bytes plus 128, taken back by the start of
// the sums. Registers: those of AVX2 with AVX-VNNI, or those of AVX-512.
#pragma once
#include <cstring>

#include "fixed/tile.hpp"

namespace fovea {

template <class Registers>
struct vnni_keys : Registers {
  using reg = typename Registers::reg;
  using element = int8_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 1, regs = 16 / Registers::lanes, piece_step = 4 * Registers::lanes;
  static constexpr int key_offset = -128;

  static FOVEA_INLINE int32_t sum(const int8_t* q, int dim) {
    constexpr int width = 4 * Registers::lanes;
    reg sums = Registers::spread(0);
    int32_t rest = 0;
    int c = 0;
    for (; c + width <= dim; c += width) Registers::dot_bytes(sums, Registers::spread(0x01010101), Registers::load(q + c));
    for (; c < dim; ++c) rest += q[c];
    return static_cast<int32_t>(Registers::total(sums)) + rest;
  }
  static FOVEA_INLINE chunk take(const int8_t* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) y[i] = Registers::flip(Registers::load(b + i * piece_step));
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, reg y, chunk x) {
    int32_t four;
    std::memcpy(&four, x, sizeof four);
    Registers::dot_bytes(sum, y, Registers::spread(four));
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[regs], Start start) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = Registers::spread(start(0));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[regs], int, reg (&out)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) out[i] = sum[i];
  }
};

} // namespace fovea
