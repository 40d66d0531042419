// Linear layers in integers: bits against TFLite's arithmetic on each ISA, edges of shapes, refusals.
#include "fovea/fixed_linear.h"

#include <doctest/doctest.h>

#include "data.hpp"
#include "fixed_linear_reference.hpp"
#include "fovea/fixed.hpp"

namespace {

using data::guarded;
using fixed_linear::layer;

#if FOVEA_SMALL
constexpr int32_t wide = 130;
#else
constexpr int32_t wide = 1000;
#endif

enum class numbers { drawn, lowest, highest };

struct problem {
  layer l;
  int32_t rows;
  std::vector<int8_t> x, packed;
  ptrdiff_t x_stride = 0;

  problem(int32_t in, int32_t out, int32_t row_count, uint32_t seed, numbers kind = numbers::drawn)
      : rows(row_count) {
    data::lottery draw(seed);
    l = {in, out, draw.between(-128, 127), draw.between(-128, 127), -128, 127, {}, {}, {}, {}};
    const auto byte = [&] {
      return static_cast<int8_t>(kind == numbers::lowest    ? -128
                                 : kind == numbers::highest ? 127
                                                            : draw.between(-128, 127));
    };
    for (size_t i = 0; i < static_cast<size_t>(in) * static_cast<size_t>(out); ++i)
      l.weights.push_back(byte());
    for (int32_t o = 0; o < out; ++o) {
      l.bias.push_back(draw.between(-20000, 20000));
      l.multipliers.push_back(draw.one_in(16) ? draw.between(0, 3) : draw.between(1 << 30, INT32_MAX));
      l.shifts.push_back(draw.one_in(16) ? draw.between(-31, 0) : draw.between(-12, in < 1000 ? 2 : 0));
    }
    for (size_t i = 0; i < static_cast<size_t>(in) * static_cast<size_t>(row_count); ++i) x.push_back(byte());
  }

