// Floats to integers: ranges, zero points, single tokens, smoothing of keys and folding of channels.
#include "fovea/fixed_quantize.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace {

std::vector<float> noise(size_t count, float offset) {
  std::vector<float> x(count);
  uint32_t state = 5;
  for (float& v : x) state = state * 1664525u + 1013904223u, v = static_cast<float>(state >> 8) / 8388608.0f - 1 + offset;
  return x;
}

} // namespace

TEST_CASE("symmetric quantisation: half a step away at most, the largest value at the edge") {
  const std::vector<float> x = noise(10 * 16, 0.1f);
  const fovea_float_rows rows = {x.data(), 0, 10, 16};
  for (int32_t dtype : {FOVEA_FIXED_S8, FOVEA_FIXED_S16}) {
    float scale = 0;
    REQUIRE(fovea_fixed_symmetric(&rows, dtype, &scale) == FOVEA_OK);
    std::vector<int8_t> a(x.size());
    std::vector<int16_t> b(x.size());
    REQUIRE(fovea_fixed_quantize_s8(&rows, scale, 0, a.data()) == FOVEA_OK);
    REQUIRE(fovea_fixed_quantize_s16(&rows, scale, b.data()) == FOVEA_OK);
    for (size_t i = 0; i < x.size(); ++i) {
      const float y = scale * (dtype == FOVEA_FIXED_S8 ? static_cast<float>(a[i]) : static_cast<float>(b[i]));
      CHECK(std::fabs(y - x[i]) <= 0.5001f * scale);
    }
  }
}

TEST_CASE("asymmetric quantisation keeps zero exact and uses all 256 steps") {
  const std::vector<float> x = noise(64, 3);
  const fovea_float_rows rows = {x.data(), 8, 8, 8};
  float scale = 0;
  int32_t zero = 0;
  REQUIRE(fovea_fixed_asymmetric(&rows, &scale, &zero) == FOVEA_OK);
  CHECK(zero == -128); // all values are positive
  std::vector<int8_t> q(64);
  REQUIRE(fovea_fixed_quantize_s8(&rows, scale, zero, q.data()) == FOVEA_OK);
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(scale * static_cast<float>(q[i] - zero) - x[i]) <= 0.501f * scale);
}

TEST_CASE("each token by its own scale, a token of zeros by 1") {
  std::vector<float> x = noise(4 * 8, 0);
  for (size_t c = 0; c < 8; ++c) x[c] *= 100, x[8 + c] = 0;
  const fovea_float_rows rows = {x.data(), 0, 4, 8};
  std::vector<float> scales(4);
  std::vector<int8_t> q(32);
  REQUIRE(fovea_fixed_quantize_tokens(&rows, scales.data(), q.data()) == FOVEA_OK);
  CHECK(scales[1] == 1);
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(scales[i / 8] * static_cast<float>(q[i]) - x[i]) <= 0.501f * scales[i / 8]);
}

TEST_CASE("the mean goes away; folding scales into q leaves scores as they were") {
  std::vector<float> k = noise(6 * 4, 2), q = noise(4, 0), mean(4), scales(4), k2(24), q2(4);
  const fovea_float_rows keys = {k.data(), 0, 6, 4}, query = {q.data(), 0, 1, 4};
  REQUIRE(fovea_fixed_mean(&keys, mean.data()) == FOVEA_OK);
  REQUIRE(fovea_fixed_subtract(&keys, mean.data(), k.data()) == FOVEA_OK);
  REQUIRE(fovea_fixed_mean(&keys, mean.data()) == FOVEA_OK);
  for (float m : mean) CHECK(std::fabs(m) < 1e-6f);
  REQUIRE(fovea_fixed_channel_scales(&keys, scales.data()) == FOVEA_OK);
  REQUIRE(fovea_fixed_fold(&keys, scales.data(), 1, k2.data()) == FOVEA_OK);
  REQUIRE(fovea_fixed_fold(&query, scales.data(), 0, q2.data()) == FOVEA_OK);
  for (size_t j = 0; j < 6; ++j) {
    float before = 0, after = 0;
    for (size_t c = 0; c < 4; ++c) before += q[c] * k[j * 4 + c], after += q2[c] * k2[j * 4 + c];
    CHECK(std::fabs(before - after) < 1e-5f);
  }
}

TEST_CASE("what is not a number is refused, and nothing is written") {
  const float x[2] = {1, std::numeric_limits<float>::quiet_NaN()};
  const fovea_float_rows rows = {x, 0, 1, 2};
  float scale = 7;
  int8_t q[2] = {7, 7};
  CHECK(FOVEA_REASON(fovea_fixed_symmetric(&rows, FOVEA_FIXED_S8, &scale)) == FOVEA_NOT_FINITE);
  CHECK(FOVEA_REASON(fovea_fixed_quantize_s8(&rows, 1, 0, q)) == FOVEA_NOT_FINITE);
  CHECK(FOVEA_REASON(fovea_fixed_quantize_s8(&rows, 0, 0, q)) == FOVEA_NOT_FINITE);
  CHECK((scale == 7 && q[0] == 7));
}
