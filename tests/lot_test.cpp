// Calls drawn by lot, in any scratch and parts, against the textbook and against the written arithmetic.
#include <doctest/doctest.h>

#include "drawn_calls.hpp"
#include "isas.hpp"
#include "numerics.hpp"
#include "reference.hpp"

namespace {

void draw_calls(uint32_t first_seed, uint32_t count) {
  for (uint32_t seed = first_seed; seed < first_seed + count; ++seed) {
    INFO("seed ", seed);
    data::lottery lot(seed);
    problem p(drawn::draw_shape(lot, drawn::small_sizes), seed);
    const reference::answer expected = reference::attend(p.call());
    const std::vector<float> bits = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      const std::vector<float> got = drawn::solve_in_parts(p, p.call(isa), lot.between(1, 6), lot.one_in(2),
                                                           lot);
      reference::check_results(expected, got);
      if (isas::promises_bits(isa)) CHECK(data::same_bits(got, bits));
    });
  }
}

} // namespace

TEST_CASE("calls_drawn_by_lot") {
#if defined(FOVEA_SMALL)
  draw_calls(1, 12);
#elif defined(__x86_64__)
  draw_calls(1, 2000);
#else
  draw_calls(1, 100); // mostly emulated
#endif
}

TEST_CASE("prove_many_calls_drawn_by_lot" * doctest::skip()) { draw_calls(1000, 5000); }