  fovea_fixed_weights weights() const {
    return {
        l.weights.data(), 0, l.bias.empty() ? nullptr : l.bias.data(), l.multipliers.data(), l.shifts.data(),
        l.zero_x,         {}};
  }
  int32_t pack() {
    packed.assign(FOVEA_FIXED_LINEAR_BYTES(l.in, l.out), 0x55);
    const fovea_fixed_weights w = weights();
    return fovea_fixed_pack_linear(packed.data(), packed.size(), l.in, l.out, &w);
  }
  fovea_fixed_linear linear() const { return {packed.data(), l.in, l.out, l.zero_out, l.low, l.high, {}}; }
};

void check_bits(problem& p, int32_t isa, ptrdiff_t gap, int32_t parts, int32_t scratch_rows) {
  const fovea_fixed_linear w = p.linear();
  const ptrdiff_t stride = p.l.out + gap;
  guarded<int8_t> y(static_cast<size_t>(p.rows) * static_cast<size_t>(stride), 1);
  for (int32_t part = 0; part < parts; ++part) {
    fovea_fixed_product call = {};
    call.w = &w, call.x = p.x.data(), call.y = y.data(), call.y_stride = gap ? stride : 0;
    call.rows = p.rows, call.isa = isa;
    call.part = {part, parts};
    guarded<unsigned char> scratch(FOVEA_FIXED_LINEAR_SCRATCH(p.l.in, scratch_rows), 3);
    if (scratch_rows >= p.rows) CHECK(fovea_fixed_multiply_scratch(&call) <= scratch.size());
    REQUIRE(fovea_fixed_multiply(&call, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(scratch.guards_hold());
  }
  CHECK(y.guards_hold());
  int wrong = 0;
  for (int32_t r = 0; r < p.rows; ++r)
    for (int32_t o = 0; o < p.l.out; ++o)
      wrong += y[static_cast<size_t>(r * stride + o)] !=
               fixed_linear::output(p.l, p.x.data() + static_cast<ptrdiff_t>(r) * p.l.in, o);
  for (int32_t r = 0; r < p.rows; ++r)
    for (ptrdiff_t o = p.l.out; o < stride; ++o)
      wrong += static_cast<unsigned char>(y[static_cast<size_t>(r * stride + o)]) != data::untouched;
  CHECK(wrong == 0);
}

template <class F>
void each_isa(F f) {
  for (int32_t isa = 1; isa < FOVEA_FIXED_ISA_END; ++isa)
    if (fovea_fixed_has_isa(isa)) {
      INFO("isa ", doctest::String(fovea_fixed_isa_name(isa)));
      f(isa);
    }
}

} // namespace

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

TEST_CASE("fixed_linear_refuses_layers") {
  problem p(20, 3, 1, 4);
  std::vector<int8_t> to(FOVEA_FIXED_LINEAR_BYTES(20, 3), 0x55);
  const std::vector<int8_t> before = to;
  const auto refused = [&](int32_t reason, int32_t argument, int32_t in, int32_t out, size_t size,
                           auto spoil) {
    fovea_fixed_weights w = p.weights();
    spoil(w);
    CHECK(fovea_fixed_pack_linear(to.data(), size, in, out, &w) == (reason | argument << 8));
    CHECK(to == before);
  };
  const auto nothing = [](fovea_fixed_weights&) {};
  const size_t size = to.size();
  refused(FOVEA_SIZE, FOVEA_ARG_IN, 0, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_IN, -1, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_IN, FOVEA_FIXED_LINEAR_MAX + 1, 3, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, 20, 0, size, nothing);
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, 20, INT32_MAX, size, nothing);
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, 20, 3, size - 1, nothing);
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_PACKED, 65536, 65536, size, nothing);
  refused(FOVEA_RANGE, FOVEA_ARG_X, 20, 3, size, [](fovea_fixed_weights& w) { w.zero_x = 128; });
  refused(FOVEA_NULL, FOVEA_ARG_W, 20, 3, size, [](fovea_fixed_weights& w) { w.rows = nullptr; });
  refused(FOVEA_STRIDE, FOVEA_ARG_W, 20, 3, size, [](fovea_fixed_weights& w) { w.stride = -1; });
  refused(FOVEA_NULL, FOVEA_ARG_SCALE, 20, 3, size, [](fovea_fixed_weights& w) { w.shifts = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_SCALE, 20, 3, size, [](fovea_fixed_weights& w) { w.multipliers = nullptr; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED, 20, 3, size,
          [](fovea_fixed_weights& w) { w.reserved[2] = 1; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_PACKED, 20, 3, size,
          [&](fovea_fixed_weights& w) { w.rows = to.data() + 8; });
  p.l.bias[2] = INT32_MAX;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = INT32_MIN;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = 1 << 20, p.l.shifts[2] = 11;
  refused(FOVEA_RANGE, FOVEA_ARG_W, 20, 3, size, nothing);
  p.l.bias[2] = 0, p.l.shifts[2] = 31;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  p.l.shifts[2] = -32;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  p.l.shifts[2] = -31, p.l.multipliers[2] = -1;
  refused(FOVEA_RANGE, FOVEA_ARG_SCALE, 20, 3, size, nothing);
  CHECK(fovea_fixed_pack_linear(nullptr, size, 20, 3, nullptr) == (FOVEA_NULL | FOVEA_ARG_W << 8));
  const fovea_fixed_weights w = p.weights();
  CHECK(fovea_fixed_pack_linear(nullptr, size, 20, 3, &w) == (FOVEA_NULL | FOVEA_ARG_PACKED << 8));
  CHECK(fovea_fixed_pack_linear(to.data() + 1, size, 20, 3, &w) == (FOVEA_ALIGN | FOVEA_ARG_PACKED << 8));
}

TEST_CASE("fixed_linear_refuses_calls") {
  problem p(20, 18, 2, 4);
  REQUIRE(p.pack() == FOVEA_OK);
  guarded<int8_t> y(2 * 18);
  std::vector<unsigned char> scratch(FOVEA_FIXED_LINEAR_SCRATCH(20, 2));
  const auto refused = [&](int32_t reason, int32_t argument, auto spoil) {
    fovea_fixed_linear w = p.linear();
    fovea_fixed_product call = {};
    call.w = &w, call.x = p.x.data(), call.y = y.data(), call.rows = 2;
    struct {
      void* at;
      size_t size;
    } memory = {scratch.data(), scratch.size()};
    spoil(call, w, memory.at, memory.size);
    CHECK(fovea_fixed_multiply(&call, memory.at, memory.size) == (reason | argument << 8));
    CHECK(y.nothing_written());
  };
  using call_t = fovea_fixed_product;
  using linear_t = fovea_fixed_linear;
  refused(FOVEA_NULL, FOVEA_ARG_W, [](call_t& c, linear_t&, void*&, size_t&) { c.w = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_PACKED, [](call_t&, linear_t& w, void*&, size_t&) { w.packed = nullptr; });
  refused(FOVEA_ALIGN, FOVEA_ARG_PACKED,
          [&](call_t&, linear_t& w, void*&, size_t&) { w.packed = p.packed.data() + 2; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED,
          [&](call_t&, linear_t& w, void*&, size_t&) { w.packed = p.packed.data() + 64; });
  refused(FOVEA_SIZE, FOVEA_ARG_IN, [](call_t&, linear_t& w, void*&, size_t&) { w.in = 21; });
  refused(FOVEA_SIZE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.out = 17; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.zero_out = -129; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.low = 5, w.high = 4; });
  refused(FOVEA_RANGE, FOVEA_ARG_OUT, [](call_t&, linear_t& w, void*&, size_t&) { w.high = 128; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
          [](call_t&, linear_t& w, void*&, size_t&) { w.reserved[0] = 1; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
          [](call_t& c, linear_t&, void*&, size_t&) { c.reserved[2] = 1; });
  refused(FOVEA_NULL, FOVEA_ARG_X, [](call_t& c, linear_t&, void*&, size_t&) { c.x = nullptr; });
  refused(FOVEA_NULL, FOVEA_ARG_Y, [](call_t& c, linear_t&, void*&, size_t&) { c.y = nullptr; });
  refused(FOVEA_STRIDE, FOVEA_ARG_X, [](call_t& c, linear_t&, void*&, size_t&) { c.x_stride = -20; });
  refused(FOVEA_STRIDE, FOVEA_ARG_Y, [](call_t& c, linear_t&, void*&, size_t&) { c.y_stride = 17; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_Y, [&](call_t& c, linear_t&, void*&, size_t&) { c.x = y.data() + 30; });
  refused(FOVEA_SIZE, FOVEA_ARG_ROWS, [](call_t& c, linear_t&, void*&, size_t&) { c.rows = -1; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {2, 2}; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {0, -1}; });
  refused(FOVEA_RANGE, FOVEA_ARG_PART, [](call_t& c, linear_t&, void*&, size_t&) { c.part = {1, 0}; });
  refused(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](call_t& c, linear_t&, void*&, size_t&) { c.isa = 999; });
  refused(FOVEA_NULL, FOVEA_ARG_SCRATCH, [](call_t&, linear_t&, void*& at, size_t&) { at = nullptr; });
  refused(FOVEA_TOO_SMALL, FOVEA_ARG_SCRATCH, [](call_t&, linear_t&, void*&, size_t& size) { size = 64; });
  refused(FOVEA_OVERLAP, FOVEA_ARG_SCRATCH,
          [&](call_t&, linear_t&, void*& at, size_t&) { at = y.data() - 8; });
  CHECK(fovea_fixed_multiply(nullptr, scratch.data(), scratch.size()) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  const fovea_fixed_linear w = p.linear();
  fovea_fixed_product none = {};
  none.w = &w;
  CHECK(fovea_fixed_multiply(&none, scratch.data(), scratch.size()) == FOVEA_OK); // zero rows
}
