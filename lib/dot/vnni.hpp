// VNNI of any width: VPDPBUSD, four bytes deep. Keys are the unsigned operand (their bytes plus 128, taken back by the start of the sums);
// weights are unsigned too, as two bytes. Registers: those of AVX2 with AVX-VNNI, or those of AVX-512.
#pragma once
#include <cstring>

#include "fixed/tile.hpp"

namespace fovea {

template <class Registers>
struct vnni_dot : Registers {
  using reg = typename Registers::reg;
  using piece = reg;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 1, regs = 16 / Registers::lanes, piece_step = 4 * Registers::lanes;

  static FOVEA_INLINE reg four(const void* a) { // bytes, to all lanes
    int32_t x;
    std::memcpy(&x, a, sizeof x);
    return Registers::spread(x);
  }
};

template <class Registers>
struct vnni_keys : vnni_dot<Registers> {
  using typename vnni_dot<Registers>::reg;
  using element = int8_t;
  using acc = reg;
  using chunk = const int8_t*;
  static constexpr int key_offset = -128;

  static FOVEA_INLINE int32_t sum(const int8_t* q, int dim) {
    constexpr int width = 4 * Registers::lanes;
    reg sums = Registers::spread(0);
    int32_t rest = 0;
    int c = 0;
    for (; c + width <= dim; c += width) Registers::dot(sums, Registers::spread(0x01010101), Registers::load(q + c));
    for (; c < dim; ++c) rest += q[c];
    return static_cast<int32_t>(Registers::total(sums)) + rest;
  }
  static FOVEA_INLINE chunk take(const int8_t* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[vnni_dot<Registers>::regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < vnni_dot<Registers>::regs; ++i) y[i] = Registers::flip(Registers::load(b + i * vnni_dot<Registers>::piece_step));
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, reg y, chunk x) {
    Registers::dot(sum, y, vnni_dot<Registers>::four(x));
  }
  template <class Start, int Regs>
  static FOVEA_INLINE void begin(acc (&sum)[Regs], Start start) {
#pragma GCC unroll 2
    for (int i = 0; i < Regs; ++i) sum[i] = Registers::spread(start(0));
  }
  template <int Regs>
  static FOVEA_INLINE void fold(const acc (&sum)[Regs], int, reg (&out)[Regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < Regs; ++i) out[i] = sum[i];
  }
};

template <class Registers>
struct vnni_values : vnni_dot<Registers> {
  using typename vnni_dot<Registers>::reg;
  using element = uint8_t; // 256 low bytes of a row, then 256 high bytes
  struct acc {
    reg low, high;
  };
  using chunk = const uint8_t*;
  static constexpr int planes = 2, block_step = 64, plane = 256;

  static FOVEA_INLINE chunk take(const uint8_t* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[vnni_dot<Registers>::regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < vnni_dot<Registers>::regs; ++i) y[i] = Registers::load(b + i * vnni_dot<Registers>::piece_step);
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, reg y, chunk x) {
    Registers::dot(sum.low, vnni_dot<Registers>::four(x), y);
    Registers::dot(sum.high, vnni_dot<Registers>::four(x + plane), y);
  }
  template <class Start, int Regs>
  static FOVEA_INLINE void begin(acc (&sum)[Regs], Start) {
#pragma GCC unroll 2
    for (int i = 0; i < Regs; ++i) sum[i] = {Registers::spread(0), Registers::spread(0)};
  }
  template <int Regs>
  static FOVEA_INLINE void fold(const acc (&sum)[Regs], int, reg (&out)[Regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < Regs; ++i) out[i] = Registers::add(Registers::times_256(sum[i].high), sum[i].low);
  }
};

} // namespace fovea
