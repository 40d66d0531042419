// Floats to integers: ranges, zero points, single tokens, smoothing of keys and folding of channels.
#include "fovea/fixed_quantize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

namespace {

std::vector<float> noise(size_t count, float offset) {
  std::vector<float> x(count);
  uint32_t state = 5;
  for (float& v : x)
    state = state * 1664525u + 1013904223u, v = static_cast<float>(state >> 8) / 8388608.0f - 1 + offset;
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
  for (size_t i = 0; i < x.size(); ++i)
    CHECK(std::fabs(scale * static_cast<float>(q[i] - zero) - x[i]) <= 0.501f * scale);
}

TEST_CASE("each token by its own scale, a token of zeros by 1") {
  std::vector<float> x = noise(4 * 8, 0);
  for (size_t c = 0; c < 8; ++c) x[c] *= 100, x[8 + c] = 0;
  const fovea_float_rows rows = {x.data(), 0, 4, 8};
  std::vector<float> scales(4);
  std::vector<int8_t> q(32);
  REQUIRE(fovea_fixed_quantize_tokens(&rows, scales.data(), q.data()) == FOVEA_OK);
  CHECK(scales[1] == 1);
  for (size_t i = 0; i < x.size(); ++i)
    CHECK(std::fabs(scales[i / 8] * static_cast<float>(q[i]) - x[i]) <= 0.501f * scales[i / 8]);
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

namespace {

constexpr float untouched = 7;

// Memory for any of the functions: two rows of two numbers and all that may be written.
struct quantizing {
  float numbers[4] = {1, -2, 3, -4}, divisors[2] = {1, 2};
  fovea_float_rows x = {numbers, 0, 2, 2};
  float floats[4] = {untouched, untouched, untouched, untouched}, scales[2] = {untouched, untouched};
  int8_t bytes[4] = {7, 7, 7, 7};
  int16_t words[4] = {7, 7, 7, 7};
  int32_t zero_point = 7;

  bool nothing_written() const {
    bool same = scales[0] == untouched && scales[1] == untouched && zero_point == 7;
    for (int i = 0; i < 4; ++i) same = same && floats[i] == untouched && bytes[i] == 7 && words[i] == 7;
    return same;
  }
};

int32_t refusal(int32_t reason, int32_t argument) { return reason | argument << 8; }

} // namespace

TEST_CASE("each function on rows of floats refuses what it cannot read, by name, and takes no rows at all") {
  struct function {
    const char* why;
    int32_t (*call)(quantizing& m, const fovea_float_rows* x);
  };
  const function functions[] = {
      {"symmetric",
       [](quantizing& m, const fovea_float_rows* x) {
         return fovea_fixed_symmetric(x, FOVEA_FIXED_S8, m.scales);
       }},
      {"asymmetric",
       [](quantizing& m, const fovea_float_rows* x) {
         return fovea_fixed_asymmetric(x, m.scales, &m.zero_point);
       }},
      {"8 bits",
       [](quantizing& m, const fovea_float_rows* x) { return fovea_fixed_quantize_s8(x, 1, 0, m.bytes); }},
      {"16 bits",
       [](quantizing& m, const fovea_float_rows* x) { return fovea_fixed_quantize_s16(x, 1, m.words); }},
      {"tokens", [](quantizing& m,
                    const fovea_float_rows* x) { return fovea_fixed_quantize_tokens(x, m.scales, m.bytes); }},
      {"mean", [](quantizing& m, const fovea_float_rows* x) { return fovea_fixed_mean(x, m.floats); }},
      {"subtract", [](quantizing& m,
                      const fovea_float_rows* x) { return fovea_fixed_subtract(x, m.divisors, m.floats); }},
      {"channels",
       [](quantizing& m, const fovea_float_rows* x) { return fovea_fixed_channel_scales(x, m.floats); }},
      {"fold",
       [](quantizing& m, const fovea_float_rows* x) { return fovea_fixed_fold(x, m.divisors, 1, m.floats); }},
  };
  struct bad_rows {
    const char* why;
    fovea_float_rows x;
    int32_t status;
  };
  const float numbers[4] = {1, 2, 3, 4}, infinite[4] = {1, 2, 3, std::numeric_limits<float>::infinity()};
  const bad_rows bad[] = {
      {"negative rows", {numbers, 0, -1, 2}, refusal(FOVEA_SIZE, FOVEA_ARG_DIM)},
      {"no column", {numbers, 0, 2, 0}, refusal(FOVEA_SIZE, FOVEA_ARG_DIM)},
      {"negative columns", {numbers, 0, 2, -1}, refusal(FOVEA_SIZE, FOVEA_ARG_DIM)},
      {"a negative stride", {numbers, -1, 2, 2}, refusal(FOVEA_STRIDE, FOVEA_ARG_Q)},
      {"no numbers", {nullptr, 0, 2, 2}, refusal(FOVEA_NULL, FOVEA_ARG_Q)},
      {"infinity in the last place", {infinite, 0, 2, 2}, refusal(FOVEA_NOT_FINITE, FOVEA_ARG_Q)},
  };
  for (const function& f : functions) {
    INFO(std::string(f.why));
    quantizing m;
    for (const bad_rows& b : bad) {
      INFO(std::string(b.why));
      CHECK(f.call(m, &b.x) == b.status);
    }
    CHECK(f.call(m, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_CALL));
    CHECK(m.nothing_written());
    const fovea_float_rows one_column = {numbers, 0, 4, 1}, none = {nullptr, 0, 0, 2};
    CHECK(f.call(m, &none) == FOVEA_OK);
    if (std::string(f.why) != "tokens")
      CHECK(f.call(m, &one_column) == FOVEA_OK); // four scales have no room here
  }
}

TEST_CASE("scales, zero points and places to write are refused by name") {
  quantizing m;
  const fovea_float_rows* x = &m.x;
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  for (float scale : {0.0f, -1.0f, nan, infinity}) {
    CAPTURE(scale);
    CHECK(fovea_fixed_quantize_s8(x, scale, 0, m.bytes) == refusal(FOVEA_RANGE, FOVEA_ARG_SCALE));
    CHECK(fovea_fixed_quantize_s16(x, scale, m.words) == refusal(FOVEA_RANGE, FOVEA_ARG_SCALE));
    m.divisors[1] = scale;
    for (int32_t divide : {0, 1})
      CHECK(fovea_fixed_fold(x, m.divisors, divide, m.floats) == refusal(FOVEA_RANGE, FOVEA_ARG_SCALE));
  }
  const int32_t too_far[] = {-129, 128, INT32_MIN, INT32_MAX};
  for (int32_t zero : too_far)
    CHECK(fovea_fixed_quantize_s8(x, 1, zero, m.bytes) == refusal(FOVEA_RANGE, FOVEA_ARG_OUT));
  for (int32_t dtype : {-1, 2, 3})
    CHECK(fovea_fixed_symmetric(x, dtype, m.scales) == refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_symmetric(x, 0, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_asymmetric(x, m.scales, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_asymmetric(x, nullptr, &m.zero_point) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_quantize_s8(x, 1, 0, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_quantize_s16(x, 1, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_quantize_tokens(x, m.scales, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_quantize_tokens(x, nullptr, m.bytes) == refusal(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(fovea_fixed_mean(x, nullptr) == refusal(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_subtract(x, nullptr, m.floats) == refusal(FOVEA_NULL, FOVEA_ARG_K));
  CHECK(fovea_fixed_fold(x, nullptr, 0, m.floats) == refusal(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(m.nothing_written());
  for (int32_t zero : {-128, 127}) CHECK(fovea_fixed_quantize_s8(x, 1, zero, m.bytes) == FOVEA_OK);
}

TEST_CASE("rounding is to the nearest, halves to even, and what does not fit is clipped") {
  struct rounded {
    float x;
    int32_t zero, s8, s16;
  };
  const rounded table[] = {
      {0.5f, 0, 0, 0},           {1.5f, 0, 2, 2},        {-0.5f, 0, 0, 0},        {-1.5f, 0, -2, -2},
      {2.5f, 0, 2, 2},           {0.51f, 0, 1, 1},       {127, 0, 127, 127},      {128, 0, 127, 128},
      {127.6f, 0, 127, 128},     {-128, 0, -128, -128},  {-129, 0, -128, -129},   {1e30f, 0, 127, 32767},
      {-1e30f, 0, -128, -32768}, {32767, 0, 127, 32767}, {32768, 0, 127, 32767},  {-32769, 0, -128, -32768},
      {10, -100, -90, 10},       {10, 120, 127, 10},     {-300, 120, -128, -300}, {250, -128, 122, 250},
      {255, -128, 127, 255},     {256, -128, 127, 256},
  };
  for (const rounded& r : table) {
    CAPTURE(r.x);
    CAPTURE(r.zero);
    const fovea_float_rows x = {&r.x, 0, 1, 1};
    int8_t s8 = 0;
    int16_t s16 = 0;
    CHECK(fovea_fixed_quantize_s8(&x, 1, r.zero, &s8) == FOVEA_OK);
    CHECK(fovea_fixed_quantize_s16(&x, 1, &s16) == FOVEA_OK);
    CHECK((s8 == r.s8 && s16 == r.s16));
  }
}

TEST_CASE("what is between the rows of a stride is neither read nor written") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float numbers[] = {1, -2, nan, nan, 3, -4, nan, nan, 5, 6}, divisors[2] = {2, 4};
  const fovea_float_rows x = {numbers, 4, 3, 2};
  float out[7] = {}, scales[4] = {0, 0, 0, untouched}, scale = 0;
  int8_t bytes[7] = {};
  int32_t zero = 0;
  const auto same = [](const float* got, std::initializer_list<float> wanted) {
    return std::equal(wanted.begin(), wanted.end(), got);
  };
  CHECK(fovea_fixed_fold(&x, divisors, 1, out) == FOVEA_OK);
  CHECK(same(out, {0.5f, -0.5f, 1.5f, -1, 2.5f, 1.5f, 0}));
  CHECK(fovea_fixed_fold(&x, divisors, 0, out) == FOVEA_OK);
  CHECK(same(out, {2, -8, 6, -16, 10, 24, 0}));
  CHECK(fovea_fixed_subtract(&x, divisors, out) == FOVEA_OK);
  CHECK(same(out, {-1, -6, 1, -8, 3, 2, 0}));
  CHECK(fovea_fixed_mean(&x, out) == FOVEA_OK);
  CHECK((out[0] == doctest::Approx(3) && out[1] == 0));
  CHECK(fovea_fixed_channel_scales(&x, out) == FOVEA_OK);
  CHECK(same(out, {5, 6}));
  CHECK(fovea_fixed_symmetric(&x, FOVEA_FIXED_S8, &scale) == FOVEA_OK);
  CHECK(scale == 6 / 127.0f);
  CHECK(fovea_fixed_symmetric(&x, FOVEA_FIXED_S16, &scale) == FOVEA_OK);
  CHECK(scale == 6 / 32767.0f);
  CHECK(fovea_fixed_asymmetric(&x, &scale, &zero) == FOVEA_OK);
  CHECK((scale == doctest::Approx(10 / 255.0) && zero == -26)); // -4 is the lowest integer
  CHECK(fovea_fixed_quantize_tokens(&x, scales, bytes) == FOVEA_OK);
  CHECK(same(scales, {2 / 127.0f, 4 / 127.0f, 6 / 127.0f, untouched}));
  const int8_t wanted[7] = {64, -127, 95, -127, 106, 127, 0};
  CHECK(std::equal(bytes, bytes + 7, wanted));
}

TEST_CASE("rows of zeros have a scale of 1") {
  const float zeros[4] = {0, -0.0f, 0, 0};
  const fovea_float_rows x = {zeros, 0, 2, 2};
  float scale = 0, scales[2] = {};
  int32_t zero = 7;
  int8_t bytes[4] = {7, 7, 7, 7};
  for (int32_t dtype : {FOVEA_FIXED_S8, FOVEA_FIXED_S16}) {
    scale = 0;
    CHECK(fovea_fixed_symmetric(&x, dtype, &scale) == FOVEA_OK);
    CHECK(scale == 1);
  }
  CHECK(fovea_fixed_asymmetric(&x, &scale, &zero) == FOVEA_OK);
  CHECK((scale == 1 && zero == -128));
  CHECK(fovea_fixed_quantize_tokens(&x, scales, bytes) == FOVEA_OK);
  CHECK((scales[0] == 1 && scales[1] == 1 && bytes[0] == 0 && bytes[3] == 0));
  CHECK(fovea_fixed_channel_scales(&x, scales) == FOVEA_OK);
  CHECK((scales[0] == 1 && scales[1] == 1));
}

TEST_CASE("values too small for a normal scale become 0, and no row is refused after others were written") {
  const float x[4] = {1, -1, 1e-44f, -1e-44f};
  const fovea_float_rows rows = {x, 0, 2, 2}, tiny = {x + 2, 0, 1, 2};
  float scale = 0, scales[2] = {};
  int32_t zero = 77;
  int8_t q[4] = {9, 9, 9, 9};
  CHECK(fovea_fixed_symmetric(&tiny, FOVEA_FIXED_S8, &scale) == FOVEA_OK);
  CHECK(scale == std::numeric_limits<float>::min());
  CHECK(fovea_fixed_asymmetric(&tiny, &scale, &zero) == FOVEA_OK);
  CHECK((scale == std::numeric_limits<float>::min() && zero == -128));
  CHECK(fovea_fixed_quantize_tokens(&rows, scales, q) == FOVEA_OK);
  CHECK((scales[0] == 1 / 127.0f && scales[1] == std::numeric_limits<float>::min()));
  CHECK((q[0] == 127 && q[1] == -127 && q[2] == 0 && q[3] == 0));
}
