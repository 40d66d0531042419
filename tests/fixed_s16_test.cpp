// Attention on 16-bit numbers: as close to the exact result as its weights allow, and the same whatever the
// scratch and the parts.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

// Signal to error in dB, of a result in units of v.
double quality(const fixed_problem& x, double unit) {
  const fovea_fixed_attention& a = x.call();
  const fixed_reference::call exact{a};
  double signal = 0, error = 0;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i) {
      const std::vector<double> right = fixed_reference::exact(exact, h, i);
      for (size_t c = 0; c < right.size(); ++c) {
        const size_t at = (static_cast<size_t>(h * a.queries + i)) * right.size() + c;
        float f = 0;
        int16_t s = 0;
        if (a.out.dtype == FOVEA_FIXED_F32) std::memcpy(&f, x.out.data() + at * sizeof f, sizeof f);
        if (a.out.dtype == FOVEA_FIXED_S16) std::memcpy(&s, x.out.data() + at * sizeof s, sizeof s);
        const double y = (a.out.dtype == FOVEA_FIXED_F32 ? static_cast<double>(f) : s - a.out.zero_point) *
                         unit;
        signal += right[c] * right[c], error += (y - right[c]) * (y - right[c]);
      }
    }
  return error == 0 ? 200 : 10 * std::log10(signal / error);
}

void attend(fixed_problem& x, size_t scratch, int32_t parts = 1) {
  fovea_fixed_attention a = x.call();
  std::vector<unsigned char> room(scratch);
  for (int32_t part = 0; part < parts; ++part) {
    a.part = {part, parts};
    REQUIRE(fovea_fixed_attend(&a, room.data(), scratch) == FOVEA_OK);
  }
}

} // namespace

TEST_CASE("Q15 attention keeps its promise of quality") {
  struct promise {
    fixed_problem x;
    int32_t bits;
    double f32_db, s16_db; // Q15 output has the scale of v, so its own rounding is all that is left
  };
  const double peaky = 3;
  promise all[] = {
      {fixed_problem("N(0,1)").heads(2, 1).dims(64).lengths(6, 512), 15, 75, 64},
      {fixed_problem("N(0,1), 22 bits").heads(2, 1).dims(64).lengths(6, 512), 22, 110, 64},
      {fixed_problem("peaky").heads(2, 1).dims(64).lengths(6, 512).steepness(peaky), 15, 65, 72},
      {fixed_problem("peaky, 22 bits").heads(2, 1).dims(64).lengths(6, 512).steepness(peaky), 22, 110, 72},
      {fixed_problem("causal, odd dims").heads(2, 1).dims(33, 21).lengths(40, 100).causal(), 22, 110, 72},
      {fixed_problem("ALiBi, bias and a window")
           .heads(2, 1)
           .dims(32)
           .lengths(9, 140)
           .causal()
           .alibi()
           .biased()
           .window(90, 0),
       22, 100, 72},
      {fixed_problem("sinks").heads(4, 2).dims(32).lengths(6, 140).causal().sinks(), 15, 75, 64},
      {fixed_problem("sinks, 22 bits").heads(4, 2).dims(32).lengths(6, 140).causal().sinks(), 22, 110, 64},
      {fixed_problem("one key, extremes")
           .heads(1)
           .dims(64)
           .lengths(2, 1)
           .data(filling::extremes)
           .steepness(0.01),
       15, 100, 80},
      {fixed_problem("extremes, 22 bits")
           .heads(1)
           .dims(64)
           .lengths(2, 130)
           .data(filling::extremes)
           .steepness(0.01),
       22, 100, 75},
  };
  for (promise& p : all)
    for (int32_t type : {FOVEA_FIXED_F32, FOVEA_FIXED_S16}) {
      INFO(std::string(p.x.why()));
      CAPTURE(type);
      fixed_problem x = p.x;
      x.s16(p.bits).make(type);
      REQUIRE(fovea_fixed_check(&x.call()) == FOVEA_OK);
      attend(x, fovea_fixed_scratch(&x.call()));
      CHECK(fovea_fixed_scratch(&x.call()) <= FOVEA_FIXED_SCRATCH(x.call().dim, x.v_dim()));
      const double db = quality(x, type == FOVEA_FIXED_F32 ? 32767 / 4.5 : 1.0);
      CHECK(db > (type == FOVEA_FIXED_F32 ? p.f32_db : p.s16_db));
      const std::vector<unsigned char> first = x.out;
      x.out.assign(x.out.size(), 0x55);
      attend(x, fovea_fixed_scratch_best(&x.call()), 3);
      CHECK(x.out == first);
    }
}

