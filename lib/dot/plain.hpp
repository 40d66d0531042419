// Cores that multiply two numbers at a time: a Core multiplies `lanes` lanes of a panel by one row or two, the rest is common.
#pragma once
#include "fixed/compact.hpp"

namespace fovea {

template <class Core>
struct plain_dot : Core {
  using element = typename Core::element;
  using writer = plain_writer;
  static constexpr int planes = 1, lanes = Core::lanes;

  static void clear(int32_t* x) { x[0] = x[1] = x[2] = x[3] = 0; }

  static void put_query(element* to, int rows, int g, int c, const int8_t* q) { // 16 elements from c on
    const auto same = [](int32_t x) FOVEA_COMPACT_INLINE { return x; };
    to += Core::place(rows, g, c);
    for (int i = 0; i < 16; i += 4, to += 4 * rows) Core::put_four(to, rows, same, q + i);
  }

  template <int G>
  __attribute__((noinline)) static void score(const element* q, const int8_t* keys, int depth, int32_t start0, int32_t start1, int32_t* s) {
    for (const int32_t* end = s + fixed_block; s != end; keys += 16 * (depth - 4)) {
      for (const int32_t* panel_end = s + 16; s != panel_end; s += lanes, keys += 4 * lanes) {
        int32_t o[lanes][G];
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l) {
          o[l][0] = start0;
          if (G == 2) o[l][G - 1] = start1;
        }
        Core::template multiply<G>(q, keys, depth, o);
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l)
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) s[g * fixed_block + l] = o[l][g];
      }
    }
  }

  template <int G>
  __attribute__((noinline)) static void add_values(const element* weights, const int8_t* values, int width, int spill, int32_t* acc) {
    const int32_t half = spill ? 1 << (spill - 1) : 0;
    for (const int32_t* end = acc + width; acc != end; values += 16 * (fixed_block - 4)) {
      for (const int32_t* panel_end = acc + 16; acc != panel_end; acc += lanes, values += 4 * lanes) {
        int32_t o[lanes][G];
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l)
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) o[l][g] = spill ? half : acc[g * width + l];
        Core::template multiply<G>(weights, values, fixed_block, o);
#pragma GCC unroll 8
        for (int l = 0; l < lanes; ++l)
#pragma GCC unroll 2
          for (int g = 0; g < G; ++g) acc[g * width + l] = spill ? acc[g * width + l] + (o[l][g] >> spill) : o[l][g];
      }
    }
  }

  // False, and nothing summed, when a key lies above the reference.
  static bool weigh(const weighing& w, int rows, int g, element* to, uint32_t& total) {
    return w.octaves || w.factors ? weigh_each<false>(w, rows, g, to, total) : weigh_each<true>(w, rows, g, to, total);
  }

 private:
  template <bool Usual> // scores, and values of one scale
  __attribute__((noinline)) static bool weigh_each(const weighing& w, int rows, int g, element* to, uint32_t& total) {
    const int32_t base = left_shift(w.reference, 16), multiplier = w.scale->score_multiplier, up = 32 - w.scale->score_shift;
    uint32_t sum = total;
    int32_t sign = 0;
    const int16_t* factors = w.factors;
    const auto one = [&](int32_t x) FOVEA_COMPACT_INLINE {
      const int32_t below = base - (!Usual && w.octaves ? x : high_product(left_shift(x, up), multiplier));
      sign |= below;
      const int32_t u = Core::cap(below), y = ((exp2_cubic((u >> 1) & 0x7fff) * 2 >> (u >> 16)) + 1) >> 1; // as shift_weight
      sum += static_cast<uint32_t>(y);
      asm volatile("" : : : "memory"); // key by key: interleaved, keys would spill each other's registers
      return !Usual && factors ? multiply_round(y, *factors++) : y;
    };
    to += Core::place(rows, g, 0);
    for (const int32_t *s = w.s, *end = s + fixed_block; s != end; s += 4, to += 4 * rows) Core::put_four(to, rows, one, s);
    if (sign < 0) return false;
    total = sum;
    return true;
  }
};

} // namespace fovea
