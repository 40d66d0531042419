// One row of a linear layer with AVX2. |w| and x with the sign of w are an unsigned and a signed factor for
// VPMADDUBSW. Quantised rows are -127 .. 127, so two products are at most 2 * 128 * 127 and never saturate:
// half the instructions of widened bytes.
#pragma once
#include "fixed/dot/avx2.hpp"
#include "fixed/multiply.hpp"

namespace fovea::fixed {

template <class Many>
struct avx2_single : Many {
  static size_t tile_bytes(int32_t rows, int32_t depth) {
    return rows == 1 ? static_cast<size_t>(depth) : Many::tile_bytes(rows, depth);
  }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile) {
    if (rows != 1) return Many::take(x, step, rows, dim, depth, tile);
    int8_t* const to = static_cast<int8_t*>(tile);
    std::memcpy(to, x, static_cast<size_t>(dim));
    std::memset(to + dim, 0, static_cast<size_t>(depth - dim));
  }
  static void multiply(const void* tile, int32_t rows, int32_t depth, const int8_t* panels, ptrdiff_t apart,
                       int32_t count, int32_t* sums) {
    if (rows != 1) return Many::multiply(tile, rows, depth, panels, apart, count, sums);
    const int8_t* const x = static_cast<const int8_t*>(tile);
    int32_t n = 0;
    for (; n + 2 <= count; n += 2) multiply_panels<2>(x, depth, panels + n * apart, apart, sums + 16 * n);
    if (n < count) multiply_panels<1>(x, depth, panels + n * apart, apart, sums + 16 * n);
  }
  static constexpr fixed_product exact(int32_t isa) { return {isa, tile_bytes, take, multiply}; }

 private:
  template <int N>
  static FOVEA_INLINE void multiply_panels(const int8_t* x, int32_t depth, const int8_t* panels,
                                           ptrdiff_t apart, int32_t* sums) {
    __m256i sum[N][2];
    for (int n = 0; n < N; ++n) sum[n][0] = sum[n][1] = _mm256_setzero_si256();
    for (int32_t c = 0; c < depth; c += 4, panels += 64) {
      int32_t four;
      std::memcpy(&four, x + c, sizeof four);
      const __m256i q = _mm256_set1_epi32(four);
#pragma GCC unroll 2
      for (int n = 0; n < N; ++n) {
        const int8_t* const at = panels + n * apart;
        __builtin_prefetch(at + 4096);
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i) {
          const __m256i w = avx2_registers::load(at + 32 * i);
          const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(q, w));
          sum[n][i] = _mm256_add_epi32(sum[n][i], _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
        }
      }
    }
    for (int n = 0; n < N; ++n)
      for (int i = 0; i < 2; ++i) avx2_registers::store(sums + 16 * n + 8 * i, sum[n][i]);
  }
};

} // namespace fovea::fixed
