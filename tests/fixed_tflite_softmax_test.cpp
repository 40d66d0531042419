// TFLite's integer softmax against its formulas, written anew in 64 bits; what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fovea/fixed_softmax.hpp"

namespace {

uint32_t random_state = 1;
uint32_t noise() { return random_state = random_state * 1664525u + 1013904223u, random_state >> 8; }

// TFLite's primitives as gemmlowp defines them: division towards zero after a nudge, halves away from zero.
int64_t high_mul(int64_t a, int64_t b) {
  const int64_t ab = a * b, nudge = ab >= 0 ? 1 << 30 : 1 - (1 << 30);
  return std::min<int64_t>((ab + nudge) / (int64_t{1} << 31), 2147483647);
}
int64_t divide(int64_t x, int e) {
  return static_cast<int64_t>(std::llround(std::ldexp(static_cast<long double>(x), -e)));
}
int64_t saturate(int64_t x) { return std::clamp<int64_t>(x, -2147483648LL, 2147483647); }

int64_t exp_on_negative(int64_t a) {
  const int64_t quarter = 1 << 24, within = ((a % quarter + quarter) % quarter) - quarter, rest = within - a;
  const int64_t x = within * 32 + (1 << 28), x2 = high_mul(x, x), x3 = high_mul(x2, x), x4 = high_mul(x2, x2);
  const int64_t y = divide(high_mul(divide(x4, 2) + x3, 715827883) + x2, 1);
  int64_t result = 1895147668 + high_mul(1895147668, x + y);
  const int64_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int i = 0; i < 7; ++i)
    if (rest / (quarter << i) % 2 == 1) result = high_mul(result, powers[i]);
  return a == 0 ? 2147483647 : result;
}

std::vector<int32_t> tflite(const std::vector<int8_t>& x, const fovea_tflite_softmax& s, int bits) {
  const int64_t least = -(int64_t{1} << (bits - 1)), top = *std::max_element(x.begin(), x.end());
  const auto e = [&](int64_t d) {
    return exp_on_negative(high_mul(d * (int64_t{1} << s.left_shift), s.multiplier));
  };
  int64_t sum = 0;
  for (int8_t v : x) sum += v - top >= s.diff_min ? divide(e(v - top), 12) : 0;
  int headroom = 0;
  while (!((sum << headroom) >> 31)) ++headroom;
  const int64_t half = ((sum << headroom) - (int64_t{1} << 31) + 2147483648LL) / 2;
  int64_t y = 1515870810 + high_mul(half, -1010580540);
  for (int i = 0; i < 3; ++i) y += saturate(4 * high_mul(y, (1 << 29) - high_mul(half, y)));
  y = saturate(2 * y);
  std::vector<int32_t> out;
  for (int8_t v : x) {
    const int64_t p = v - top >= s.diff_min
                          ? divide(high_mul(y, e(v - top)), 12 - headroom + 31 - bits) + least
                          : least;
    out.push_back(static_cast<int32_t>(std::clamp(p, least, -least - 1)));
  }
  return out;
}

// A table of 513 numbers over 16 bits, straight lines in between.
int64_t look_up(int64_t x, const int16_t* table) {
  const int64_t from = x + 32768, at = from / 128, offset = from % 128;
  return table[at] + (((table[at + 1] - table[at]) * offset + 64) >> 7);
}

std::vector<int32_t> tflite_by_tables(const std::vector<int16_t>& x, const fovea_tflite_softmax_tables& t) {
  const int64_t top = *std::max_element(x.begin(), x.end());
  const auto to_16_bits = [](int64_t v) { return std::clamp<int64_t>(v, -32768, 32767); };
  const auto e = [&](int64_t v) {
    const int64_t scaled = high_mul((v - top) * (int64_t{1} << std::max<int32_t>(t.shift, 0)), t.multiplier);
    return look_up(to_16_bits(divide(scaled, std::max<int32_t>(-t.shift, 0)) + 32767), t.exp);
  };
  int64_t sum = 0;
  for (int16_t v : x) sum += e(v);
  int headroom = 0;
  while (!((sum << headroom) >> 31)) ++headroom;
  const int64_t scaled = ((sum << (headroom - 1)) + (1 << 13)) >> 14;
  const int64_t inverse = look_up(to_16_bits(scaled - 98304), t.one_over_one_plus);
  std::vector<int32_t> out;
  for (int16_t v : x)
    out.push_back(static_cast<int32_t>(std::clamp<int64_t>(
        (e(v) * inverse + (int64_t{1} << (30 - headroom))) >> (31 - headroom), 0, 32767)));
  return out;
}

std::vector<int8_t> row(size_t count, int kind) {
  std::vector<int8_t> x(count);
  for (size_t i = 0; i < count; ++i)
    x[i] = static_cast<int8_t>(kind == 0   ? noise() % 256
                               : kind == 1 ? 127
                               : kind == 2 ? (i == 0 ? 127 : -128)
                                           : 100 + noise() % 28);
  return x;
}

} // namespace

