// Weights with AVX2, 32 keys at a time in 16-bit lanes.
#pragma once
#include "fixed/arithmetic.hpp"
#include "fixed/dot/avx2.hpp"
#include "fixed/dot/distances.hpp"

namespace fovea::fixed {

// Constants are memory operands: sixteen registers do not hold them, and gcc would compute them again for
// each row.
struct alignas(32) avx2_constants {
  int16_t c3[16] = {}, c2[16] = {}, c1[16] = {}, c0[16] = {}, one[16] = {};
  int8_t beyond[32] = {}, low[32] = {}, high[32] = {}; // low, high: the bytes of -2^(15-k) for k = 0 .. 15
  int8_t in_order[32] = {}; // four low halves, then four high halves, of lanes 0 1 2 3
  int8_t mixed[32] = {};    // the same of lanes 0 2 1 3
  int16_t place[16] = {};   // which of sixteen keys stands where among distances

  constexpr avx2_constants() {
    constexpr int8_t lows[16] = {0, 0, 0, 0, 0, 0, 0, 0, -128, -64, -32, -16, -8, -4, -2, -1};
    constexpr int8_t highs[16] = {-128, -64, -32, -16, -8, -4, -2, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    constexpr int8_t halves[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    constexpr int8_t mixed_halves[16] = {0, 1, 8, 9, 4, 5, 12, 13, 2, 3, 10, 11, 6, 7, 14, 15};
    for (int i = 0; i < 16; ++i) c3[i] = -1270, c2[i] = 3672, c1[i] = -11313, c0[i] = -16255, one[i] = 1;
    for (int i = 0; i < 32; ++i) {
      beyond[i] = 0x70, low[i] = lows[i % 16], high[i] = highs[i % 16];
      in_order[i] = halves[i % 16], mixed[i] = mixed_halves[i % 16];
    }
    for (int i = 0; i < 16; ++i) place[i] = static_cast<int16_t>(i / 4 == 1 || i / 4 == 2 ? i ^ 12 : i);
  }
};

constexpr avx2_constants avx2_numbers{}; // one copy for each ISA that includes this file

struct avx2_weigher : distances_below<avx2_registers> {
  FOVEA_INLINE avx2_weigher() : constants(&avx2_numbers) { asm("" : "+r"(constants)); }

  // Scores, or octaves, become distances below the reference: the fraction less 1 in Q15 at `to`, the whole
  // octaves 64 numbers later. (An average with ones is half of a number plus 2^15.) Of each sixteen keys, 0-3
  // and 8-11 come first, then 4-7 and 12-15.
  template <bool Octaves, int Count>
  FOVEA_INLINE void measure(const reg (&s)[Count], const distance_scale& x, int32_t reference,
                            int16_t* to) const {
    const reg base = spread(static_cast<int32_t>(static_cast<uint32_t>(reference) << 16));
    reg u[Count];
#pragma GCC unroll 8
    for (int i = 0; i < Count; ++i) { // high products come mixed
      const reg below = _mm256_sub_epi32(
          base, Octaves ? s[i] : mixed_high_product(shift_left(s[i], x.up), x.multiplier));
      u[i] = _mm256_shuffle_epi8(below, load(Octaves ? constants->in_order : constants->mixed));
    }
#pragma GCC unroll 4
    for (int i = 0; i < Count; i += 2, to += 16) {
      store(to, _mm256_avg_epu16(_mm256_unpacklo_epi64(u[i], u[i + 1]), _mm256_set1_epi16(-1)));
      store(to + 64, _mm256_unpackhi_epi64(u[i], u[i + 1]));
    }
  }

  FOVEA_INLINE void hide(int16_t* distances, int from, int end) const {
    for (int i = from & -16; i < end; i += 16) {
      const reg last = _mm256_set1_epi16(static_cast<int16_t>(from - i - 1)),
                out = _mm256_cmpgt_epi16(load(constants->place), last);
      int16_t *const fractions = distances + i, *const octaves = fractions + fixed_block;
      store(octaves, _mm256_blendv_epi8(load(octaves), _mm256_set1_epi16(hidden), out));
      store(fractions,
            _mm256_andnot_si256(out, load(fractions))); // memory checkers do not know that 0 * x is 0
    }
  }

  // -2^-f in Q15, given f - 1. It is negative because the shift that follows is a product with -2^(15-k):
  // 16 bits hold -32768, but not 32768.
  FOVEA_INLINE void negative_exp2(reg (&h)[2]) const {
    const reg c3 = load(constants->c3), c2 = load(constants->c2), c1 = load(constants->c1),
              c0 = load(constants->c0);
    reg y[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) y[i] = _mm256_add_epi16(_mm256_mulhrs_epi16(c3, h[i]), c2);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) y[i] = _mm256_add_epi16(_mm256_mulhrs_epi16(y[i], h[i]), c1);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) h[i] = _mm256_sub_epi16(c0, _mm256_mulhrs_epi16(y[i], h[i]));
  }
  FOVEA_INLINE void shift(reg (&y)[2], const reg (&k)[2]) const { // k >= 16 sets bit 7 and gives 0
    const reg k8 = _mm256_adds_epu8(_mm256_packus_epi16(k[0], k[1]), load(constants->beyond));
    const reg low = _mm256_shuffle_epi8(load(constants->low), k8),
              high = _mm256_shuffle_epi8(load(constants->high), k8);
    y[0] = _mm256_mulhrs_epi16(y[0], _mm256_unpacklo_epi8(low, high));
    y[1] = _mm256_mulhrs_epi16(y[1], _mm256_unpackhi_epi8(low, high));
  }

