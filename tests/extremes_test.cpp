// Numbers at the edge of what floats hold: finite scores give finite results, however large q, the scale or a
// slope is.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace {

struct large_query {
  const char* why;
  shape s;
  float q, k; // what the noise of q and of K is multiplied by
};

// Every third query is large, so that rows next to each other get different shares of the scale. No key and
// no score is denormal, for some cores and C libraries flush those.
void make_large(problem& p, const large_query& x) {
  for (int32_t h = 0; h < p.q.heads; ++h)
    for (int32_t i = 0; i < p.q.tokens; ++i)
      for (int32_t c = 0; c < p.q.dim; ++c) p.q.row(h, i)[c] *= i % 3 == 0 ? x.q : x.q / 64;
  for (int32_t g = 0; g < p.k.heads; ++g)
    for (int32_t j = 0; j < p.k.tokens; ++j)
      for (int32_t c = 0; c < p.k.dim; ++c) {
        float& k = p.k.row(g, j)[c];
        k = (k < 0 ? -0.5f - std::fabs(k) / 2 : 0.5f + std::fabs(k) / 2) * x.k;
      }
}

void check_everywhere(problem& p, const fovea_attention& good) {
  const std::vector<float> bits = numerics::attend(good);
  const reference::answer exact = reference::attend(good);
  isas::for_each([&](int32_t isa) {
    fovea_attention a = good;
    a.isa = isa;
    for (const size_t scratch : {fovea_scratch_best(&a), fovea_scratch_least(&a)}) {
      const std::vector<float> got = solve(p, a, scratch);
      reference::check_results(exact, got);
      if (isas::promises_bits(isa)) CHECK(data::same_bits(got, bits));
    }
  });
}

} // namespace

TEST_CASE("queries_times_the_scale_may_leave_the_floats_when_scores_do_not") {
  const float most = 3e38f;
  const large_query table[] = {
      {"scale 1", shape("scale 1").dims(8).lengths(5, 20).scale(1), most, 3e-38f},
      {"scale 1, several heads and a causal stair",
       shape("").heads(4, 2).dims(20).lengths(30, 40).causal().scale(1), most, 3e-38f},
      {"a scale of 1e30", shape("").dims(16).lengths(4, 300).scale(1e30f), 3e9f, 3e-38f},
      {"a negative scale", shape("").dims(16).lengths(7, 30).scale(-3.7f), most, 3e-38f},
      {"the default scale of one dim", shape("").dims(1).lengths(4, 17), most, 3e-38f},
      {"with biases, returned weights and a log-sum-exp",
       shape("")
           .heads(2, 1)
           .dims(16)
           .lengths(5, 40)
           .scale(1.5f)
           .alibi()
           .mask(mask_kind::bias)
           .sinks()
           .lse()
           .weights(0),
       most, 3e-38f},
      {"scores returned of kept keys and of a window that begins in the same panel",
       shape("").dims(16).lengths(5, 40).scale(1.5f).causal().keep_first(18).window(9, 0).weights(3), most,
       3e-38f},
      {"scaled scores returned", shape("").dims(16).lengths(5, 40).scale(2).softcap(5).weights(1), most,
       3e-38f},
  };
  for (const large_query& x : table) {
    INFO(doctest::String(x.why));
    problem p(x.s);
    make_large(p, x);
    check_everywhere(p, p.call());
  }
}

TEST_CASE("a_scale_without_bits_is_refused") {
  struct row {
    const char* why;
    float scale;
    int32_t status;
  };
  const int32_t refused = FOVEA_RANGE | FOVEA_ARG_SCALE << 8;
  const row table[] = {
      {"zero: all scores are 0", 0, FOVEA_OK},
      {"minus zero", -0.0f, FOVEA_OK},
      {"the least denormal", std::numeric_limits<float>::denorm_min(), refused},
      {"a negative denormal", -1e-40f, refused},
      {"denormal when multiplied by log2(e)", 8e-39f, refused},
      {"normal when multiplied by log2(e)", 8.2e-39f, FOVEA_OK},
      {"the least normal float", std::numeric_limits<float>::min(), FOVEA_OK},
  };
  for (const row& r : table) {
    INFO(doctest::String(r.why));
    problem p(shape("a good call").lengths(3, 20).scale(r.scale));
    const fovea_attention a = p.call();
    CHECK(fovea_check(&a) == r.status);
  }
}

