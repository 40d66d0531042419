// Products of 16 bits with registers of any width.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "fixed/dot/lane_sums.hpp"

namespace fovea::fixed {

// One row of weights or of a query at a time, words side by side.
template <class Registers>
struct words : Registers, dot_defaults {
  using element = int16_t;
  using acc = typename Registers::reg;
  using piece = acc;
  using chunk = const int16_t*;
  static constexpr int rows = 1, deep = 4, piece_step = 2 * Registers::lanes, planes = 1, block_step = 64,
                       key_offset = 0;
  static FOVEA_INLINE chunk take(const int16_t* a) { return a; }

  // Eight elements of a row at a time.
  static constexpr int rows_at_once = 1;
  template <int M>
  static inline void take_rows(const int8_t* const (&q)[M], int dim, int depth, int16_t* to,
                               int32_t (&sums)[M]) {
    constexpr int lead = M * deep;
    for (int m = 0; m < M; ++m, to += deep) {
      sums[m] = 0; // no byte has an offset
      int c = 0;
      for (; c + 8 <= dim; c += 8) {
        const __m128i x = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(q[m] + c)));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to + c * M), x);
        _mm_storeh_pd(reinterpret_cast<double*>(to + c * M + lead), _mm_castsi128_pd(x));
      }
      for (; c < depth; ++c) to[c / deep * lead + c % deep] = c < dim ? q[m][c] : int16_t{0};
    }
  }
};

// On panels four deep: loads widen bytes. A register of sums holds two partial sums for each lane, so it
// serves half as many lanes as it has numbers.
template <class Registers>
struct word_quads : words<Registers> {
  using reg = typename Registers::reg;
  static constexpr int group = 4, slices = 16 / Registers::lanes, regs = 2;

  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[2]) {
    y[0] = Registers::widened(b);
    y[1] = Registers::widened(b + words<Registers>::piece_step);
  }
  template <int Step>
  static FOVEA_INLINE void add(reg& sum, reg y, const int16_t* x) {
    int64_t quad;
    std::memcpy(&quad, x, sizeof quad);
    Registers::dot_words(sum, y, Registers::spread_quad(quad));
  }
  template <class Start>
  static FOVEA_INLINE void begin(reg (&sum)[2], Start start) {
    sum[0] = sum[1] = Registers::spread_quad(static_cast<uint32_t>(start(0)));
  }
  static FOVEA_INLINE void fold(const reg (&sum)[2], int, reg (&out)[1]) {
    out[0] = Registers::pair_sums(sum[0], sum[1]);
  }
  static constexpr bool resumes = true; // a sum so far is one of two partial sums
  static FOVEA_INLINE void resume(reg (&sum)[2], const int32_t* from) {
    sum[0] = Registers::load_in_pairs(from);
    sum[1] = Registers::load_in_pairs(from + Registers::lanes / 2);
  }
  static FOVEA_INLINE void resume(reg (&sum)[2], const reg (&x)[1]) {
    sum[0] = Registers::first_in_pairs(x[0]);
    sum[1] = Registers::last_in_pairs(x[0]);
  }
};

enum class two_deep : int16_t {}; // an element of panels [sixteen lanes][2]

// On panels two deep that have been widened: one sum for each lane.
template <class Registers>
struct word_pairs : words<Registers>, lane_sums<Registers> {
  using reg = typename Registers::reg;
  static constexpr int group = 2, slices = 1;
  using lane_sums<Registers>::regs;

  static FOVEA_INLINE void load_column(const two_deep* b, reg (&y)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) y[i] = Registers::load(b + i * words<Registers>::piece_step);
  }
  template <int Step>
  static FOVEA_INLINE void add(reg& sum, reg y, const int16_t* x) {
    int32_t pair;
    std::memcpy(&pair, x + 2 * Step, sizeof pair);
    Registers::dot_words(sum, y, Registers::spread(pair));
  }
  static constexpr bool resumes = true;
  static FOVEA_INLINE void resume(reg (&sum)[regs], const int32_t* from) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = Registers::load(from + i * Registers::lanes);
  }
  static FOVEA_INLINE void resume(reg (&sum)[regs], const reg (&x)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) sum[i] = x[i];
  }
};

} // namespace fovea::fixed