  // Returns by how many octaves the reference rises. If it does, only the whole octaves of the distances and
  // the sum so far change.
  template <int Keys>
  FOVEA_INLINE int weigh(const int16_t* distances, int16_t* p, int32_t* sum, const int16_t* factors) const {
    constexpr int pairs = Keys / 32;
    reg k[pairs][2], sums = load(sum);
#pragma GCC unroll 4
    for (int h = 0; h < 2 * pairs; ++h) k[h / 2][h % 2] = load(distances + 64 + 16 * h);
    const reg nearest = _mm256_min_epi16(_mm256_min_epi16(k[0][0], k[0][1]),
                                         _mm256_min_epi16(k[pairs - 1][0], k[pairs - 1][1]));
    int rise = 0;
    if (__builtin_expect(_mm256_movemask_epi8(nearest) & 0xaaaaaaaa, 0)) {
      rise = -smallest(nearest);
      sums = first(static_cast<int32_t>(shift_round_sum(total(sums), rise)));
      const reg up = _mm256_set1_epi16(static_cast<int16_t>(rise));
#pragma GCC unroll 2
      for (int j = 0; j < pairs; ++j)
        k[j][0] = _mm256_add_epi16(k[j][0], up), k[j][1] = _mm256_add_epi16(k[j][1], up);
    }
#pragma GCC unroll 2
    for (int j = 0; j < pairs; ++j) {
      reg y[2] = {load(distances + 32 * j), load(distances + 32 * j + 16)};
      negative_exp2(y);
      shift(y, k[j]);
#pragma GCC unroll 2
      for (int h = 0; h < 2; ++h) {
        sums = add(sums, _mm256_madd_epi16(y[h], load(constants->one)));
        reg in_order = _mm256_permute4x64_epi64(y[h], 0xd8);
        if (factors) in_order = _mm256_mulhrs_epi16(in_order, load(factors + 32 * j + 16 * h));
        store(p + 32 * j + 16 * h, in_order);
      }
    }
    store(sum, sums);
    return rise;
  }

 private:
  const avx2_constants* constants;
};

} // namespace fovea::fixed
