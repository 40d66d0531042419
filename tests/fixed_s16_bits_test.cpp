// Attention on 16-bit numbers gives the bits of its written specification, in any scratch, in any parts.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"
#include "fixed_s16_reference.hpp"

#if defined(__SIZEOF_INT128__)
namespace {

std::vector<fixed_problem> cases() {
  using f = filling;
  const auto c = [](const char* why) { return fixed_problem(why); };
  return {
      c("one key").heads(2, 1).dims(16).lengths(3, 1),
      c("one element a row").dims(1).lengths(2, 5),
      c("odd dims").heads(2).dims(37, 19).lengths(3, 70),
      c("64 keys, a whole block").heads(4, 2).dims(64).lengths(2, 64),
      c("65 keys").heads(2, 2).dims(64).lengths(2, 65).data(f::uniform),
      c("causal").heads(2, 1).dims(32).lengths(20, 70).causal(),
      c("513 keys").heads(1).dims(64).lengths(2, 513).max_keys(1024),
      c("every number an extreme").heads(1).dims(130).lengths(2, 130).data(f::extremes).steepness(0.01),
      c("every number the lowest").heads(1).dims(16).lengths(2, 70).data(f::lowest),
      c("the reference rises in each block").heads(1).dims(64).lengths(3, 400).data(f::rising).steepness(0.2),
      c("the reference rises far").heads(1).dims(64).lengths(3, 400).data(f::rising).steepness(3),
      c("one key above all others").heads(1).dims(64).lengths(3, 300).data(f::one_key),
      c("steep scores").heads(2).dims(64).lengths(3, 300).steepness(3),
      c("flat scores").heads(2).dims(64).lengths(3, 200).steepness(1e-4),
      c("very flat scores").heads(2).dims(64).lengths(3, 100).steepness(2e-6),
      c("window to both sides").heads(2, 1).dims(16).lengths(9, 300).position(200).window(70, 30),
      c("kept keys and a window").heads(1).dims(16).lengths(9, 300).causal().window(20, 0).keep_first(5),
      c("a prefix").heads(1).dims(16).lengths(9, 150).causal().position(3).prefix(140),
      c("rows that see nothing").heads(1).dims(16).lengths(9, 20).causal().position(-4),
      c("no key at all").heads(1).dims(16).lengths(3, 0),
      c("rows that begin inside a block").heads(1).dims(16).lengths(5, 90).causal().first_key(37),
      c("an output with a zero point").heads(1).dims(16).lengths(5, 90).zeros(0, 0, 0, -300),
      c("a bool mask").heads(2, 1).dims(32).lengths(6, 140).masked(),
      c("a bias in octaves").heads(2, 1).dims(32).lengths(6, 140).biased(),
      c("ALiBi, causal").heads(4, 2).dims(32).lengths(6, 140).alibi().causal(),
      c("ALiBi to both sides").heads(4, 2).dims(32).lengths(6, 140).alibi().position(70),
      c("sinks").heads(4, 2).dims(32).lengths(6, 140).sinks().causal(),
      c("sinks alone").heads(2).dims(32).lengths(2, 0).sinks(),
      c("a scale per head").heads(4, 2).dims(32).lengths(6, 140).scale_per_head(),
      c("a scale per key").heads(4, 2).dims(32).lengths(6, 140).scale_per_key().causal(),
      c("tables of keys from inside a block on")
          .heads(4, 2)
          .dims(20)
          .lengths(3, 90)
          .masked()
          .biased()
          .alibi()
          .scale_per_key()
          .first_key(37),
      c("everything at once")
          .heads(4, 2)
          .dims(40, 24)
          .lengths(9, 200)
          .masked()
          .biased()
          .alibi()
          .sinks()
          .scale_per_head()
          .causal()
          .window(150, 0)
          .keep_first(2),
  };
}

void check_bits(fixed_problem& x, fovea_fixed_attention a) {
  const std::vector<unsigned char> expected = fixed_s16_reference::output(a);
  for (int32_t parts : {1, 3}) {
    CAPTURE(parts);
    const size_t size = parts == 1 ? fovea_fixed_scratch(&a) : fovea_fixed_scratch_best(&a);
    std::vector<unsigned char> scratch(size + 1, 0x5a); // at an odd address
    x.out.assign(x.out.size(), 0x55);
    for (int32_t part = 0; part < parts; ++part) {
      a.part = {part, parts};
      CHECK(fovea_fixed_attend(&a, scratch.data() + 1, size) == FOVEA_OK);
    }
    CHECK(x.out == expected);
  }
}

} // namespace