TEST_CASE("TFLite's int8 softmax, bit for bit") {
  const fovea_tflite_softmax worked = {1077952640, 19, -3968};
  std::vector<fovea_tflite_softmax> scales = {worked};
  for (double scale : {0.001, 0.02, 0.1, 0.25, 1.0}) scales.push_back(fovea::tflite_softmax_scale(scale, 1));
  for (int32_t diff_min : {0, -1, -20})
    scales.push_back({worked.multiplier, worked.left_shift, diff_min}); // where e^x is far from 0
  for (const fovea_tflite_softmax& s : scales)
    for (size_t count : {1, 2, 3, 17, 64, 512, 1000, 4095, 4096, 8191})
      for (int kind = 0; kind < 4; ++kind) {
        CAPTURE(count);
        CAPTURE(kind);
        CAPTURE(s.left_shift);
        const std::vector<int8_t> x = row(count, kind);
        std::vector<int8_t> out8(count);
        std::vector<int16_t> out16(count);
        REQUIRE(fovea_tflite_softmax_s8(x.data(), static_cast<int32_t>(count), &s, out8.data()) == FOVEA_OK);
        REQUIRE(fovea_tflite_softmax_s8_s16(x.data(), static_cast<int32_t>(count), &s, out16.data()) ==
                FOVEA_OK);
        const std::vector<int32_t> right8 = tflite(x, s, 8), right16 = tflite(x, s, 16);
        CHECK(std::equal(out8.begin(), out8.end(), right8.begin()));
        CHECK(std::equal(out16.begin(), out16.end(), right16.begin()));
      }
}

TEST_CASE("TFLite's int8 softmax to 16 bits, where the last bit of a constant shows") {
  struct shows {
    int32_t multiplier, left_shift, x; // of one element; the other is 127
  };
  const shows table[] = {
      {1265333752, 22, 105}, {1868181486, 18, 49},  // e^-1/4, by one less and one more
      {1555567017, 19, 29},  {1874815334, 19, 40},  // e^-1/2
      {2084487281, 19, -14}, {1165307422, 23, 69},  // e^-1
      {1075443262, 21, -58}, {1458655110, 20, -64}, // e^-2
      {1601577389, 22, 35},  {2130677329, 21, -57}, // e^-4
      {1824417086, 24, 88},  {1273466412, 22, -92}, // e^-8
  };
  for (const shows& t : table) {
    CAPTURE(t.multiplier);
    const fovea_tflite_softmax s = {t.multiplier, t.left_shift, -255};
    const std::vector<int8_t> x = {127, static_cast<int8_t>(t.x)};
    int16_t out[2] = {};
    CHECK(fovea_tflite_softmax_s8_s16(x.data(), 2, &s, out) == FOVEA_OK);
    const std::vector<int32_t> right = tflite(x, s, 16);
    CHECK((out[0] == right[0] && out[1] == right[1]));
  }
}

TEST_CASE("the scale of the converter: the worked numbers") {
  const double scale = std::ldexp(1077952640.0 / 2147483648.0, 19) / (1 << 26);
  const fovea_tflite_softmax s = fovea::tflite_softmax_scale(scale, 1);
  CHECK(s.multiplier == 1077952640);
  CHECK(s.left_shift == 19);
  CHECK(s.diff_min == -3968);
}

TEST_CASE("TFLite's int16 softmax: one element, sums near 2^31, and close to the exact softmax") {
  fovea::tflite_tables t;
  fovea::make_tflite_tables(1.0 / 4096, 1, t);
  const int16_t one = -123;
  int16_t out = 0;
  CHECK(fovea_tflite_softmax_s16(&one, 1, &t.scale, &out) == FOVEA_OK);
  CHECK(out >= 32760); // of 32768: the whole mass
  for (size_t count : {2, 3, 64, 512, 8191}) {
    for (int equal = 0; equal < 2; ++equal) {
      std::vector<int16_t> x(count), y(count);
      for (int16_t& v : x)
        v = static_cast<int16_t>(equal ? 77 : static_cast<int32_t>(noise() % 20000) - 10000);
      CHECK(fovea_tflite_softmax_s16(x.data(), static_cast<int32_t>(count), &t.scale, y.data()) == FOVEA_OK);
      double sum = 0;
      const double top = *std::max_element(x.begin(), x.end());
      for (int16_t v : x) sum += std::exp((v - top) / 4096);
      for (size_t i = 0; i < count; ++i)
        CHECK(std::fabs(y[i] - 32768 * std::exp((x[i] - top) / 4096) / sum) < 6); // its tables' error
    }
  }
}

