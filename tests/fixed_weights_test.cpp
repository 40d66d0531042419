// Weights of integer attention over all distances below the reference: a higher score never weighs less, and
// weights are close to 2^-u.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "fixed_s16_reference.hpp"
#include "lib/fixed/arithmetic.hpp"

namespace {

using fovea::fixed::exp2_cubic;
using fovea::fixed::exp2_quartic;
using fovea::fixed::shift_weight;

// How far the ratios of a weight to 2^-f spread around their middle.
template <class Weight>
double spread_of(const Weight& weight) {
  double low = 1e9, high = 0;
  for (int32_t f = 0; f < 32768; ++f) {
    const double ratio = weight(f) / std::exp2(-f / 32768.0);
    low = std::min(low, ratio);
    high = std::max(high, ratio);
  }
  return (high - low) / (high + low);
}

// Over all octaves that leave a weight, and the first that leaves none.
template <class Weight>
int32_t rises_of(const Weight& weight) {
  int32_t rises = 0, last = weight(0);
  for (uint32_t whole = 0; whole <= 16; ++whole)
    for (int32_t f = 0; f < 32768; ++f) {
      const int32_t now = shift_weight(weight(f), whole);
      rises += now > last;
      last = now;
    }
  return rises;
}

} // namespace

TEST_CASE("fixed_weights_never_rise_with_the_distance") {
  CHECK(rises_of(exp2_cubic) == 0);
  CHECK(rises_of(exp2_quartic) == 0);
}

#if defined(__SIZEOF_INT128__) // of the reference
TEST_CASE("fixed_weights_of_22_bits_never_rise_with_the_distance") {
  const int64_t octave = int64_t{1} << 22;
  int32_t rises = 0;
  int64_t last = fixed_s16_reference::weight_of_22_bits(0);
  const auto take = [&](int64_t u) {
    const int64_t now = fixed_s16_reference::weight_of_22_bits(u);
    rises += now > last;
    last = now;
  };
#if FOVEA_SMALL
  constexpr int64_t step = 61;
#else
  constexpr int64_t step = 1;
#endif
  for (int64_t u = 1; u <= 2 * octave; u += step) take(u);
  last = INT64_MAX;
  for (int64_t border = octave; border <= 24 * octave; border += octave)
    for (int64_t u = border - 300; u < border + 300; ++u) take(u);
  CHECK(rises == 0);
}
#endif

TEST_CASE("fixed_weights_are_close_to_powers_of_two") {
  CHECK(spread_of(exp2_cubic) < 1.09e-4);  // of the best cubic: 1.0e-4; the rest is rounding
  CHECK(spread_of(exp2_quartic) < 5.0e-5); // rounding
  CHECK(exp2_cubic(0) == 32510);           // the largest weight is two signed bytes
  CHECK(exp2_quartic(0) == 32512);
}