TEST_CASE("keys_far_away_under_a_steep_slope_keep_a_score") {
  // slope * distance overflows; such scores are held at -3e38, all alike, so the row is the mean of
  // the values it sees.
  struct row {
    const char* why;
    float slope;
    int32_t position;
  };
  for (const row& r : {row{"distance 2^31", 1e38f, INT32_MAX}, row{"distance 100", 2e38f, 120},
                       row{"before all keys", 1e38f, INT32_MIN}}) {
    INFO(doctest::String(r.why));
    problem p(shape("one head").dims(8, 5).lengths(3, 20).position(r.position));
    fovea_attention a = p.call();
    a.alibi = &r.slope;
    if (r.position == INT32_MIN) a.flags &= ~FOVEA_CAUSAL;
    const std::vector<float> bits = numerics::attend(a);
    double mean[5] = {};
    for (int32_t j = 0; j < 20; ++j)
      for (int32_t c = 0; c < 5; ++c) mean[c] += static_cast<double>(p.v.at(0, j, c)) / 20;
    isas::for_each([&](int32_t isa) {
      a.isa = isa;
      const std::vector<float> got = solve(p, a);
      if (isas::promises_bits(isa)) CHECK(data::same_bits(got, bits));
      for (size_t n = 0; n < got.size(); ++n)
        CHECK(std::fabs(static_cast<double>(got[n]) - mean[n % 5]) < 1e-6);
    });
  }
}

// One key has a score of 2.9e38, all others of -2.9e38: the difference is no float. They weigh 2^-100, or 0
// where options change scores.
TEST_CASE("scores_further_apart_than_a_float_holds") {
  const shape table[] = {
      shape("one row").dims(1).lengths(1, 20).scale(1),
      shape("several rows over three blocks").heads(4, 2).dims(3, 5).lengths(5, 600).scale(1).causal(),
      shape("with a log-sum-exp, sinks and returned weights")
          .dims(4, 20)
          .lengths(2, 300)
          .scale(1)
          .sinks()
          .lse()
          .weights(0),
      shape("with a softcap").dims(4, 16).lengths(3, 40).scale(1).softcap(3e38f / 2),
      shape("with ALiBi").heads(2).dims(4, 16).lengths(3, 40).scale(1).alibi(),
      shape("with a mask").dims(4, 16).lengths(3, 40).scale(1).mask(mask_kind::bias),
      shape("with a tree of drafts").dims(4, 16).lengths(6, 600).scale(1).tree(5),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    for (int32_t h = 0; h < p.q.heads; ++h)
      for (int32_t i = 0; i < p.q.tokens; ++i)
        for (int32_t c = 0; c < p.q.dim; ++c) p.q.at(h, i, c) = c == 0 ? 1.0f : 0.0f;
    for (int32_t g = 0; g < p.k.heads; ++g)
      for (int32_t j = 0; j < p.k.tokens; ++j) {
        p.k.at(g, j, 0) = j == p.k.tokens - 10 ? 2e38f : -2e38f;
        if (j == p.k.tokens - 10) // so that what little the others weigh is all that there is
          for (int32_t c = 0; c < p.v.dim; ++c) p.v.at(g, j, c) = 0;
      }
    const std::vector<float> bits = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      for (const size_t scratch : {fovea_scratch_best(&a), fovea_scratch_least(&a)}) {
        const std::vector<float> got = solve(p, a, scratch);
        if (isas::promises_bits(isa)) CHECK(data::same_numbers(got, bits));
      }
    });
  }
}