TEST_CASE("Q15: every call gives the bits of the specification") {
  for (int32_t bits : {15, 22})
    for (int32_t type : {FOVEA_FIXED_S16, FOVEA_FIXED_F32})
      for (fixed_problem& x : cases()) {
        INFO(std::string(x.why()));
        CAPTURE(bits);
        CAPTURE(type);
        check_bits(x, x.s16(bits).make(type, static_cast<uint32_t>(type + bits)));
      }
}

TEST_CASE("Q15: scores of every shift, octaves and sinks at their limits, outputs of every scale") {
  fixed_problem x("limits");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(2, 70).biased().sinks().s16().make(FOVEA_FIXED_S16,
                                                                                              3);
  std::vector<int32_t> bias(static_cast<const int32_t*>(a.bias.data),
                            static_cast<const int32_t*>(a.bias.data) + 2 * 2 * 70);
  const int32_t limits[] = {INT32_MAX,  INT32_MIN,     INT32_MIN + 1, 0,     1 << 28,
                            -(1 << 28), (1 << 28) - 1, 1 - (1 << 28), 65536, 17};
  for (int32_t bits : {15, 22}) {
    a.weight_bits = bits;
    CAPTURE(bits);
    for (int32_t shift : {1, 3, 5, 6, 7, 20, 31}) {
      fovea_fixed_attention b = a;
      b.scale.score_shift = shift, b.scale.score_multiplier = 1 << (shift > 4 ? shift - 3 : 0);
      CAPTURE(shift);
      REQUIRE(fovea_fixed_check(&b) == (shift < 3 ? FOVEA_RANGE | FOVEA_ARG_SCALE << 8 : int32_t{FOVEA_OK}));
      if (shift >= 3) check_bits(x, b);
    }
    for (int32_t shift : {-30, -17, -16, -10, 0, 5, 13, 14}) {
      fovea_fixed_attention b = a;
      b.scale.out_shift = shift;
      CAPTURE(shift);
      check_bits(x, b);
    }
    for (int32_t sink : limits) {
      const int32_t both[] = {sink, -(sink / 2)};
      fovea_fixed_attention b = a;
      b.sinks = both;
      CAPTURE(sink);
      check_bits(x, b);
      for (size_t i = 0; i < bias.size(); i += 3) bias[i] = limits[i % 10];
      b.bias.data = bias.data();
      check_bits(x, b);
    }
  }
}

TEST_CASE("Q15: a sink at its lowest, beside a key at its lowest, where each step of its weight shows") {
  fixed_problem x("one key");
  fovea_fixed_attention a = x.heads(1).dims(16).lengths(1, 1).biased().sinks().s16(22).make(FOVEA_FIXED_F32);
  const int32_t bias = INT32_MIN + 1;
  a.bias.data = &bias;
  for (int32_t sink : {INT32_MIN, -(1 << 28), 1 - (1 << 28), 2 - (1 << 28)}) {
    CAPTURE(sink);
    a.sinks = &sink;
    check_bits(x, a);
  }
}

TEST_CASE("Q15: an output whose shift is 15 to 20 is that of 14, doubled each time") {
  fixed_problem x("values of 3");
  fovea_fixed_attention a = x.heads(1).dims(16).lengths(1, 2).s16().make(FOVEA_FIXED_S16);
  const std::vector<int16_t> zeros(32, 0), values(32, 3);
  a.q.data = a.k.data = zeros.data(), a.v.data = values.data();
  a.scale.out_multiplier = 1 << 20;
  std::vector<unsigned char> scratch(fovea_fixed_scratch(&a));
  for (int32_t shift = 14; shift <= 20; ++shift) {
    CAPTURE(shift);
    a.scale.out_shift = shift;
    REQUIRE(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    int16_t y = 0;
    std::memcpy(&y, x.out.data(), sizeof y);
    CHECK(std::abs(y - (24 << (shift - 14))) <= 1 << (shift - 14)); // 3 * 2^20 * 2^(shift - 31)
  }
}
#endif
