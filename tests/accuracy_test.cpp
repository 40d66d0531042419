// How exact results are: over very long rows, for the exponential alone, and (long proofs) over every dim and
// many random calls.
#include <doctest/doctest.h>

#include <cmath>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace {

// Flat attention: all scores are equal, so each result is the mean of a column of V.
constexpr int32_t flat_keys = 65536;

problem& make_flat(problem& p) {
  for (int32_t j = 1; j < p.k.tokens; ++j)
    std::memcpy(p.k.row(0, j), p.k.row(0, 0), static_cast<size_t>(p.k.dim) * sizeof(float));
  return p;
}

double worst_error_of_means(const problem& p, const std::vector<float>& got) {
  double worst = 0;
  for (int32_t c = 0; c < p.v.dim; ++c) {
    double sum = 0;
    for (int32_t j = 0; j < p.v.tokens; ++j) sum += static_cast<double>(p.v.at(0, j, c));
    const double error = std::fabs(static_cast<double>(got[static_cast<size_t>(c)]) - sum / p.v.tokens);
    worst = error > worst ? error : worst;
  }
  return worst;
}

#ifdef FOVEA_SMALL
const shape flat_case = shape("65,536 flat keys").dims(1, 3).lengths(1, flat_keys);
#else
const shape flat_case = shape("65,536 flat keys").dims(8, 20).lengths(1, flat_keys);
#endif

} // namespace

TEST_CASE("flat_rows_of_constant_values_stay_in_the_bound") {
  // The worst for one block: all roundings of its 256 products go the same way, 30 eps together.
  for (int32_t keys : {17, 255, 256, 257, 1000}) {
    INFO("keys ", keys);
    problem p(shape("flat").dims(4, 17).lengths(3, keys).scale(0));
    for (int32_t j = 0; j < keys; ++j) data::fill_row(p.v, 0, j, 0.99999994f);
    const reference::answer exact = reference::attend(p.call());
    isas::for_each([&](int32_t isa) { reference::check_results(exact, solve(p, p.call(isa))); });
  }
}

TEST_CASE("long_flat_rows_of_constant_values") {
  // Each span of 4,096 keys is summed alone, so the error stops growing: 4e-6 at worst, at any length.
  problem p(flat_case);
  make_flat(p);
  for (float value : {1.0f, 0.7f, -0.3333333f}) {
    INFO("value ", value);
    for (int32_t j = 0; j < p.v.tokens; ++j) data::fill_row(p.v, 0, j, value);
    isas::for_each([&](int32_t isa) {
      CHECK(worst_error_of_means(p, solve(p, p.call(isa))) <= 5e-6 * std::fabs(value));
    });
  }
}

TEST_CASE("long_flat_rows_of_random_values") {
  problem p(flat_case);
  make_flat(p);
  isas::for_each([&](int32_t isa) { CHECK(worst_error_of_means(p, solve(p, p.call(isa))) <= 1e-6); });
}

TEST_CASE("the_exponential_through_two_keys") {
  // Keys {x, 0} with V = identity: the weights are 2^x' / (2^x' + 1); their quotient is e^x.
  problem p(shape("two keys").dims(1, 2).lengths(1, 2).scale(1));
  p.q.at(0, 0, 0) = 1;
  p.k.at(0, 1, 0) = 0;
  p.v.at(0, 0, 0) = 1, p.v.at(0, 0, 1) = 0, p.v.at(0, 1, 0) = 0, p.v.at(0, 1, 1) = 1;
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    data::guarded<unsigned char> scratch(fovea_scratch_best(&a));
    double worst = 0;
    for (int step = 0; step <= 2000; ++step) {
      const float x = -60.0f * static_cast<float>(step) / 2000.0f;
      p.k.at(0, 0, 0) = x;
      if (fovea_attend(&a, scratch.data(), scratch.size()) != FOVEA_OK) worst = 1;
      const double exact = std::exp(static_cast<double>(x)),
                   got = static_cast<double>(p.out.at(0, 0, 0)) / static_cast<double>(p.out.at(0, 0, 1));
      // The product x * log2(e) is rounded, which moves the result by |x| / 2^24; the polynomial may be off
      // by 1.5e-7 twice.
      worst = std::max(worst,
                       std::fabs(got / exact - 1) / (4e-7 + std::fabs(static_cast<double>(x)) * 1.5e-7));
    }
    CHECK(worst <= 1);
  });
}

