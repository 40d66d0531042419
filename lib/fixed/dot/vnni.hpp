// Scores with VNNI of any width: VPDPBUSD, four bytes deep. Keys are the unsigned operand: their bytes plus
// 128, which the start of the sums subtracts again. Registers: those of AVX2 with AVX-VNNI, or those of
// AVX-512.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "fixed/dot/lane_sums.hpp"

namespace fovea::fixed {

template <class Registers>
struct vnni_keys : Registers, lane_sums<Registers>, dot_defaults {
  using reg = typename Registers::reg;
  using element = int8_t;
  using acc = reg;
  using piece = reg;
  using chunk = const int8_t*;
  static constexpr int rows = 1, group = 4, deep = 4, slices = 1, piece_step = 4 * Registers::lanes;
  using lane_sums<Registers>::regs;
  static constexpr int key_offset = -128;
  static constexpr bool multiplies_all_bytes = Registers::multiplies_all_bytes;

  static FOVEA_INLINE int32_t sum(const int8_t* q, int dim) {
    constexpr int width = 4 * Registers::lanes;
    reg sums = Registers::spread(0);
    int32_t rest = 0;
    int c = 0;
    for (; c + width <= dim; c += width)
      Registers::dot_bytes(sums, Registers::spread(0x01010101), Registers::load(q + c));
    for (; c < dim; ++c) rest += q[c];
    return static_cast<int32_t>(Registers::total(sums)) + rest;
  }
  // Four rows at least, four at a time, and their sums.
  static constexpr int rows_at_once = 4;
  template <int M>
  static inline void take_rows(const int8_t* const (&q)[M], int dim, int depth, int8_t* to,
                               int32_t (&sums)[M]) {
    const int whole = dim & -16;
#pragma GCC unroll 4
    for (int i = 0; i < M; i += 4) {
      const int m = i < M - 4 ? i : M - 4; // the last four may take rows again
      take_four<4 * M>(q + m, whole, to + 4 * m, sums + m);
    }
    if (whole < depth) take_rest(q, M, whole, dim, depth, to + whole * M, sums);
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
  static FOVEA_INLINE void add_once(acc& sum, reg y, chunk x) { Registers::dot_bytes_by(sum, y, x); }

 private:
  // The elements after the last whole sixteen, and zeros. A function of its own, so that it is not unrolled
  // for each number of rows.
  static __attribute__((noinline)) void take_rest(const int8_t* const* q, int count, int from, int dim,
                                                  int depth, int8_t* to, int32_t* sums) {
    for (int c = from; c < depth; c += 4)
      for (int m = 0; m < count; ++m)
        for (int i = 0; i < 4; ++i) {
          *to = c + i < dim ? q[m][c + i] : int8_t{0};
          sums[m] += *to++;
        }
  }

  // `dim` elements of four rows become chunks that lie Lead apart.
  template <int Lead>
  static FOVEA_INLINE void take_four(const int8_t* const* q, int dim, int8_t* to, int32_t* sums) {
    __m128i sum = _mm_setzero_si128();
    for (int c = 0; c < dim; c += 16, to += 4 * Lead) {
      const auto row = [&](int m) FOVEA_LAMBDA_INLINE {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(q[m] + c));
      };
      const __m128i a = _mm_unpacklo_epi32(row(0), row(1)), b = _mm_unpacklo_epi32(row(2), row(3)),
                    d = _mm_unpackhi_epi32(row(0), row(1)), e = _mm_unpackhi_epi32(row(2), row(3));
      const __m128i chunks[4] = {_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b), _mm_unpacklo_epi64(d, e),
                                 _mm_unpackhi_epi64(d, e)};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * Lead), chunks[i]);
        sum = Registers::dot_four(sum, _mm_set1_epi8(1), chunks[i]);
      }
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums), sum);
  }
};

} // namespace fovea::fixed
