// Panels of bytes become panels of 16 bits, with AVX2.
#pragma once
#include <immintrin.h>

#include "fixed/dot/words.hpp"

namespace fovea::fixed {

// A group of bytes four deep becomes two groups of 16 bits two deep.
static inline void widen_and_split(const int8_t* from, int8_t* to, ptrdiff_t count) {
  const __m256i order = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const auto split = [&](const int8_t* at) FOVEA_LAMBDA_INLINE { // of eight lanes
    return _mm256_permute4x64_epi64(
        _mm256_shuffle_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)), order), 0xd8);
  };
  const auto store = [](int8_t* at, __m128i bytes) FOVEA_LAMBDA_INLINE {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(at), _mm256_cvtepi8_epi16(bytes));
  };
  for (const int8_t* const end = from + count; from != end; from += 64, to += 128) {
    const __m256i a = split(from), b = split(from + 32);
    store(to, _mm256_castsi256_si128(a));
    store(to + 32, _mm256_castsi256_si128(b));
    store(to + 64, _mm256_extracti128_si256(a, 1));
    store(to + 96, _mm256_extracti128_si256(b, 1));
  }
}

} // namespace fovea::fixed
