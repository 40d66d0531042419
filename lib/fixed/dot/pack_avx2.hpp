// Rows of bytes become panels with AVX2, eight keys at a time: panels of bytes as they are stored, and
// panels of 16 bits two deep:
//   K  [keys / 16][depth / 2][16 keys][2 dims]
//   V  [width / 16][64 / 2][16 dims][2 keys]
// Behind the last key of a panel anything may stand; here it is the last key again.
#pragma once
#include <immintrin.h>

#include "fixed/kernel.hpp"
#include "fixed/tile.hpp"

namespace fovea::fixed {
namespace {

// Registers hold sixteen bytes of one row in each half: rows i and i + 4 of eight.
struct eight_rows {
  __m256i x[4];

  FOVEA_INLINE eight_rows(const int8_t* const (&row)[8], int32_t c) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      x[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load(row[i] + c)), load(row[i + 4] + c), 1);
  }
  static FOVEA_INLINE __m128i load(const int8_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
};

struct avx2_panels {
  // Dims that are no multiple of 16, and keys that begin within a group of eight, are packed one by one.
  static void pack_keys(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                        int32_t dim) {
    if (dim % 16 || at % 8) return pack_fixed_keys(panels, at, rows, stride, count, dim);
    by_eights(at, rows, stride, count, [&](int32_t key, const int8_t* const(&row)[8]) FOVEA_LAMBDA_INLINE {
      int8_t* to = panels + static_cast<ptrdiff_t>(key & -16) * dim + key % 16 * 4;
      for (int32_t c = 0; c < dim; c += 16, to += 256) {
        const eight_rows r(row, c);
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          const __m256i a = half_of_quads(h, r.x[0], r.x[1]), b = half_of_quads(h, r.x[2], r.x[3]);
          store(to + h * 128, _mm256_unpacklo_epi64(a, b));
          store(to + h * 128 + 64, _mm256_unpackhi_epi64(a, b));
        }
      }
    });
  }

  static void pack_values(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                          int32_t dim) {
    if (dim % 16 || at % 8) return pack_fixed_values(panels, at, rows, stride, count, dim);
    by_eights(at, rows, stride, count, [&](int32_t key, const int8_t* const(&row)[8]) FOVEA_LAMBDA_INLINE {
      int8_t* to = panels + key * 16;
      for (int32_t c = 0; c < dim; c += 16, to += 16 * fixed_block) {
        const eight_rows r(row, c);
        __m256i dims[4]; // four each, of keys 0 - 3 and 4 - 7
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          const __m256i a = half_of_bytes(h, r.x[0], r.x[1]), b = half_of_bytes(h, r.x[2], r.x[3]);
          dims[2 * h] = _mm256_unpacklo_epi16(a, b), dims[2 * h + 1] = _mm256_unpackhi_epi16(a, b);
        }
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          store(to + h * 32, _mm256_permute2x128_si256(dims[2 * h], dims[2 * h + 1], 0x20));
          store(to + h * 32 + 64, _mm256_permute2x128_si256(dims[2 * h], dims[2 * h + 1], 0x31));
        }
      }
    });
  }

  static void pack_key_words(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count,
                             int32_t dim) {
    const int32_t depth = up_to(dim, 16);
    by_eights(at, rows, stride, count, [&](int32_t key, const int8_t* const(&row)[8]) FOVEA_LAMBDA_INLINE {
      int8_t* const to = panels + (static_cast<ptrdiff_t>(key & -16) * depth + key % 16 * 2) * 2;
      int32_t c = 0;
      for (; c + 16 <= dim; c += 16) {
        const eight_rows r(row, c);
#pragma GCC unroll 2
        for (int h = 0; h < 2; ++h) {
          const __m256i a = half_of_pairs(h, r.x[0], r.x[1]), b = half_of_pairs(h, r.x[2], r.x[3]);
          store_two_words(to + c * 32 + h * 256, _mm256_unpacklo_epi32(a, b));
          store_two_words(to + c * 32 + h * 256 + 128, _mm256_unpackhi_epi32(a, b));
        }
      }
      for (; c < depth; ++c)
        for (int i = 0; i < 8; ++i)
          reinterpret_cast<int16_t*>(to)[c / 2 * 32 + 2 * i + c % 2] = c < dim ? row[i][c] : int16_t{0};
    });
  }

  static void pack_value_words(int8_t* panels, int32_t at, const int8_t* rows, ptrdiff_t stride,
                               int32_t count, int32_t dim) {
    by_eights(at, rows, stride, count, [&](int32_t key, const int8_t* const(&row)[8]) FOVEA_LAMBDA_INLINE {
      int8_t* to = panels + key * 32;
      int32_t c = 0;
      for (; c + 16 <= dim; c += 16, to += 32 * fixed_block) {
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) {
          const __m256i a = _mm256_cvtepi8_epi16(eight_rows::load(row[i] + c)),
                        b = _mm256_cvtepi8_epi16(eight_rows::load(row[i + 1] + c));
          const __m256i low = _mm256_unpacklo_epi16(a, b), high = _mm256_unpackhi_epi16(a, b);
          store(to + 32 * i, _mm256_permute2x128_si256(low, high, 0x20));
          store(to + 32 * i + 32, _mm256_permute2x128_si256(low, high, 0x31));
        }
      }
      for (int i = 0; c < dim; ++c, ++i)
        for (int k = 0; k < 8; ++k) reinterpret_cast<int16_t*>(to)[k / 2 * 32 + 2 * i + k % 2] = row[k][c];
    });
  }

 private:
  // Calls f(first key, rows) for groups of eight keys of a block. In place of rows that are not given stand
  // those next to them.
  template <class F>
  static FOVEA_INLINE void by_eights(int32_t at, const int8_t* rows, ptrdiff_t stride, int32_t count, F f) {
    for (int32_t key = at & -8; key < at + count; key += 8) {
      const int8_t* row[8];
      for (int32_t i = 0; i < 8; ++i) {
        const int32_t j = key + i - at;
        row[i] = rows + (j < 0 ? 0 : j < count ? j : count - 1) * stride;
      }
      f(key, row);
    }
  }

  static FOVEA_INLINE void store(int8_t* to, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), x);
  }
  // Eight keys of two pairs of bytes.
  static FOVEA_INLINE void store_two_words(int8_t* to, __m256i pairs) {
    const __m256i x = _mm256_permute4x64_epi64(pairs, 0xd8);
    store(to, _mm256_cvtepi8_epi16(_mm256_castsi256_si128(x)));
    store(to + 64, _mm256_cvtepi8_epi16(_mm256_extracti128_si256(x, 1)));
  }
  static FOVEA_INLINE __m256i half_of_bytes(int high, __m256i a, __m256i b) {
    return high ? _mm256_unpackhi_epi8(a, b) : _mm256_unpacklo_epi8(a, b);
  }
  static FOVEA_INLINE __m256i half_of_pairs(int high, __m256i a, __m256i b) {
    return high ? _mm256_unpackhi_epi16(a, b) : _mm256_unpacklo_epi16(a, b);
  }
  static FOVEA_INLINE __m256i half_of_quads(int high, __m256i a, __m256i b) {
    return high ? _mm256_unpackhi_epi32(a, b) : _mm256_unpacklo_epi32(a, b);
  }
};

} // namespace
} // namespace fovea::fixed
