// Products with packed weights: the bits of docs/numerics.md for each shape, stride, part and ISA; memory
// that must not be touched; numbers that must not matter.
#include <limits>

#include "fence.hpp"
#include "linear_problem.hpp"

using namespace linear;

namespace {

constexpr int32_t all_rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 25, 31};

// Around panels of 16 outputs, strips of 64, tiles of 32, and steps over the inputs.
constexpr shape shapes[] = {
    {"one number", 0, 1, 1, FOVEA_F32, FOVEA_NO_ACTIVATION, false, false, 0},
    {"fifteen outputs", 0, 3, 15, FOVEA_F32, FOVEA_RELU, true, false, 0},
    {"a panel", 0, 8, 16, FOVEA_F32, FOVEA_NO_ACTIVATION, true, true, 0},
    {"one more", 0, 9, 17, FOVEA_F32, FOVEA_NO_ACTIVATION, true, true, 5},
    {"two panels", 0, 16, 32, FOVEA_F32, FOVEA_GELU, true, false, 0},
    {"31 outputs", 0, 17, 31, FOVEA_F16, FOVEA_NO_ACTIVATION, false, true, 1},
    {"33 outputs", 0, 7, 33, FOVEA_BF16, FOVEA_SILU, true, false, 0},
    {"47 outputs", 0, 33, 47, FOVEA_F32, FOVEA_GELU_TANH, true, true, 3},
    {"a strip", 0, 12, 64, FOVEA_F16, FOVEA_GELU, true, true, 0},
    {"63 outputs", 0, 5, 63, FOVEA_BF16, FOVEA_RELU, false, false, 2},
    {"65 outputs", 0, 10, 65, FOVEA_F32, FOVEA_NO_ACTIVATION, false, false, 0},
    {"two strips and a rest", 0, 24, 150, FOVEA_F32, FOVEA_SILU, true, true, 7},
    {"halves of panels", 0, 11, 64, FOVEA_F32, FOVEA_SILU_TIMES, true, false, 0},
    {"halves that begin within a panel", 0, 6, 46, FOVEA_F16, FOVEA_SILU_TIMES, true, false, 4},
    {"halves of a strip and more", 0, 4, 134, FOVEA_BF16, FOVEA_SILU_TIMES, false, false, 0},
    {"two outputs in halves", 0, 2, 2, FOVEA_F32, FOVEA_SILU_TIMES, true, false, 1},
};

// Wrong numbers, if bits are promised; else those that are farther off than roundings explain.
int wrong(const problem& p, const std::vector<float>& expected, bool bits) {
  const std::vector<float> results = p.results();
  int found = 0;
  for (size_t i = 0; i < results.size(); ++i)
    found += bits ? std::memcmp(&results[i], &expected[i], sizeof(float)) != 0
                  : !(std::fabs(results[i] - expected[i]) <= 1e-5f);
  return found;
}

} // namespace

TEST_CASE("linear_shapes_have_the_bits_of_the_specification") {
  for (shape s : shapes)
    for (int32_t rows : all_rows) {
      s.rows = rows;
      problem p(s);
      const std::vector<float> expected = p.all_expected();
      INFO(doctest::String(s.why), ", rows ", rows);
      isas::for_each([&](int32_t isa) {
        p.call.isa = isa;
        p.y.wipe();
        CHECK(multiply(p.call) == FOVEA_OK);
        CHECK(wrong(p, expected, isas::promises_bits(isa)) == 0);
        CHECK(p.nothing_else_written());
      });
    }
}

TEST_CASE("linear_long_rows_and_blocks_of_rows") {
  // 70,000 floats of x are more than stay near from strip to strip: rows are taken in blocks.
  const shape s = {"blocks of rows", 61, 1400, 21, FOVEA_F32, FOVEA_NO_ACTIVATION, true, true, 0};
  problem p(s);
  const std::vector<float> expected = p.all_expected();
  isas::for_each([&](int32_t isa) {
    p.call.isa = isa;
    p.y.wipe();
    CHECK(multiply(p.call) == FOVEA_OK);
    CHECK(wrong(p, expected, isas::promises_bits(isa)) == 0);
  });
}

TEST_CASE("linear_parts_write_each_number_once") {
  const shape cases[] = {
      {"rows are split", 70, 20, 40, FOVEA_F32, FOVEA_GELU, true, true, 0},
      {"outputs are split", 3, 20, 300, FOVEA_F32, FOVEA_NO_ACTIVATION, true, true, 2},
      {"few outputs are split", 2, 20, 50, FOVEA_F16, FOVEA_RELU, true, true, 0},
      {"gated outputs are split", 2, 9, 278, FOVEA_F32, FOVEA_SILU_TIMES, true, false, 0},
  };
  for (const shape& s : cases)
    for (int32_t parts : {1, 2, 3, 4, 7, 40}) {
      INFO(doctest::String(s.why), ", parts ", parts);
      problem p(s);
      const std::vector<float> expected = p.all_expected();
      const bool bits = isas::promises_bits(fovea_isa());
      if (s.residual) { // in place: whoever adds twice is found
        std::memcpy(p.y.data(), p.residual.data(), p.y.size() * sizeof(float));
        p.call.residual = rows_of(p.y.data(), p.call.y.stride);
      }
      for (int32_t i = parts - 1; i >= 0; --i) {
        p.call.part.index = i, p.call.part.count = parts;
        CHECK(multiply(p.call) == FOVEA_OK);
      }
      CHECK(wrong(p, expected, bits) == 0);
    }
}