TEST_CASE("TFLite's int16 softmax, bit for bit") {
  for (double scale : {1.0 / 65536, 1.0 / 4096, 1.0 / 300, 0.02, 1.0}) {
    fovea::tflite_tables t;
    fovea::make_tflite_tables(scale, 1, t);
    CAPTURE(t.scale.shift);
    for (size_t count : {1, 2, 3, 17, 64, 1000, 8191})
      for (int32_t spread : {1, 100, 3000, 65536}) {
        CAPTURE(count);
        CAPTURE(spread);
        std::vector<int16_t> x(count), y(count);
        for (int16_t& v : x)
          v = static_cast<int16_t>(static_cast<int32_t>(noise() % static_cast<uint32_t>(spread)) -
                                   spread / 2);
        REQUIRE(fovea_tflite_softmax_s16(x.data(), static_cast<int32_t>(count), &t.scale, y.data()) ==
                FOVEA_OK);
        const std::vector<int32_t> right = tflite_by_tables(x, t.scale);
        CHECK(std::equal(y.begin(), y.end(), right.begin(), right.end()));
      }
  }
}

TEST_CASE("TFLite's softmax: the ends of a range are accepted, and what lies beside it is refused by name") {
  const auto refused = [](int32_t reason, int32_t argument) { return reason | argument << 8; };
  const int32_t no_count = refused(FOVEA_SIZE, FOVEA_ARG_KEYS),
                no_scale = refused(FOVEA_RANGE, FOVEA_ARG_SCALE);
  const int8_t x8[2] = {1, 2};
  const int16_t x16[2] = {1, 2};
  struct call {
    const char* why;
    int32_t count;
    fovea_tflite_softmax scale;
    int32_t status;
  };
  const call calls[] = {
      {"no number", 0, {1, 0, 0}, FOVEA_OK},
      {"the least scale", 2, {0, 0, 0}, FOVEA_OK},
      {"the greatest scale", 2, {INT32_MAX, 31, INT32_MIN}, FOVEA_OK},
      {"a negative count", -1, {1, 0, 0}, no_count},
      {"too many numbers", 8192, {1, 0, 0}, no_count},
      {"a negative multiplier", 2, {-1, 0, 0}, no_scale},
      {"a negative shift", 2, {1, -1, 0}, no_scale},
      {"a shift of 32", 2, {1, 32, 0}, no_scale},
      {"a distance above the top", 2, {1, 0, 1}, no_scale},
  };
  for (const call& c : calls) {
    INFO(std::string(c.why));
    int8_t out8[2] = {7, 7};
    int16_t out16[2] = {7, 7};
    CHECK(fovea_tflite_softmax_s8(x8, c.count, &c.scale, out8) == c.status);
    CHECK(fovea_tflite_softmax_s8_s16(x8, c.count, &c.scale, out16) == c.status);
    if (c.status != FOVEA_OK) CHECK((out8[0] == 7 && out8[1] == 7 && out16[0] == 7 && out16[1] == 7));
  }
  fovea::tflite_tables good;
  fovea::make_tflite_tables(1.0 / 4096, 1, good);
  struct table_call {
    const char* why;
    int32_t count, multiplier, shift, status;
  };
  const table_call table_calls[] = {
      {"no number", 0, 1, 0, FOVEA_OK},
      {"the least scale", 2, 0, -31, FOVEA_OK},
      {"the greatest shift", 2, 1 << 30, 14, FOVEA_OK},
      {"a negative count", -1, 1, 0, no_count},
      {"too many numbers", 8192, 1, 0, no_count},
      {"a negative multiplier", 2, -1, 0, no_scale},
      {"a shift of -32", 2, 1, -32, no_scale},
      {"a shift of 15", 2, 1, 15, no_scale},
  };
  int16_t out[2] = {7, 7};
  for (const table_call& c : table_calls) {
    INFO(std::string(c.why));
    out[0] = out[1] = 7;
    const fovea_tflite_softmax_tables t = {good.exp, good.one_over_one_plus, c.multiplier, c.shift};
    CHECK(fovea_tflite_softmax_s16(x16, c.count, &t, out) == c.status);
    if (c.status != FOVEA_OK || c.count == 0) CHECK((out[0] == 7 && out[1] == 7));
  }
  const fovea_tflite_softmax s = {1, 0, 0};
  const fovea_tflite_softmax_tables no_exp = {nullptr, good.one_over_one_plus, 1, 0},
                                    no_inverse = {good.exp, nullptr, 1, 0};
  int8_t out8[2] = {7, 7};
  out[0] = out[1] = 7;
  CHECK(fovea_tflite_softmax_s16(x16, 2, &no_exp, out) == refused(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(fovea_tflite_softmax_s16(x16, 2, &no_inverse, out) == refused(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(fovea_tflite_softmax_s16(x16, 2, nullptr, out) == refused(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(fovea_tflite_softmax_s8(x8, 2, nullptr, out8) == refused(FOVEA_NULL, FOVEA_ARG_SCALE));
  CHECK(fovea_tflite_softmax_s8(nullptr, 2, &s, out8) == refused(FOVEA_NULL, FOVEA_ARG_Q));
  CHECK(fovea_tflite_softmax_s8(x8, 2, &s, nullptr) == refused(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_tflite_softmax_s8(nullptr, 0, &s, nullptr) == FOVEA_OK);
  CHECK((out[0] == 7 && out8[0] == 7));
}
