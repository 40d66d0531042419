// Options that touch single keys, where they leave 32 bits: every ISA limits octaves as the specification
// does.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

void check_bits(fixed_problem& x, fovea_fixed_attention a, const char* why) {
  const bool panels = a.k.layout == FOVEA_PANELS; // which the reference does not read
  const std::vector<unsigned char> expected = panels ? x.expected() : fixed_reference::output(a);
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    INFO(std::string(why));
    INFO(std::string(fovea_fixed_isa_name(isa)));
    a.isa = isa;
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    x.out.assign(x.out.size(), 0x55);
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(x.out == expected);
  }
}

} // namespace

TEST_CASE("int8: slopes and biases beyond 32 bits are limited alike") {
  constexpr int32_t least = INT32_MIN + 1, greatest = INT32_MAX;
  const int32_t slopes[] = {0, 1, -1, 70000, -70000, greatest, least};
  const int32_t positions[] = {0, 69, 5000, greatest, INT32_MIN};
  fixed_problem x("far positions");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(3, 70).biased().alibi().make(FOVEA_FIXED_S8, 3);
  std::vector<int32_t> bias(static_cast<const int32_t*>(a.bias.data),
                            static_cast<const int32_t*>(a.bias.data) + 2 * 3 * 70);
  for (size_t i = 0; i < bias.size(); i += 5) bias[i] = i % 2 ? greatest : least;
  for (const bool biased : {true, false})
    for (const int32_t slope : slopes)
      for (const int32_t position : positions) {
        const int32_t both[] = {slope, -slope / 3};
        a.bias.data = biased ? bias.data() : nullptr;
        a.alibi = both;
        a.flags = FOVEA_POSITION, a.position = position;
        check_bits(x, a, biased ? "slope and bias" : "slope");
      }
}

TEST_CASE("int8: small multipliers with small shifts give the octaves of the specification") {
  const struct {
    int32_t multiplier, shift;
  } scales[] = {{1, 1},        {12345, 4},    {1 << 19, 10}, {(1 << 19) + 3, 10},
                {1 << 27, 18}, {1 << 29, 20}, {77, 31}};
  for (const bool by_head : {false, true})
    for (const auto& scale : scales) {
      fixed_problem x("small multipliers");
      fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(3, 130).causal().make(FOVEA_FIXED_S8, 4);
      a.scale.score_multiplier = scale.multiplier, a.scale.score_shift = scale.shift;
      fovea_fixed_scale of_heads[2] = {x.make(FOVEA_FIXED_S8, 4).scale, a.scale};
      if (by_head) a.head_scales = of_heads;
      check_bits(x, a, "a small multiplier");
    }
}

TEST_CASE("int8: a bias beyond 32 bits is limited") {
  fixed_problem x("great biases");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(3, 130).biased().masked().steepness(3).make(
      FOVEA_FIXED_S8, 4);
  std::vector<int32_t> bias(static_cast<size_t>(2 * 3 * 130));
  const int32_t numbers[] = {INT32_MAX,  INT32_MIN,     INT32_MIN + 1, 0,    1 << 28,
                             -(1 << 28), (1 << 28) - 1, 1 - (1 << 28), 65536};
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = numbers[i * 7 % 9];
  a.bias.data = bias.data();
  check_bits(x, a, "a bias of every size");
}

// Sums of at least 2^29 still round to 1 when they are shifted by 30; beyond that nothing is left of them.
TEST_CASE("int8: a reference that rises by any number of octaves rounds the sums before it") {
  constexpr int32_t keys = 640, last = keys - 1;
  fixed_problem x("values of 127, scores of 0");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(1, keys).max_keys(keys).make(FOVEA_FIXED_F32);
  const std::vector<int8_t> zeros(keys * 16, 0), greatest(keys * 16, 127);
  a.q.data = a.k.data = zeros.data(), a.v.data = greatest.data();
  std::vector<int32_t> bias(keys, 0);
  a.bias = {bias.data(), 0, 0};
  for (int32_t octaves : {1, 2, 14, 15, 16, 17, 28, 29, 30, 31, 32, 64}) {
    bias[last] = octaves << 16;
    check_bits(x, a, "octaves");
  }
}

TEST_CASE("int8: zero stays zero under any float scale") {
  fixed_problem x("values of zero");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(2, 70).make(FOVEA_FIXED_F32);
  const std::vector<int8_t> zeros(70 * 16, 0);
  a.v.data = zeros.data();
  for (uint32_t scale : {41u << 23, 0x3f800000u, 0x7f7fffffu}) {
    a.scale.f32_scale = scale;
    check_bits(x, a, "a float scale");
    for (unsigned char byte : x.out) CHECK(byte == 0);
  }
}

