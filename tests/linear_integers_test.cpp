// Products with weights of int8 and int4: bits against a scalar model, hostile numbers, blocks of Q4_0.
#include <doctest/doctest.h>

#include <algorithm>

#include "data.hpp"
#include "fence.hpp"
#include "fovea/fixed.h"
#include "fovea/linear.h"
#include "isas.hpp"
#include "linear_integers_reference.hpp"

namespace {

using data::guarded;
using data::same_numbers;

std::vector<float> drawn(size_t count, uint32_t seed, float size) {
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) x[i] = size * data::noise(seed, static_cast<uint32_t>(i));
  return x;
}

struct problem {
  int32_t in, out, rows, dtype;
  std::vector<float> x, w, bias;
  std::vector<unsigned char> memory;
  unsigned char* packed = nullptr;

  problem(int32_t inputs, int32_t outputs, int32_t row_count, int32_t type, uint32_t seed = 1)
      : in(inputs), out(outputs), rows(row_count), dtype(type) {
    const size_t i = static_cast<size_t>(in), o = static_cast<size_t>(out);
    x = drawn(static_cast<size_t>(rows) * i, seed, 3);
    w = drawn(i * o, seed + 1, 0.5f);
    bias = drawn(o, seed + 2, 1);
  }
  int32_t pack() {
    const size_t size = fovea_linear_size(in, out, dtype);
    memory.assign(size + 64, 0x55);
    packed = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    const fovea_rows_in from = {w.data(), 0, FOVEA_F32, 0};
    return fovea_pack_linear(packed, size, in, out, dtype, 0, &from, out);
  }
  fovea_linear linear() const {
    return {packed, bias.empty() ? nullptr : bias.data(), in, out, dtype, {}, 0};
  }

  std::vector<float> expected() const {
    std::vector<float> y;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t o = 0; o < out; ++o) {
        const float* const a = x.data() + static_cast<ptrdiff_t>(r) * in;
        const float* const b = w.data() + static_cast<ptrdiff_t>(o) * in;
        const float z = dtype == FOVEA_I8 ? linear_integers::product_of_bytes(a, b, in)
                                          : linear_integers::product_of_groups(a, b, in);
        y.push_back(bias.empty() ? z : z + bias[static_cast<size_t>(o)]);
      }
    return y;
  }

  std::vector<float> run(int32_t isa, int32_t fixed_isa, int32_t parts = 1, int32_t scratch_rows = 64,
                         int32_t activation = FOVEA_NO_ACTIVATION, const float* residual = nullptr,
                         bool in_place = false) const {
    const fovea_linear layer = linear();
    const int32_t columns = activation == FOVEA_SILU_TIMES ? out / 2 : out;
    guarded<float> y(static_cast<size_t>(rows) * static_cast<size_t>(columns));
    if (in_place) std::copy(residual, residual + y.size(), y.data());
    for (int32_t part = 0; part < parts; ++part) {
      fovea_product p = {};
      p.w = &layer, p.x.data = x.data(), p.y.data = y.data();
      p.residual.data = in_place ? y.data() : residual;
      p.rows = rows, p.activation = activation, p.isa = isa, p.fixed_isa = fixed_isa;
      p.part = {part, parts};
      guarded<unsigned char> scratch(FOVEA_MULTIPLY_SCRATCH(in, scratch_rows, dtype), 1);
      if (scratch_rows >= rows) CHECK(fovea_multiply_scratch(&p) <= scratch.size());
      REQUIRE(fovea_multiply(&p, scratch.data(), scratch.size()) == FOVEA_OK);
      CHECK(scratch.guards_hold());
    }
    CHECK(y.guards_hold());
    return std::vector<float>(y.data(), y.data() + y.size());
  }
};

template <class F>
void each_fixed_isa(F f) {
  for (int32_t isa = 1; isa < FOVEA_FIXED_ISA_END; ++isa)
    if (fovea_fixed_has_isa(isa)) {
      INFO("integer isa ", doctest::String(fovea_fixed_isa_name(isa)));
      f(isa);
    }
}

constexpr int32_t dtypes[] = {FOVEA_I8, FOVEA_I4};

} // namespace

