// Products of 16 bits on panels four deep, of any width: bytes are widened on their way to registers. A register holds half as many lanes as
// it has sums, two halves of each lane.
#pragma once
#include <cstring>

#include "fixed/tile.hpp"

namespace fovea {

template <class Registers>
struct word_quads : Registers {
  using reg = typename Registers::reg;
  using element = int16_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int16_t*;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 16 / Registers::lanes, regs = 2, piece_step = 2 * Registers::lanes;
  static constexpr int planes = 1, block_step = 64, key_offset = 0;

  static FOVEA_INLINE chunk take(const int16_t* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, piece (&y)[2]) {
    y[0] = Registers::widened(b);
    y[1] = Registers::widened(b + piece_step);
  }
  template <int Step>
  static FOVEA_INLINE void add(acc& sum, piece y, chunk x) {
    int64_t quad;
    std::memcpy(&quad, x, sizeof quad);
    Registers::dot_words(sum, y, Registers::spread_quad(quad));
  }
  template <class Start>
  static FOVEA_INLINE void begin(acc (&sum)[2], Start start) {
    sum[0] = sum[1] = Registers::spread_quad(static_cast<uint32_t>(start(0)));
  }
  static FOVEA_INLINE void fold(const acc (&sum)[2], int, reg (&out)[1]) { out[0] = Registers::pair_sums(sum[0], sum[1]); }
};

} // namespace fovea
