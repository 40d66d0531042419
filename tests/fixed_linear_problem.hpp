// Static linear layers with drawn weights, and their outputs against TFLite's arithmetic.
#pragma once
#include <doctest/doctest.h>

#include <vector>

#include "data.hpp"
#include "fixed_linear_reference.hpp"
#include "fovea/fixed_linear.h"

namespace fixed_linear {

enum class numbers { drawn, lowest, highest };

struct problem {
  layer l;
  int32_t rows;
  std::vector<int8_t> x, packed;

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

inline void check_bits(problem& p, int32_t isa, ptrdiff_t gap, int32_t parts, int32_t scratch_rows) {
  const fovea_fixed_linear w = p.linear();
  const ptrdiff_t stride = p.l.out + gap;
  data::guarded<int8_t> y(static_cast<size_t>(p.rows) * static_cast<size_t>(stride), 1);
  for (int32_t part = 0; part < parts; ++part) {
    fovea_fixed_product call = {};
    call.w = &w, call.x = p.x.data(), call.y = y.data(), call.y_stride = gap ? stride : 0;
    call.rows = p.rows, call.isa = isa;
    call.part = {part, parts};
    data::guarded<unsigned char> scratch(FOVEA_FIXED_LINEAR_SCRATCH(p.l.in, scratch_rows), 3);
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

} // namespace fixed_linear