TEST_CASE("equal_keys_share_evenly_and_a_far_key_vanishes") {
  problem p(shape("two keys").dims(1, 1).lengths(1, 2).scale(1));
  p.q.at(0, 0, 0) = 1;
  p.v.at(0, 0, 0) = 1, p.v.at(0, 1, 0) = 3;
  isas::for_each([&](int32_t isa) {
    p.k.at(0, 0, 0) = p.k.at(0, 1, 0) = 0.5f;
    CHECK(solve(p, p.call(isa))[0] == doctest::Approx(2).epsilon(3e-7));
    p.k.at(0, 1, 0) = -200;
    CHECK(solve(p, p.call(isa))[0] == doctest::Approx(1).epsilon(3e-7));
    p.k.at(0, 1, 0) = 1e20f;
    CHECK(solve(p, p.call(isa))[0] == doctest::Approx(3).epsilon(3e-7));
  });
}

TEST_CASE("ordinary_rows_are_far_better_than_the_bound") {
  // Random values: roundings cancel. 1 eps was measured; 4 still notice a wrong digit in any constant of the
  // arithmetic.
  const shape table[] = {
      shape("prefill").heads(2).dims(64).lengths(20, 100),
      shape("decode").heads(4, 2).dims(64).lengths(1, 300),
      shape("one dim").dims(1, 40).lengths(5, 257),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    const reference::answer exact = reference::attend(p.call());
    isas::for_each([&](int32_t isa) {
      const std::vector<float> got = solve(p, p.call(isa));
      double worst = 0;
      for (size_t n = 0; n < got.size(); ++n)
        worst = std::max(worst, std::fabs(static_cast<double>(got[n]) - exact.out[n]));
      CHECK(worst <= 4 * reference::eps);
    });
  }
}

TEST_CASE("huge_scores_still_choose_the_winner") {
  // Keys {x, x, next smaller}: the first two share evenly, however large x is. Rounding must never lift the
  // reference off the scores.
  problem p(shape("three keys").dims(1, 1).lengths(1, 3).scale(1));
  p.q.at(0, 0, 0) = 1;
  p.v.at(0, 0, 0) = 1, p.v.at(0, 1, 0) = 3, p.v.at(0, 2, 0) = 1000;
  isas::for_each([&](int32_t isa) {
    // Just below each power of two (the score is x * log2(e)), where adding anything changes the spacing of
    // floats; odd and even ones.
    for (int power = 16; power < 126; ++power)
      for (int below = 1; below <= 8; ++below)
        for (float sign : {1.0f, -1.0f}) {
          const float x = std::ldexp(sign * (1 - static_cast<float>(below) * 5.96e-8f) / 1.44269504f, power);
          INFO("score ", x);
          p.k.at(0, 0, 0) = p.k.at(0, 1, 0) = x;
          p.k.at(0, 2, 0) = x - 0.01f * std::fabs(x);
          CHECK(solve(p, p.call(isa))[0] == doctest::Approx(2).epsilon(3e-7));
        }
  });
}

TEST_CASE("prove_every_dim" * doctest::skip()) {
  for (int32_t dim = 1; dim <= 1024; dim += dim < 140 ? 1 : 37) {
    INFO("dim ", dim);
    const shape shapes[] = {shape("dim").dims(dim, 9).lengths(7, 33).causal(),
                            shape("v_dim").dims(9, dim).lengths(1, 33)};
    for (const shape& s : shapes) {
      problem p(s);
      const reference::answer expected = reference::attend(p.call());
      isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
    }
  }
}

TEST_CASE("prove_every_length" * doctest::skip()) {
  for (int32_t keys = 0; keys <= 600; ++keys) {
    INFO("keys ", keys);
    for (int32_t queries : {1, 13}) {
      problem p(shape("length").heads(2, 1).dims(5).lengths(queries, keys).causal());
      const reference::answer expected = reference::attend(p.call());
      isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
    }
  }
}

TEST_CASE("prove_a_million_flat_keys" * doctest::skip()) {
  problem p(shape("1,048,576 flat keys").dims(1, 2).lengths(1, 1 << 20));
  make_flat(p);
  isas::for_each([&](int32_t isa) { CHECK(worst_error_of_means(p, solve(p, p.call(isa))) <= 1e-6); });
  for (int32_t j = 0; j < p.v.tokens; ++j) data::fill_row(p.v, 0, j, 0.7f);
  isas::for_each([&](int32_t isa) { CHECK(worst_error_of_means(p, solve(p, p.call(isa))) <= 5e-6 * 0.7); });
}
