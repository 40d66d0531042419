// Weights of int8 in the order of SMLAD: where each byte goes, the same bits on cores that multiply by it,
// and refusals by all others.
#include <doctest/doctest.h>

#include <cstring>

#include "data.hpp"
#include "fovea/fixed.h"
#include "fovea/fixed_linear.h"
#include "fovea/linear.h"
#include "linear_integers_reference.hpp"

namespace {

using data::guarded;

constexpr int32_t unsupported = FOVEA_UNSUPPORTED + 256 * FOVEA_ARG_PACKED;

struct problem {
  int32_t in, out, rows;
  std::vector<float> x, w, bias;
  std::vector<uint32_t> packed, arranged;

  problem(int32_t inputs, int32_t outputs, int32_t row_count) : in(inputs), out(outputs), rows(row_count) {
    const auto drawn = [&](std::vector<float>& to, int32_t count, uint32_t seed, float size) {
      for (int32_t i = 0; i < count; ++i)
        to.push_back(size * data::noise(seed + static_cast<uint32_t>(in), static_cast<uint32_t>(i)));
    };
    drawn(x, rows * in, 1, 3);
    drawn(w, in * out, 2, 0.5f);
    drawn(bias, out, 3, 1);
    packed.resize(size() / 4);
    arranged.assign(size() / 4, 0x55555555);
    const fovea_rows_in from = {w.data(), 0, FOVEA_F32, 0};
    REQUIRE(fovea_pack_linear(packed.data(), size(), in, out, FOVEA_I8, 0, &from, out) == FOVEA_OK);
  }
  size_t size() const { return fovea_linear_size(in, out, FOVEA_I8); }
  fovea_linear plain() const { return {packed.data(), bias.data(), in, out, FOVEA_I8, {}, 0}; }
  int32_t arrange() {
    const fovea_linear from = plain();
    return fovea_arrange_linear(arranged.data(), size(), &from);
  }

  int32_t run(std::vector<float>& y, int32_t parts, int32_t scratch_rows) const {
    fovea_linear layer = plain();
    layer.packed = arranged.data();
    layer.order = FOVEA_LINEAR_SMLAD;
    guarded<float> to(static_cast<size_t>(rows) * static_cast<size_t>(out));
    int32_t status = FOVEA_OK;
    for (int32_t part = 0; part < parts && status == FOVEA_OK; ++part) {
      fovea_product p = {};
      p.w = &layer, p.x.data = x.data(), p.y.data = to.data(), p.rows = rows, p.part = {part, parts};
      guarded<unsigned char> scratch(FOVEA_MULTIPLY_SCRATCH(in, scratch_rows, FOVEA_I8), 1);
      status = fovea_multiply(&p, scratch.data(), scratch.size());
      CHECK(scratch.guards_hold());
    }
    CHECK(to.guards_hold());
    y.assign(to.data(), to.data() + to.size());
    return status;
  }
  std::vector<float> expected() const {
    std::vector<float> y;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t o = 0; o < out; ++o)
        y.push_back(linear_integers::product_of_bytes(x.data() + ptrdiff_t{r} * in,
                                                      w.data() + ptrdiff_t{o} * in, in) +
                    bias[static_cast<size_t>(o)]);
    return y;
  }
};

bool core_has_it() { return fovea_fixed_linear_order() == FOVEA_LINEAR_SMLAD; }

} // namespace

TEST_CASE("linear_arranged_bytes") {
  problem p(21, 19, 1);
  if (fovea_fixed_panel_order() != 1) {
    CHECK(p.arrange() == unsupported);
    return;
  }
  REQUIRE(p.arrange() == FOVEA_OK);
  const auto* const from = reinterpret_cast<const unsigned char*>(p.packed.data());
  const auto* const to = reinterpret_cast<const unsigned char*>(p.arranged.data());
  const int32_t depth = 32, panel = 16 * depth + 64;
  for (int32_t begin = 0; begin < 2 * panel; begin += panel) {
    for (int32_t lane = 0; lane < 16; ++lane)
      for (int32_t c = 0; c < depth; ++c) {
        const int32_t before = from[begin + c / 4 * 64 + lane * 4 + c % 4];
        const int32_t after = to[begin + lane / 4 * 4 * depth + c / 4 * 16 + lane % 4 * 4 + c % 4];
        CHECK(after == (c % 2 ? before : (before + 128) % 256));
      }
    CHECK(std::memcmp(from + begin + 16 * depth, to + begin + 16 * depth, 64) == 0); // scales
  }
}

TEST_CASE("linear_arranged_bits") {
  if (fovea_fixed_panel_order() != 1) return;
  struct {
    int32_t in, out, rows, parts;
  } const cases[] = {{1, 1, 1, 1},    {7, 16, 2, 1},   {16, 17, 1, 1},   {64, 344, 1, 3}, {172, 64, 1, 1},
                     {511, 20, 2, 1}, {513, 33, 3, 2}, {1100, 18, 1, 1}, {30, 70, 50, 1}};
  for (const auto& c : cases) {
    problem p(c.in, c.out, c.rows);
    for (int32_t i = 0; i < c.in; i += 2) p.x[static_cast<size_t>(i)] = i % 4 ? 3.0f : -3.0f; // +-127
    CAPTURE(c.in);
    REQUIRE(p.arrange() == FOVEA_OK);
    std::vector<float> y;
    const int32_t status = p.run(y, c.parts, c.rows);
    CHECK(status == (core_has_it() ? int32_t{FOVEA_OK} : unsupported));
    if (status != FOVEA_OK) continue;
    CHECK(data::same_bits(y, p.expected()));
    REQUIRE(p.run(y, 1, 1) == FOVEA_OK);
    CHECK(data::same_bits(y, p.expected()));
  }
}

