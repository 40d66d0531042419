// Weights with SSE4.1, eight keys at a time in 16-bit lanes. The constants and steps are those of AVX2.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fixed/dot/sse41.hpp"

namespace fovea::fixed {

struct sse41_weigher : sse41_registers, weigher_defaults {
  template <bool Octaves, int Keys>
  FOVEA_INLINE int weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int16_t* p,
                         int32_t* sum, const int16_t* factors) const {
    alignas(16) int16_t fractions[Keys], octaves[Keys]; // distances below the reference
    const reg nearest = measure<Octaves, Keys>(s, scale, reference, fractions, octaves);
    reg sums = load(sum);
    int rise = 0;
    if (__builtin_expect(_mm_movemask_epi8(nearest) & 0xaaaa, 0)) {
      rise = -smallest(nearest);
      sums = first(static_cast<int32_t>(shift_round_sum(total(sums), rise)));
    }
    const reg up = _mm_set1_epi16(static_cast<int16_t>(rise)), one = _mm_set1_epi16(1);
    for (int j = 0; j < Keys; j += 8) {
      reg y = shift(negative_exp2(load(fractions + j)), _mm_add_epi16(load(octaves + j), up));
      sums = add(sums, _mm_madd_epi16(y, one));
      if (factors) y = _mm_mulhrs_epi16(y, load(factors + j));
      store(p + j, y);
    }
    store(sum, sums);
    return rise;
  }

 private:
  // Returns the least whole octaves of eight lanes.
  template <bool Octaves, int Keys>
  static FOVEA_INLINE reg measure(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference,
                                  int16_t* fractions, int16_t* octaves) {
    const reg halves = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16));
    const reg multiplier = spread(scale.score_multiplier), up = by(32 - scale.score_shift);
    reg nearest = _mm_set1_epi16(32767);
    for (int j = 0; j < Keys; j += 8) {
      reg u[2];
      for (int h = 0; h < 2; ++h) {
        const reg x = load(s + j + 4 * h), t = Octaves ? x : high_product(shift_left(x, up), multiplier);
        u[h] = _mm_shuffle_epi8(_mm_sub_epi32(base, t), halves);
      }
      const reg whole = _mm_unpackhi_epi64(u[0], u[1]);
      store(fractions + j, _mm_avg_epu16(_mm_unpacklo_epi64(u[0], u[1]), _mm_set1_epi16(-1)));
      store(octaves + j, whole);
      nearest = _mm_min_epi16(nearest, whole);
    }
    return nearest;
  }

  // -2^-f in Q15, given h = f - 1; negative because the shift that follows multiplies by -2^(15-k): -32768 is
  // a number, 32768 is not.
  static FOVEA_INLINE reg negative_exp2(reg h) {
    reg y = _mm_add_epi16(_mm_mulhrs_epi16(_mm_set1_epi16(-1270), h), _mm_set1_epi16(3672));
    y = _mm_add_epi16(_mm_mulhrs_epi16(y, h), _mm_set1_epi16(-11313));
    return _mm_sub_epi16(_mm_set1_epi16(-16255), _mm_mulhrs_epi16(y, h));
  }
  static FOVEA_INLINE reg shift(reg y, reg k) { // k >= 16 sets bit 7 and gives 0
    const reg lows = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, -128, -64, -32, -16, -8, -4, -2, -1);
    const reg highs = _mm_setr_epi8(-128, -64, -32, -16, -8, -4, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const reg k8 = _mm_adds_epu8(_mm_packus_epi16(k, k), _mm_set1_epi8(0x70));
    return _mm_mulhrs_epi16(y, _mm_unpacklo_epi8(_mm_shuffle_epi8(lows, k8), _mm_shuffle_epi8(highs, k8)));
  }
};

} // namespace fovea::fixed