TEST_CASE("linear_integers_bits_at_edges_of_shapes") {
  for (const int32_t dtype : dtypes)
    for (int32_t n = 1; n <= 70; ++n) {
      problem p(n, 1 + n * 37 % 130, 1 + n % 6, dtype, static_cast<uint32_t>(n));
      if (n % 5 == 0) p.bias.clear();
      CAPTURE(dtype);
      CAPTURE(n);
      REQUIRE(p.pack() == FOVEA_OK);
      const std::vector<float> expected = p.expected();
      each_fixed_isa([&](int32_t isa) {
        CHECK(data::same_bits(p.run(FOVEA_ISA_BEST, isa, 1 + n % 3, 1 + n % 7), expected));
      });
    }
}

TEST_CASE("linear_integers_bits_of_many_rows_and_wide_layers") {
  struct {
    int32_t in, out, rows, parts;
  } const cases[] = {{383, 33, 3, 2},  {64, 40, 61, 1},   {32, 24, 67, 4},
                     {1000, 17, 2, 1}, {192, 130, 13, 3}, {300, 143, 3, 1}};
  for (const int32_t dtype : dtypes)
    for (const auto& c : cases) {
      problem p(c.in, c.out, c.rows, dtype);
      CAPTURE(dtype);
      CAPTURE(c.in);
      REQUIRE(p.pack() == FOVEA_OK);
      const std::vector<float> expected = p.expected();
      each_fixed_isa([&](int32_t isa) {
        CHECK(data::same_bits(p.run(FOVEA_ISA_BEST, isa, c.parts), expected));
        CHECK(data::same_bits(p.run(FOVEA_ISA_BEST, isa, 1, 1), expected));
      });
      isas::for_each([&](int32_t isa) { // no product is fused, so this holds without fma, too
        CHECK(data::same_bits(p.run(isa, FOVEA_FIXED_BEST), expected));
      });
    }
}

// One row reads the first and the second half of its outputs as two streams of memory: outputs that do not
// divide, the least of them, few inputs, what takes one stream, and the most int4 groups whose scales are
// held, and more. Streams write their outputs themselves: with and without a bias, and a residual, which may
// be y.
TEST_CASE("linear_integers_bits_of_one_row_and_two_streams") {
  struct {
    int32_t in, out, parts;
  } const cases[] = {{1, 65, 1},   {16, 97, 1},   {31, 259, 3},  {64, 143, 1},  {256, 65, 1},  {256, 64, 1},
                     {255, 97, 1}, {300, 143, 1}, {577, 259, 3}, {1536, 70, 1}, {1537, 70, 1}, {4100, 70, 1}};
  for (const int32_t dtype : dtypes)
    for (const auto& c : cases) {
      problem p(c.in, c.out, 1, dtype);
      CAPTURE(dtype);
      CAPTURE(c.in);
      REQUIRE(p.pack() == FOVEA_OK);
      const std::vector<float> expected = p.expected();
      const std::vector<float> residual = drawn(expected.size(), 7, 2);
      std::vector<float> sums = expected;
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += residual[i];
      each_fixed_isa([&](int32_t isa) {
        const auto run = [&](const float* added, bool in_place) {
          return p.run(FOVEA_ISA_BEST, isa, c.parts, 1, FOVEA_NO_ACTIVATION, added, in_place);
        };
        CHECK(data::same_bits(run(nullptr, false), expected));
        CHECK(data::same_bits(run(residual.data(), false), sums));
        CHECK(data::same_bits(run(residual.data(), true), sums));
      });
      p.bias.clear();
      const std::vector<float> unbiased = p.expected();
      each_fixed_isa(
          [&](int32_t isa) { CHECK(data::same_bits(p.run(FOVEA_ISA_BEST, isa, c.parts, 1), unbiased)); });
    }
}