TEST_CASE("linear_residual_in_place_at_any_number_of_rows") {
  for (int32_t rows : all_rows) {
    const shape s = {"in place", rows, 13, 53, FOVEA_F32, FOVEA_GELU_TANH, true, true, 3};
    problem p(s);
    const std::vector<float> expected = p.all_expected();
    INFO("rows ", rows);
    isas::for_each([&](int32_t isa) {
      std::memcpy(p.y.data(), p.residual.data(), p.y.size() * sizeof(float));
      fovea_product call = p.call;
      call.isa = isa;
      call.residual = rows_of(p.y.data(), p.call.y.stride);
      CHECK(multiply(call) == FOVEA_OK);
      CHECK(wrong(p, expected, isas::promises_bits(isa)) == 0);
    });
  }
}

TEST_CASE("linear_nan_and_infinity_stay_in_their_row_and_output") {
  const float infinite = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (int32_t dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
    const shape s = {"", 14, 6, 37, dtype, FOVEA_NO_ACTIVATION, true, false, 0};
    problem p(s);
    p.weights[6 * 20 + 3] = nan;
    p.weights[6 * 30 + 1] = infinite;
    const fovea_rows_in w = rows_of(p.weights.data());
    CHECK(fovea_pack_linear(p.packed.data(), p.packed.size() * sizeof(float), 6, 37, dtype, 0, &w, 37) ==
          FOVEA_OK);
    p.x[6 * 5 + 2] = nan;
    p.x[6 * 7 + 1] = -infinite;
    const std::vector<float> expected = p.all_expected();
    isas::for_each([&](int32_t isa) {
      p.call.isa = isa;
      p.y.wipe();
      CHECK(multiply(p.call) == FOVEA_OK);
      int bad = 0;
      for (int32_t r = 0; r < 14; ++r)
        for (int32_t o = 0; o < 37; ++o) {
          const float y = p.y[static_cast<size_t>(r * 37 + o)], e = expected[static_cast<size_t>(r * 37 + o)];
          const bool finite = r != 5 && r != 7 && o != 20 && o != 30;
          bad += finite ? !std::isfinite(y) : std::isnan(e) ? !std::isnan(y) : y != e;
        }
      CHECK(bad == 0);
    });
  }
}

TEST_CASE("linear_strides_of_one_row_may_be_any_number") {
  for (const int32_t dtype : {FOVEA_F32, FOVEA_BF16, FOVEA_I8, FOVEA_I4})
    for (const ptrdiff_t stride : {std::numeric_limits<ptrdiff_t>::max(), ptrdiff_t{1}}) {
      problem p({"one row", 1, 40, 33, dtype, FOVEA_RELU, true, true, 0});
      std::vector<unsigned char> scratch(FOVEA_MULTIPLY_SCRATCH(40, 1, FOVEA_I8));
      REQUIRE(fovea_multiply(&p.call, scratch.data(), scratch.size()) == FOVEA_OK);
      const std::vector<float> expected = p.results();
      p.y.wipe();
      p.call.x.stride = p.call.residual.stride = stride;
      REQUIRE(fovea_multiply(&p.call, scratch.data(), scratch.size()) == FOVEA_OK);
      CHECK(data::same_bits(p.results(), expected));
    }
}

TEST_CASE("linear_no_rows_touch_nothing") {
  const shape s = {"", 1, 4, 4, FOVEA_F32, FOVEA_NO_ACTIVATION, false, false, 0};
  problem p(s);
  p.call.rows = 0;
  p.call.x = {}, p.call.y = {};
  p.call.x.stride = 1; // nothing walks over it
  CHECK(multiply(p.call) == FOVEA_OK);
  CHECK(p.y.nothing_written());
  CHECK(fovea_multiply_scratch(&p.call) == 0);
}

#if defined(__linux__)
TEST_CASE("linear_reads_no_byte_outside") {
  for (shape s : shapes)
    for (int32_t rows : {1, 3, 5, 7, 11, 13}) {
      s.rows = rows, s.gap = 0;
      problem p(s);
      for (const fence::side where : {fence::behind, fence::before}) {
        const fence x(p.x.size() * 4, where), y(p.y.size() * 4, where), packed(p.packed.size() * 4, where),
            bias(p.bias.size() * 4, where), residual(p.residual.size() * 4, where);
        std::memcpy(x.data<float>(), p.x.data(), p.x.size() * 4);
        std::memcpy(packed.data<float>(), p.packed.data(), p.packed.size() * 4);
        std::memcpy(bias.data<float>(), p.bias.data(), p.bias.size() * 4);
        std::memcpy(residual.data<float>(), p.residual.data(), p.residual.size() * 4);
        p.linear.packed = packed.data<float>();
        p.linear.bias = bias.data<float>();
        p.call.x.data = x.data<float>();
        p.call.y.data = y.data<float>();
        if (s.residual) p.call.residual.data = residual.data<float>();
        isas::for_each([&](int32_t isa) {
          p.call.isa = isa;
          CHECK(multiply(p.call) == FOVEA_OK);
        });
      }
    }
}
#endif