TEST_CASE("int8: a float product that lies half way but for its last bit is rounded up") {
  struct product {
    int8_t v;
    uint32_t scale;
  };
  const product table[] = {{31, 0x3f803d77u}, {9, 0x3f80426du},  {7, 0x3f805fb1u},
                           {15, 0x3f808bd8u}, {23, 0x3f80ac95u}, {3, 0x3f80ef4eu}};
  fixed_problem x("one key");
  fovea_fixed_attention a = x.heads(1).dims(16).lengths(1, 1).make(FOVEA_FIXED_F32);
  const std::vector<int8_t> zeros(16, 0);
  a.q.data = a.k.data = zeros.data();
  for (const product& t : table) {
    const std::vector<int8_t> values(16, t.v);
    a.v.data = values.data(), a.scale.f32_scale = t.scale;
    check_bits(x, a, "a product");
  }
}

TEST_CASE("int8: octaves about their limit, to the last bit") {
  constexpr int32_t limit = (1 << 28) - 1;
  fixed_problem x("scores of 0");
  fovea_fixed_attention a = x.heads(2, 1).dims(16).lengths(1, 4).make(FOVEA_FIXED_F32);
  const std::vector<int8_t> zeros(4 * 16, 0);
  a.q.data = a.k.data = zeros.data();
  for (int32_t sign : {1, -1})
    for (int32_t beyond : {-2, -1, 0, 1, 2, 70000})
      for (int32_t slope : {0, 1, -1}) {
        const int32_t bias[] = {sign * (limit + beyond), sign * limit - 40000, sign * limit - 90000,
                                sign * (limit - 1)};
        const int32_t slopes[] = {slope, -slope};
        a.bias = {bias, 0, 0};
        a.alibi = slope ? slopes : nullptr;
        check_bits(x, a, "biases about the limit");
      }
}

// One to four rows have tiles of their own on some ISAs, which turn scores into octaves before they store
// them.
// Each row has a scale of its own, and only these keys have multipliers.
TEST_CASE("int8: multipliers of keys, for few rows that share them") {
  for (int32_t rows = 1; rows <= 5; ++rows)
    for (int32_t keys : {1, 33, 64, 100, 300})
      for (int32_t dim : {16, 64, 72}) {
        fixed_problem x("rows of one KV head");
        x.heads(rows, 1).dims(dim).lengths(1, keys);
        x.scale_per_head().scale_per_key().zeros(0, rows - 3, 0, 0);
        x.data(keys % 2 ? filling::noise : filling::rising);
        x.make(FOVEA_FIXED_F32, static_cast<uint32_t>(rows * keys));
        check_bits(x, x.packed(), "panels");
        check_bits(x, x.call(), "rows");
      }
}

TEST_CASE("int8: octaves by the multiplier of a key are limited") {
  constexpr int32_t keys = 70, dim = 64, limit = 272679428; // 127 * 127 * 64 of these, shifted, are 2^28 - 1
  for (int32_t rows = 1; rows <= 4; ++rows) {
    fixed_problem x("the greatest scores");
    fovea_fixed_attention a = x.heads(rows, 1).dims(dim).lengths(1, keys).scale_per_key().make(
        FOVEA_FIXED_F32);
    const std::vector<int8_t> q(static_cast<size_t>(rows) * dim, 127);
    a.q.data = q.data();
    a.scale.score_multiplier = 1 << 20, a.scale.score_shift = 20;
    for (int32_t others : {-70000, 0, 70000, 1 << 28, 1 << 29})
      for (int8_t sign : {1, -1}) {
        const std::vector<int8_t> k(keys * dim, static_cast<int8_t>(127 * sign));
        std::vector<int32_t> multipliers(keys, limit + others);
        for (int32_t i = 0; i < keys; i += 3) multipliers[static_cast<size_t>(i)] = limit + (i - 35) * 4096;
        a.k.data = k.data(), a.key_multipliers = {multipliers.data(), 0};
        check_bits(x, a, "octaves about the limit");
      }
  }
}

// Sums of 31 bits, of 33 with a zero point far away, and scales up to products that leave the floats.
TEST_CASE("int8: float output is rounded twice, whatever the size of sums and scales") {
  struct sums {
    const char* why;
    filling data;
    int32_t zero_v, max_keys;
  };
  const sums table[] = {{"sums of any size", filling::uniform, 0, 512},
                        {"the greatest sums", filling::lowest, 0, 512},
                        {"and less the greatest zero points", filling::lowest, 127, 512},
                        {"the other way round", filling::extremes, -128, 512},
                        {"an odd zero point", filling::noise, 3, 512},
                        {"sums that are shifted", filling::uniform, -77, 4096}};
  for (const sums& t : table)
    for (const int32_t v_dim : {1, 16, 37, 64}) {
      fixed_problem x(t.why);
      fovea_fixed_attention a = x.heads(2, 1)
                                    .dims(16, v_dim)
                                    .lengths(2, 512)
                                    .data(t.data)
                                    .zeros(0, 0, t.zero_v, 0)
                                    .max_keys(t.max_keys)
                                    .steepness(1e-4)
                                    .make(FOVEA_FIXED_F32);
      for (const uint32_t scale : {0x3f800000u, 0x3c812345u, 0x14800000u, 0x7f7fffffu}) {
        a.scale.f32_scale = scale;
        check_bits(x, a, t.why);
      }
    }
}