TEST_CASE("linear_arranged_steps_behind_sums") {
  if (!core_has_it()) return;
  enum class residual { none, apart, in_y };
  struct {
    int32_t in, out, rows;
  } const cases[] = {{16, 16, 1},   {64, 344, 1}, {33, 346, 1}, {70, 100, 3},
                     {600, 168, 2}, {20, 10, 1},  {172, 70, 2}};
  for (const auto& c : cases) {
    problem p(c.in, c.out, c.rows);
    REQUIRE(p.arrange() == FOVEA_OK);
    for (int32_t activation = 0; activation < FOVEA_ACTIVATION_END; ++activation)
      for (const residual from : {residual::none, residual::apart, residual::in_y})
        for (const bool has_bias : {false, true}) {
          if (activation == FOVEA_SILU_TIMES && from != residual::none) continue; // refused
          CAPTURE(c.in);
          CAPTURE(c.out);
          CAPTURE(activation);
          CAPTURE(static_cast<int>(from));
          const int32_t columns = activation == FOVEA_SILU_TIMES ? c.out / 2 : c.out;
          const auto size = static_cast<size_t>(c.rows) * static_cast<size_t>(columns);
          std::vector<float> y[2];
          for (const int arranged : {0, 1}) {
            fovea_linear layer = p.plain();
            if (!has_bias) layer.bias = nullptr;
            if (arranged) layer.packed = p.arranged.data();
            if (arranged) layer.order = FOVEA_LINEAR_SMLAD;
            guarded<float> to(size);
            std::vector<float> added(size);
            for (size_t i = 0; i < size; ++i)
              to.data()[i] = added[i] = data::noise(7, static_cast<uint32_t>(i));
            fovea_product call = {};
            call.w = &layer, call.x.data = p.x.data(), call.y.data = to.data(), call.rows = c.rows;
            call.activation = activation;
            if (from == residual::apart) call.residual.data = added.data();
            if (from == residual::in_y) call.residual.data = to.data();
            guarded<unsigned char> scratch(fovea_multiply_scratch(&call), 1);
            CHECK(fovea_multiply(&call, scratch.data(), scratch.size()) == FOVEA_OK);
            CHECK(scratch.guards_hold());
            CHECK(to.guards_hold());
            y[arranged].assign(to.data(), to.data() + size);
          }
          CHECK(data::same_bits(y[0], y[1]));
        }
  }
}

TEST_CASE("linear_arranged_rows_of_zeros_and_of_no_numbers") {
  if (!core_has_it()) return;
  problem p(20, 16, 3);
  for (size_t c = 0; c < 20; ++c) p.x[c] = -0.0f;
  p.x[20 + 19] = 1e30f * 1e30f;
  p.x[40 + 3] = p.x[39] - p.x[39];
  REQUIRE(p.arrange() == FOVEA_OK);
  std::vector<float> y;
  REQUIRE(p.run(y, 1, 3) == FOVEA_OK);
  for (size_t o = 0; o < 16; ++o) {
    CHECK(y[o] == p.bias[o]);
    CHECK(y[16 + o] != y[16 + o]);
    CHECK(y[32 + o] != y[32 + o]);
  }
}

TEST_CASE("linear_arranged_refusals") {
  problem p(20, 16, 1);
  fovea_linear w = p.plain();
  const auto refused = [&](int32_t reason, int32_t argument) {
    CHECK(fovea_arrange_linear(p.arranged.data(), p.size(), &w) == reason + 256 * argument);
    w = p.plain();
  };
  CHECK(fovea_arrange_linear(p.arranged.data(), p.size(), nullptr) == FOVEA_NULL + 256 * FOVEA_ARG_W);
  CHECK(fovea_arrange_linear(nullptr, p.size(), &w) == FOVEA_NULL + 256 * FOVEA_ARG_PACKED);
  CHECK(fovea_arrange_linear(p.arranged.data(), p.size() - 1, &w) ==
        FOVEA_TOO_SMALL + 256 * FOVEA_ARG_PACKED);
  w.packed = nullptr, refused(FOVEA_NULL, FOVEA_ARG_PACKED);
  w.packed = p.arranged.data(), refused(FOVEA_OVERLAP, FOVEA_ARG_PACKED);
  w.packed = reinterpret_cast<const char*>(p.packed.data()) + 2, refused(FOVEA_ALIGN, FOVEA_ARG_PACKED);
  w.dtype = FOVEA_I4, refused(FOVEA_UNSUPPORTED, FOVEA_ARG_DTYPE);
  w.in = 0, refused(FOVEA_SIZE, FOVEA_ARG_IN);
  w.out = FOVEA_LINEAR_MAX + 1, refused(FOVEA_SIZE, FOVEA_ARG_OUT);
  w.reserved[0] = 1, refused(FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED);
  w.order = FOVEA_LINEAR_SMLAD, refused(FOVEA_UNSUPPORTED, FOVEA_ARG_PACKED);
  for (const uint32_t word : p.arranged) CHECK(word == 0x55555555); // nothing was written

  std::vector<float> x(20), y(16);
  w.order = 2; // no order of products
  fovea_product call = {};
  call.w = &w, call.x.data = x.data(), call.y.data = y.data(), call.rows = 1;
  CHECK(fovea_check_product(&call) == unsupported);
  w.order = FOVEA_LINEAR_SMLAD;
  CHECK(fovea_check_product(&call) == (core_has_it() ? int32_t{FOVEA_OK} : unsupported));
  w.dtype = FOVEA_F32; // only int8 has it
  CHECK(fovea_check_product(&call) == unsupported);
}