TEST_CASE("Q15 attention: rows that see nothing are zero, masked keys have no weight") {
  fixed_problem x("masked");
  x.heads(1).dims(16).lengths(9, 20).causal().position(-4).s16().make(FOVEA_FIXED_S16);
  attend(x, fovea_fixed_scratch(&x.call()));
  for (size_t i = 0; i < 4 * x.row_bytes(); ++i) CHECK(x.out[i] == 0);
}

TEST_CASE("Q15: a slope takes away more than any score, however far a key lies") {
  // One key far away beside a sink of logit 0: nothing is left of its value.
  const std::vector<int16_t> q(16, 0), k(16, 0), v = {1000, 2000};
  const int32_t sink = 0;
  const int32_t positions[] = {(1 << 27) + 1, INT32_MAX, INT32_MIN}, slopes[] = {1 << 30, INT32_MAX};
  for (int32_t position : positions)
    for (int32_t slope : slopes)
      for (int32_t bits : {15, 22}) {
        CAPTURE(position);
        CAPTURE(slope);
        CAPTURE(bits);
        std::vector<int16_t> out(2, 77);
        std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(16, 16));
        fovea_fixed_attention a{};
        a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data();
        a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = FOVEA_FIXED_S16;
        a.q_heads = a.queries = a.keys = 1, a.dim = 16, a.v_dim = 2, a.weight_bits = bits;
        a.flags = FOVEA_POSITION, a.position = position, a.alibi = &slope, a.sinks = &sink;
        a.scale = {1 << 30, 21, 16, 1 << 30, 1, 0x3f800000};
        CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
        CHECK(out == std::vector<int16_t>(2, 0));
      }
}

TEST_CASE("Q15: a slope takes 2^55 from a score at most") {
  // 31 products of -32768 squared, times the multiplier of their key, are 2^61.9 units of 2^-22 octaves; a
  // slope of any steepness takes 2^61 of them. So all weight is left to the key, none to the sink.
  const std::vector<int16_t> q(31, -32768), k(31, -32768), v = {1000};
  const int32_t sink = 0, multiplier = INT32_MAX, slope = 1 << 30;
  for (int32_t distance : {1 << 25, 1 << 26, 1 << 27, 1 << 30}) { // times the slope: 2^55 .. 2^60
    CAPTURE(distance);
    int16_t out = 77;
    std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(31, 1));
    fovea_fixed_attention a{};
    a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = &out;
    a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = FOVEA_FIXED_S16;
    a.q_heads = a.queries = a.keys = 1, a.dim = 31, a.v_dim = 1, a.weight_bits = 22;
    a.flags = FOVEA_POSITION, a.position = distance, a.alibi = &slope, a.sinks = &sink;
    a.key_multipliers.data = &multiplier;
    a.scale = {1, 6, 4, 1 << 30, 1, 0x3f800000};
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(std::abs(out - 1000) <= 1);
  }
}

TEST_CASE("Q15: a fine output, whose shift goes to the left") {
  // q = k = 0: one key has all the weight. Its value 1 leaves as 1 * 2^30 * 2^(shift - 31), limited to 16
  // bits.
  const std::vector<int16_t> q(16, 0), k(16, 0), v = {1, -1, 3};
  for (int32_t shift : {10, 14, 15, 16, 20}) {
    CAPTURE(shift);
    std::vector<int16_t> out(3, 77);
    std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(16, 16));
    fovea_fixed_attention a{};
    a.q.data = q.data(), a.k.data = k.data(), a.v.data = v.data(), a.out.data = out.data();
    a.q.dtype = a.k.dtype = a.v.dtype = a.out.dtype = FOVEA_FIXED_S16;
    a.q_heads = a.queries = a.keys = 1, a.dim = 16, a.v_dim = 3;
    a.scale = {1 << 30, 21, 16, 1 << 30, shift, 0x3f800000};
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    for (size_t c = 0; c < 3; ++c) {
      const int32_t exact = v[c] * (1 << (shift - 1)), limited = exact > 32767    ? 32767
                                                                 : exact < -32768 ? -32768
                                                                                  : exact;
      CHECK(std::abs(out[c] - limited) <= (std::abs(exact) > 40000 ? 0 : 1 + std::abs(exact) / 16384));
    }
  }
}
