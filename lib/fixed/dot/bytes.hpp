// Keys by PMADDUBSW with registers of any width: four bytes deep, none is widened. It multiplies unsigned by
// signed bytes: the sizes |q|, and the bytes k of keys, or ~k where q is negative. There |q| ~k = q k + q,
// which the start of the sums makes up for. No pair saturates: |q| is at most 128, and ~k is as small as k.
#pragma once
#include <immintrin.h>

#include <cstring>

#include "fixed/dot/lane_sums.hpp"

namespace fovea::fixed {

template <class Registers, int Slices = 1>
struct byte_quads : Registers, lane_sums<Registers, Slices>, dot_defaults {
  using reg = typename Registers::reg;
  // A chunk of four holds their sizes, then four bytes: -1 where q is negative, or 0. Elements of 32 bits
  // hold each of both twice, because SSE loads eight bytes into all lanes by one instruction, four by two.
  using element = typename Registers::byte_element;
  using acc = reg;
  using piece = reg;
  using chunk = const element*;
  static constexpr int rows = 1, group = 4, deep = 4, slices = Slices, piece_step = 4 * Registers::lanes;
  using lane_sums<Registers, Slices>::regs;
  static constexpr int key_offset = -1;          // where q is negative
  static constexpr bool measures_groups = false; // it gains nothing on these sums, for 4 KB of code

  static constexpr int rows_at_once = 1;
  template <int M>
  static inline void take_rows(const int8_t* const (&q)[M], int dim, int depth, element* to,
                               int32_t (&sums)[M]) {
    int lead = M * deep;
    asm("" : "+r"(lead)); // gcc would compile take_row for each number of rows
    for (int m = 0; m < M; ++m) sums[m] = take_row(q[m], dim, depth, to + m * deep, lead);
  }
  static FOVEA_INLINE chunk take(const element* a) { return a; }
  static FOVEA_INLINE void load_column(const int8_t* b, reg (&y)[regs]) {
#pragma GCC unroll 2
    for (int i = 0; i < regs; ++i) y[i] = Registers::load(b + i * piece_step);
  }
  template <int Step>
  static FOVEA_INLINE void add(reg& sum, reg y, const element* x) {
    Registers::dot_bytes(sum, Registers::spread_four(x), Registers::flip(y, Registers::spread_four(x + 2)));
  }

 private:
  // The chunks of a row, `lead` elements apart. Returns the sum of its negative numbers.
  static __attribute__((noinline)) int32_t take_row(const int8_t* q, int dim, int depth, element* to,
                                                    int lead) {
    const __m128i zero = _mm_setzero_si128();
    __m128i sum = zero;
    const auto take_sixteen = [&](__m128i x) FOVEA_LAMBDA_INLINE {
      const __m128i sizes = _mm_abs_epi8(x), negative = _mm_cmpgt_epi8(zero, x);
      const __m128i chunks[2] = {_mm_unpacklo_epi32(sizes, negative), _mm_unpackhi_epi32(sizes, negative)};
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i, to += 2 * lead) {
        if constexpr (sizeof(element) == 2) {
          _mm_storel_epi64(reinterpret_cast<__m128i*>(to), chunks[i]);
          _mm_storeh_pd(reinterpret_cast<double*>(to + lead), _mm_castsi128_pd(chunks[i]));
        } else {
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi32(chunks[i], chunks[i]));
          _mm_storeu_si128(reinterpret_cast<__m128i*>(to + lead), _mm_unpackhi_epi32(chunks[i], chunks[i]));
        }
      }
      sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_and_si128(sizes, negative), zero));
    };
    int c = 0;
    for (; c + 16 <= dim; c += 16) take_sixteen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(q + c)));
    if (c < depth) {
      int8_t rest[16] = {};
      std::memcpy(rest, q + c, static_cast<size_t>(dim - c));
      take_sixteen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rest)));
    }
    return -_mm_cvtsi128_si32(_mm_add_epi64(sum, _mm_unpackhi_epi64(sum, sum)));
  }
};

} // namespace fovea::fixed
