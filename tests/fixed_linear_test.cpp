// Static linear layers: the bits of TFLite's arithmetic on each ISA, at edges of shapes and of numbers.
#include "fixed_linear_problem.hpp"
#include "fovea/fixed.hpp"

using namespace fixed_linear;

#if FOVEA_SMALL
static constexpr int32_t wide = 130;
#else
static constexpr int32_t wide = 1000;
#endif

TEST_CASE("fixed_linear_bits_at_edges_of_shapes") {
  for (int32_t in = 1; in <= 70; ++in) {
    problem p(in, 1 + in * 37 % 130, 1 + in % 7, static_cast<uint32_t>(in));
    CAPTURE(in);
    REQUIRE(p.pack() == FOVEA_OK);
    each_isa([&](int32_t isa) { check_bits(p, isa, in % 3, 1 + in % 4, 1 + in % 5); });
  }
  for (int32_t out = 1; out <= 130; ++out) {
    problem p(17 + out % 64, out, 1 + out % 3, static_cast<uint32_t>(1000 + out));
    CAPTURE(out);
    REQUIRE(p.pack() == FOVEA_OK);
    each_isa([&](int32_t isa) { check_bits(p, isa, out % 2, 1 + out % 3, 4); });
  }
}

TEST_CASE("fixed_linear_bits_of_many_rows_and_wide_layers") {
  struct {
    int32_t in, out, rows, parts;
    numbers kind;
    const char* why;
  } const cases[] = {
      {383, wide, 2, 3, numbers::drawn, "a multiple of nothing"},
      {wide, 19, 5, 1, numbers::drawn, "deep"},
      {64, 64, 61, 1, numbers::drawn, "all shapes of rows, more rows than a tile"},
      {64, 48, 67, 4, numbers::drawn, "rows are split"},
      {272, 20, 13, 1, numbers::lowest, "-128 times -128"},
      {272, 20, 13, 1, numbers::highest, "127 times 127"},
      {560, 16, 3, 2, numbers::drawn, "a few hundred deep"},
  };
  for (const auto& c : cases) {
    INFO(doctest::String(c.why));
    problem p(c.in, c.out, c.rows, static_cast<uint32_t>(c.in + c.rows), c.kind);
    REQUIRE(p.pack() == FOVEA_OK);
    each_isa([&](int32_t isa) {
      check_bits(p, isa, 0, c.parts, 64);
      check_bits(p, isa, 3, c.parts, 1);
    });
  }
}

TEST_CASE("fixed_linear_extreme_rows") {
  for (const int32_t first : {-128, 127})
    for (const int32_t second : {-128, 127})
      for (const int32_t zero : {-128, 0, 127}) {
        problem p(64, 32, 2, 5);
        p.l.zero_x = zero;
        for (size_t i = 0; i < p.x.size(); ++i) p.x[i] = static_cast<int8_t>(i % 2 ? second : first);
        REQUIRE(p.pack() == FOVEA_OK);
        each_isa([&](int32_t isa) { check_bits(p, isa, 0, 1, 2); });
      }
}

TEST_CASE("fixed_linear_clamps_and_goes_without_bias") {
  problem p(40, 33, 4, 9);
  p.l.bias.clear();
  p.l.low = -7, p.l.high = 20;
  REQUIRE(p.pack() == FOVEA_OK);
  each_isa([&](int32_t isa) { check_bits(p, isa, 0, 1, 4); });
  p.l.low = p.l.high = 0; // both zero: not a range of one number
  fovea_fixed_linear w = p.linear();
  p.l.low = -128, p.l.high = 127;
  std::vector<int8_t> a(4 * 33), b(4 * 33);
  std::vector<unsigned char> scratch(FOVEA_FIXED_LINEAR_SCRATCH(40, 4));
  fovea_fixed_product call = {};
  call.w = &w, call.x = p.x.data(), call.y = a.data(), call.rows = 4;
  REQUIRE(fovea_fixed_multiply(&call, scratch.data(), scratch.size()) == FOVEA_OK);
  for (int32_t i = 0; i < 4 * 33; ++i)
    b[static_cast<size_t>(i)] = fixed_linear::output(p.l, p.x.data() + i / 33 * 40, i % 33);
  CHECK(a == b);
}

TEST_CASE("fixed_linear_requantisation_of_sums_next_to_a_half") {
  // One input of 1, so that the bias is the sum: halves of both roundings, both signs.
  for (const int32_t shift : {-31, -8, -1, 0, 3}) {
    problem p(1, 64, 1, 3);
    p.x[0] = 1;
    p.l.zero_x = 1;
    for (int32_t o = 0; o < 64; ++o) {
      const size_t i = static_cast<size_t>(o);
      p.l.multipliers[i] = o % 2 ? 1 << 30 : INT32_MAX - o;
      p.l.shifts[i] = shift;
      const int32_t half = shift < 0 && shift > -30 ? 1 << (-shift) : 1;
      p.l.bias[i] = o == 62 ? INT32_MAX >> 7 : o == 63 ? -(INT32_MAX >> 7) : (o / 8 - 4) * half + o % 8 - 4;
    }
    REQUIRE(p.pack() == FOVEA_OK);
    each_isa([&](int32_t isa) { check_bits(p, isa, 0, 1, 1); });
  }
}

TEST_CASE("fixed_linear_multipliers_of_real_scales") {
  struct {
    double real;
    int32_t multiplier, shift;
  } const cases[] = {
      {0.5, 1 << 30, 0},
      {1, 1 << 30, 1},
      {0.25, 1 << 30, -1},
      {0.75, 0x60000000, 0},
      {0.0003, 1319413953, -11},
      {3.0, 0x60000000, 2},
      {0, 0, 0},
      {-1, 0, 0},
      {1e-12, 0, 0},
      {1e300, INT32_MAX, 30},
      {0.99999999999, 1 << 30, 1},
  };
  for (const auto& c : cases) {
    CAPTURE(c.real);
    const fovea::fixed_multiplier m = fovea::make_fixed_multiplier(c.real);
    CHECK(m.multiplier == c.multiplier);
    CHECK(m.shift == c.shift);
  }
}