#if defined(__linux__)
TEST_CASE("linear_integers_read_nothing_beside_their_arrays") {
  struct {
    int32_t in, out, rows, activation;
  } const cases[] = {
      {1, 1, 1, FOVEA_NO_ACTIVATION},   {31, 15, 2, FOVEA_RELU},   {33, 17, 3, FOVEA_GELU},
      {64, 46, 5, FOVEA_SILU_TIMES},    {255, 97, 1, FOVEA_SILU},  {577, 134, 1, FOVEA_SILU_TIMES},
      {1537, 70, 1, FOVEA_GELU_TANH},   {2100, 66, 1, FOVEA_RELU}, {130, 33, 4, FOVEA_NO_ACTIVATION},
      {96, 65, 7, FOVEA_NO_ACTIVATION}, {300, 40, 13, FOVEA_GELU}, {15, 97, 1, FOVEA_NO_ACTIVATION}};
  for (const int32_t dtype : dtypes)
    for (const auto& c : cases) {
      CAPTURE(dtype);
      CAPTURE(c.in);
      problem p(c.in, c.out, c.rows, dtype);
      REQUIRE(p.pack() == FOVEA_OK);
      const bool gated = c.activation == FOVEA_SILU_TIMES;
      const std::vector<float> added = drawn(static_cast<size_t>(c.rows) * static_cast<size_t>(c.out), 7, 1);
      const size_t packed_size = fovea_linear_size(c.in, c.out, dtype),
                   results = static_cast<size_t>(c.rows) * static_cast<size_t>(gated ? c.out / 2 : c.out),
                   scratch_size = FOVEA_MULTIPLY_SCRATCH(c.in, c.rows, dtype);
      for (const fence::side where : {fence::behind, fence::before}) {
        const fence packed(packed_size, where), x(p.x.size() * 4, where), bias(p.bias.size() * 4, where),
            residual(added.size() * 4, where), y(results * 4, where), scratch(scratch_size, where);
        std::memcpy(packed.data<unsigned char>(), p.packed, packed_size);
        std::memcpy(x.data<float>(), p.x.data(), p.x.size() * 4);
        std::memcpy(bias.data<float>(), p.bias.data(), p.bias.size() * 4);
        std::memcpy(residual.data<float>(), added.data(), added.size() * 4);
        const fovea_linear layer = {packed.data<void>(), bias.data<float>(), c.in, c.out, dtype, {}, 0};
        each_fixed_isa([&](int32_t isa) {
          fovea_product call = {};
          call.w = &layer, call.x.data = x.data<float>(), call.y.data = y.data<float>();
          if (!gated) call.residual.data = residual.data<float>();
          call.rows = c.rows, call.activation = c.activation, call.fixed_isa = isa;
          REQUIRE(fovea_multiply(&call, scratch.data<void>(), scratch_size) == FOVEA_OK);
          const std::vector<float> got(y.data<float>(), y.data<float>() + results);
          CHECK(data::same_bits(
              got, p.run(FOVEA_ISA_BEST, isa, 1, 64, c.activation, gated ? nullptr : added.data())));
        });
      }
    }
}
#endif

TEST_CASE("linear_integers_hostile_numbers") {
  for (const int32_t dtype : dtypes) {
    problem p(40, 20, 7, dtype);
    const float infinity = 1e30f * 1e30f;
    const auto set_row = [&](int32_t r, float value) {
      for (int32_t c = 0; c < p.in; ++c) p.x[static_cast<size_t>(r * p.in + c)] = value;
    };
    set_row(0, 0);
    p.x[40] = infinity;
    p.x[2 * 40 + 39] = infinity - infinity;
    set_row(3, 3.0e38f);
    set_row(4, 1.5e-38f); // a scale that is not normal
    set_row(5, -0.0f);
    for (int32_t c = 0; c < p.in; ++c) p.w[static_cast<size_t>(c)] = 0; // an output of zeros
    for (int32_t c = 0; c < p.in; ++c)
      p.w[static_cast<size_t>(40 + c)] = -1; // of the least byte, again and again
    for (int32_t c = 0; c < p.in; ++c)
      p.w[static_cast<size_t>(80 + c)] = 2e-8f; // a denormal float16, or none
    REQUIRE(p.pack() == FOVEA_OK);
    const std::vector<float> expected = p.expected();
    each_fixed_isa([&](int32_t isa) {
      const std::vector<float> y = p.run(FOVEA_ISA_BEST, isa);
      CHECK(same_numbers(y, expected));
      for (int32_t o = 0; o < 20; ++o) {
        CHECK(y[static_cast<size_t>(20 + o)] != y[static_cast<size_t>(20 + o)]);
        CHECK(y[static_cast<size_t>(40 + o)] != y[static_cast<size_t>(40 + o)]);
      }
    });
  }
}

