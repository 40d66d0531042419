// The accurate softmax of integers, bit for bit and against the exact one; what it refuses.
#include "fovea/fixed_softmax.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

uint32_t random_state = 1;
uint32_t noise() { return random_state = random_state * 1664525u + 1013904223u, random_state >> 8; }

} // namespace

// The formula in 64 bits: weights of 22 bits, one division of 32 bits and one step of Newton's.
TEST_CASE("the accurate softmax, bit for bit") {
  const int64_t factors[] = {-1369601, 10286296, -59582935, 257938912, -744260973, 1 << 30};
  const int32_t multipliers[] = {1, 77777, 1549082005, INT32_MAX};
  const auto weight = [&](int64_t u) {
    const int64_t whole = u >> 22, f = (u & ((1 << 22) - 1)) << 9;
    int64_t y = 117391;
    for (int64_t factor : factors) y = ((y * f) >> 31) + factor;
    return whole >= 23 ? int64_t{0} : (y + (int64_t{1} << (7 + whole))) >> (8 + whole);
  };
  for (int32_t shift : {1, 3, 5, 6, 7, 12, 20, 31})
    for (int32_t multiplier : multipliers)
      for (size_t count : {1, 2, 5, 100, 3000, 65536}) { // the last one at one shift only
        if (count > 3000 && shift != 20) continue;
        CAPTURE(shift);
        CAPTURE(multiplier);
        CAPTURE(count);
        std::vector<int16_t> x(count);
        std::vector<uint8_t> mask(count);
        std::vector<uint16_t> p(count);
        for (size_t i = 0; i < count; ++i)
          x[i] = static_cast<int16_t>(noise() >> (shift > 12 ? 0 : 4)), mask[i] = noise() % 4 != 0;
        REQUIRE(fovea_fixed_softmax_s16(x.data(), mask.data(), static_cast<int32_t>(count), multiplier, shift,
                                        p.data()) == FOVEA_OK);
        int64_t top = -32768, sum = 0;
        for (size_t i = 0; i < count; ++i) top = mask[i] ? std::max<int64_t>(top, x[i]) : top;
        const auto octaves = [&](int64_t v) {
          const int64_t product = v * multiplier;
          return shift >= 6 ? product >> (shift - 6) : product * (1 << (6 - shift));
        };
        const auto weight_at = [&](size_t i) { return mask[i] ? weight(octaves(top) - octaves(x[i])) : 0; };
        for (size_t i = 0; i < count; ++i) sum += weight_at(i);
        int length = 1;
        while (sum >> length) ++length;
        const int64_t leading = length > 32 ? sum >> (length - 32) : sum << (32 - length);
        const int64_t r = sum ? (4294967295 / (leading >> 15)) << 15 : 0;
        const int64_t inverse = std::min<int64_t>(
            r + ((r * (((int64_t{1} << 62) - r * leading) >> 31)) >> 31), 2147483647);
        int wrong = 0;
        for (size_t i = 0; i < count; ++i) {
          const int64_t y = sum ? (weight_at(i) * inverse + (int64_t{1} << (13 + length))) >> (14 + length)
                                : 0;
          wrong += p[i] != std::min<int64_t>(y, 65535);
        }
        CHECK(wrong == 0);
      }
}

TEST_CASE("the accurate softmax: within one step of 1/65536, and a mask that leaves nothing") {
  const int32_t multiplier = 1549082005, shift = 20; // 0.0156 of a natural logit
  const double octave = multiplier / std::exp2(shift + 16);
  for (size_t count : {1, 2, 5, 100, 1000, 65536}) {
    CAPTURE(count);
    std::vector<int8_t> x(count);
    std::vector<uint8_t> mask(count);
    std::vector<uint16_t> p(count);
    for (size_t i = 0; i < count; ++i)
      x[i] = static_cast<int8_t>(noise()), mask[i] = i == count / 2 || noise() % 4 != 0;
    REQUIRE(fovea_fixed_softmax_s8(x.data(), mask.data(), static_cast<int32_t>(count), multiplier, shift,
                                   p.data()) == FOVEA_OK);
    double sum = 0, worst = 0;
    for (size_t i = 0; i < count; ++i) sum += mask[i] ? std::exp2(x[i] * octave) : 0;
    for (size_t i = 0; i < count; ++i) {
      if (!mask[i]) CHECK(p[i] == 0);
      const double right = mask[i] ? 65536 * std::exp2(x[i] * octave) / sum : 0;
      worst = std::max(worst, std::fabs(p[i] - std::min(right, 65535.0)));
    }
    CHECK(worst < 0.6);
  }
  const int8_t x[3] = {1, 2, 3};
  const uint8_t none[3] = {};
  uint16_t p[3] = {7, 7, 7};
  CHECK(fovea_fixed_softmax_s8(x, none, 3, multiplier, shift, p) == FOVEA_OK);
  CHECK((p[0] | p[1] | p[2]) == 0);
}

TEST_CASE("integer softmax: the ends of a range are accepted, and what lies beside it is refused by name") {
  const int8_t x8[2] = {1, 2};
  const int16_t x16[2] = {1, 2};
  struct call {
    const char* why;
    int32_t count, multiplier, shift, status;
  };
  const auto refused = [](int32_t reason, int32_t argument) { return reason | argument << 8; };
  const call calls[] = {
      {"no number", 0, 1, 1, FOVEA_OK},
      {"the least scale", 2, 1, 31, FOVEA_OK},
      {"the greatest scale", 2, INT32_MAX, 1, FOVEA_OK},
      {"a negative count", -1, 1, 1, refused(FOVEA_SIZE, FOVEA_ARG_KEYS)},
      {"too many numbers", 65537, 1, 1, refused(FOVEA_SIZE, FOVEA_ARG_KEYS)},
      {"no multiplier", 2, 0, 1, refused(FOVEA_RANGE, FOVEA_ARG_SCALE)},
      {"a negative multiplier", 2, -1, 1, refused(FOVEA_RANGE, FOVEA_ARG_SCALE)},
      {"no shift", 2, 1, 0, refused(FOVEA_RANGE, FOVEA_ARG_SCALE)},
      {"a negative shift", 2, 1, -1, refused(FOVEA_RANGE, FOVEA_ARG_SCALE)},
      {"a shift of 32", 2, 1, 32, refused(FOVEA_RANGE, FOVEA_ARG_SCALE)},
  };
  for (const call& c : calls) {
    INFO(std::string(c.why));
    uint16_t out[2] = {7, 7};
    CHECK(fovea_fixed_softmax_s8(x8, nullptr, c.count, c.multiplier, c.shift, out) == c.status);
    CHECK((c.status == FOVEA_OK || (out[0] == 7 && out[1] == 7)));
    CHECK(fovea_fixed_softmax_s16(x16, nullptr, c.count, c.multiplier, c.shift, out) == c.status);
    CHECK((c.status == FOVEA_OK || (out[0] == 7 && out[1] == 7)));
  }
  uint16_t out[2] = {7, 7};
  CHECK(fovea_fixed_softmax_s8(nullptr, nullptr, 2, 1, 1, out) == refused(FOVEA_NULL, FOVEA_ARG_Q));
  CHECK(fovea_fixed_softmax_s8(x8, nullptr, 2, 1, 1, nullptr) == refused(FOVEA_NULL, FOVEA_ARG_OUT));
  CHECK(fovea_fixed_softmax_s8(nullptr, nullptr, 0, 1, 1, nullptr) == FOVEA_OK);
  CHECK((out[0] == 7 && out[1] == 7));
}