TEST_CASE("linear_integers_last_steps_are_those_of_floats") {
  struct {
    int32_t in, out, rows;
  } const cases[] = {
      {50, 44, 5}, {256, 176, 1}, {256, 160, 1}, {256, 250, 1}}; // one row: gates begin in a panel, at one
  for (const auto& c : cases)
    for (const int32_t dtype : dtypes)
      for (const int32_t activation :
           {FOVEA_NO_ACTIVATION, FOVEA_RELU, FOVEA_GELU, FOVEA_GELU_TANH, FOVEA_SILU, FOVEA_SILU_TIMES}) {
        problem p(c.in, c.out, c.rows, dtype);
        REQUIRE(p.pack() == FOVEA_OK);
        const bool gated = activation == FOVEA_SILU_TIMES;
        const size_t numbers = static_cast<size_t>(c.rows) * static_cast<size_t>(c.out);
        const std::vector<float> residual = drawn(numbers, 7, 1), plain = p.run(FOVEA_ISA_BEST, 0);
        // The same sums through weights that change nothing.
        problem same(c.out, c.out, c.rows, FOVEA_F32);
        for (int32_t i = 0; i < c.out * c.out; ++i)
          same.w[static_cast<size_t>(i)] = i % (c.out + 1) == 0 ? 1.0f : 0.0f;
        same.x = plain;
        same.bias.clear();
        REQUIRE(same.pack() == FOVEA_OK);
        isas::for_each([&](int32_t isa) {
          const float* const added = gated ? nullptr : residual.data();
          CAPTURE(c.out);
          CAPTURE(activation);
          CHECK(data::same_bits(p.run(isa, 0, c.rows > 1 ? 2 : 1, 64, activation, added),
                                same.run(isa, 0, 1, 64, activation, added)));
        });
      }
}

TEST_CASE("linear_integers_blocks_of_q4_0_are_taken_as_they_are") {
  problem p(96, 21, 2, FOVEA_I4);
  REQUIRE(p.pack() == FOVEA_OK);
  const ptrdiff_t blocks = 96 / 32, gap = 2; // rows of the file lie further apart
  std::vector<uint16_t> file(static_cast<size_t>(21 * (blocks + gap) * 9), 0x7c00);
  for (int32_t o = 0; o < 21; ++o)
    for (int32_t b = 0; b < blocks; ++b) {
      const linear_integers::block block = linear_integers::block_of(p.w.data() + o * 96 + b * 32, 32);
      uint16_t* const at = file.data() + (o * (blocks + gap) + b) * 9;
      *at = block.scale;
      std::memcpy(at + 1, block.bytes, sizeof block.bytes);
    }
  const size_t size = fovea_linear_size(96, 21, FOVEA_I4);
  guarded<unsigned char> packed(size, 4);
  const fovea_rows_in rows = {file.data(), (blocks + gap) * 32, FOVEA_I4, 0};
  REQUIRE(fovea_pack_linear(packed.data(), size, 96, 21, FOVEA_I4, 0, &rows, 9) == FOVEA_OK);
  const fovea_rows_in rest = {file.data() + 9 * (blocks + gap) * 9, (blocks + gap) * 32, FOVEA_I4, 0};
  REQUIRE(fovea_pack_linear(packed.data(), size, 96, 21, FOVEA_I4, 9, &rest, 12) == FOVEA_OK);
  CHECK(packed.guards_hold());
  CHECK(std::memcmp(packed.data(), p.packed, size) == 0);
}

TEST_CASE("linear_integers_pack_narrow_floats_and_refuse_what_no_scale_holds") {
  for (const int32_t dtype : dtypes) {
    problem p(33, 5, 1, dtype);
    std::vector<uint16_t> narrow;
    for (float& x : p.w) { // bfloat16: floats whose last bits are 0
      uint32_t bits;
      std::memcpy(&bits, &x, sizeof bits);
      bits &= 0xffff0000u;
      std::memcpy(&x, &bits, sizeof bits);
      narrow.push_back(static_cast<uint16_t>(bits >> 16));
    }
    REQUIRE(p.pack() == FOVEA_OK);
    const size_t size = fovea_linear_size(33, 5, dtype);
    guarded<unsigned char> packed(size, 4);
    fovea_rows_in rows = {narrow.data(), 0, FOVEA_BF16, 0};
    REQUIRE(fovea_pack_linear(packed.data(), size, 33, 5, dtype, 0, &rows, 5) == FOVEA_OK);
    CHECK(std::memcmp(packed.data(), p.packed, size) == 0);
    packed.wipe();
    narrow[160] = 0x7f80; // infinity
    CHECK(fovea_pack_linear(packed.data(), size, 33, 5, dtype, 0, &rows, 5) ==
          (FOVEA_NOT_FINITE | FOVEA_ARG_W << 8));
    narrow[160] = 0x4900; // 524,288, an eighth of which is the first scale that float16 has not
    const int32_t status = fovea_pack_linear(packed.data(), size, 33, 5, dtype, 0, &rows, 5);
    CHECK(status == (dtype == FOVEA_I4 ? FOVEA_RANGE | FOVEA_ARG_W << 8 : FOVEA_OK));
    if (dtype == FOVEA_I4) CHECK(packed.nothing_written());
    CHECK(fovea_linear_size(33, 5, dtype) == FOVEA_LINEAR_BYTES(33, 5, dtype));
  }
  uint16_t block[9] = {0xfc00};
  unsigned char packed[FOVEA_LINEAR_BYTES(32, 1, FOVEA_I4)];
  fovea_rows_in rows = {block, 0, FOVEA_I4, 0};
  CHECK(fovea_pack_linear(packed, sizeof packed, 32, 1, FOVEA_I4, 0, &rows, 1) ==
        (FOVEA_NOT_FINITE | FOVEA_ARG_W << 8));
  CHECK(fovea_pack_linear(packed, sizeof packed, 31, 1, FOVEA_I4, 0, &rows, 1) ==
        (FOVEA_SIZE | FOVEA_ARG_IN << 8));
  rows.stride = 33;
  CHECK(fovea_pack_linear(packed, sizeof packed, 32, 1, FOVEA_I4, 0, &rows, 1) ==
        (FOVEA_STRIDE | FOVEA_ARG_W << 8));
  CHECK(fovea_linear_size(65537, 1, FOVEA_I8) == 0);
}

TEST_CASE("linear_integers_refuse_scratch_and_isas") {
  for (const int32_t dtype : dtypes) {
    problem p(20, 18, 2, dtype);
    REQUIRE(p.pack() == FOVEA_OK);
    const fovea_linear layer = p.linear();
    guarded<float> y(2 * 18);
    std::vector<unsigned char> scratch(FOVEA_MULTIPLY_SCRATCH(20, 1, dtype));
    fovea_product call = {};
    call.w = &layer, call.x.data = p.x.data(), call.y.data = y.data(), call.rows = 2;
    CHECK(fovea_multiply(&call, nullptr, scratch.size()) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
    CHECK(fovea_multiply(&call, scratch.data(), 63) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
    CHECK(fovea_multiply(&call, y.data() + 3, scratch.size()) == (FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8));
    CHECK(fovea_multiply(&call, p.packed, scratch.size()) == (FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8));
    call.fixed_isa = 999;
    CHECK(fovea_multiply(&call, scratch.data(), scratch.size()) ==
          (FOVEA_UNSUPPORTED | FOVEA_ARG_FIXED_ISA << 8));
    CHECK(fovea_multiply_scratch(&call) == 0);
    CHECK(y.nothing_written());
    call.fixed_isa = 0;
    CHECK(fovea_multiply(&call, scratch.data(), scratch.size()) == FOVEA_OK);
  }
}
