// Softcap, ALiBi, masks, sinks, log-sum-exp and weights against the textbook and against what one knows
// without calculating.
#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace {

constexpr float too_large = std::numeric_limits<float>::infinity();

void check_shape(const shape& s) {
  INFO(doctest::String(s.why));
  problem p(s);
  const reference::answer expected = reference::attend(p.call());
  isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
}

// One query, keys whose scores are given, values that show the weights: v = identity.
class given_scores {
 public:
  given_scores(const shape& s, std::initializer_list<float> scores)
      : p(shape(s).dims(1, count(scores)).lengths(1, count(scores)).scale(1)) {
    p.q.at(0, 0, 0) = 1;
    int32_t j = 0;
    for (float score : scores) p.k.at(0, j++, 0) = score;
    for (j = 0; j < p.v.tokens; ++j) data::fill_row(p.v, 0, j, 0), p.v.at(0, j, j) = 1;
  }
  void check(int32_t isa, std::initializer_list<double> weights) {
    solve(p, p.call(isa));
    int32_t j = 0;
    for (double w : weights)
      CHECK(static_cast<double>(p.out.at(0, 0, j++)) == doctest::Approx(w).epsilon(1e-6));
  }
  problem p;

 private:
  static int32_t count(std::initializer_list<float> scores) { return static_cast<int32_t>(scores.size()); }
};

} // namespace

TEST_CASE("each_modifier_alone") {
  const mask_kind shown = mask_kind::shown, bias = mask_kind::bias;
  const shape table[] = {
      shape("softcap above the scores").heads(2, 1).dims(20).lengths(3, 40).softcap(30).lse().weights(2),
      shape("softcap below the scores")
          .heads(2, 1)
          .dims(20)
          .lengths(3, 40)
          .softcap(0.3f)
          .scores(30)
          .lse()
          .weights(2),
      shape("softcap of tiny scores: tanh is exact there")
          .dims(3)
          .lengths(3, 40)
          .softcap(50)
          .scores(1e-6f)
          .weights(2),
      shape("softcap and a negative scale").dims(3).lengths(3, 40).softcap(2).scale(-3).weights(2),
      shape("ALiBi to both sides").heads(4, 2).dims(20).lengths(7, 40).position(17).alibi().lse().weights(3),
      shape("ALiBi, steep").dims(20).lengths(7, 300).causal().alibi(50).lse(),
      shape("ALiBi far behind the keys").dims(3).lengths(3, 20).position(1000000).alibi(1e-3f).lse(),
      shape("ALiBi at the highest position")
          .dims(3)
          .lengths(3, 20)
          .position(INT32_MAX - 3)
          .alibi(1e-9f)
          .lse(),
      shape("ALiBi before the first key").dims(3).lengths(3, 20).position(INT32_MIN).alibi(1e-9f).lse(),
      shape("ALiBi of a group").heads(6, 2).dims(3).lengths(5, 20).causal().first_key(250).alibi().lse(),
      shape("sinks").heads(4, 2).dims(20).lengths(3, 40).sinks().lse().weights(0),
      shape("sinks far above").heads(4, 2).dims(20).lengths(3, 40).sinks(500).lse().weights(0),
      shape("sinks of 1e30").heads(4, 2).dims(20).lengths(3, 40).sinks(1e30f).lse(),
      shape("a bool mask").heads(4, 2).dims(20).lengths(7, 40).mask(shown).lse().weights(0),
      shape("a bool mask for all heads").heads(4, 2).dims(20).lengths(7, 40).mask(shown, false).lse(),
      shape("a bool mask for all queries").heads(4, 2).dims(20).lengths(7, 40).mask(shown, true, false).lse(),
      shape("one bool row for all").heads(4, 2).dims(20).lengths(7, 300).mask(shown, false, false).lse(),
      shape("a mask of one key")
          .heads(2, 1)
          .dims(20)
          .lengths(3, 40)
          .mask(shown)
          .mask_keys(1)
          .lse()
          .weights(3),
      shape("a mask longer than the keys")
          .heads(2, 1)
          .dims(20)
          .lengths(3, 40)
          .mask(bias)
          .mask_keys(1000)
          .lse(),
      shape("an additive mask").heads(4, 2).dims(20).lengths(7, 40).mask(bias).lse().weights(3),
      shape("an additive mask over three blocks").heads(2, 1).dims(5).lengths(3, 600).mask(bias).lse(),
      shape("a mask of later rows")
          .heads(2, 1)
          .dims(5)
          .lengths(3, 60)
          .first_key(229)
          .mask(bias)
          .mask_keys(40)
          .lse()
          .weights(3),
  };
  for (const shape& s : table) check_shape(s);
}

TEST_CASE("modifiers_together") {
  for (int which = 0; which < 16; ++which) {
    shape s =
        shape("two heads of queries, a causal chunk").heads(4, 2).dims(9, 20).lengths(6, 270).causal().lse();
    if ((which & 1) != 0) s.softcap(4);
    if ((which & 2) != 0) s.alibi();
    if ((which & 4) != 0) s.sinks();
    if ((which & 8) != 0) s.mask(which % 3 == 0 ? mask_kind::shown : mask_kind::bias);
    INFO("combination ", which);
    check_shape(s);
  }
}

TEST_CASE("softcap_comes_before_the_mask") {
  // Capped at 1, no score could outweigh a bias of -40; capped after it, the bias would be worth no more
  // than 2.
  given_scores three(shape("three keys").softcap(1).mask(mask_kind::bias, false, false), {5, 5, -5});
  three.p.modifiers.bias[0] = three.p.modifiers.bias[2] = 0, three.p.modifiers.bias[1] = -40;
  const double low = std::exp(2 * std::tanh(-5.0));
  isas::for_each(
      [&](int32_t isa) { three.check(isa, {1 / (1 + low), std::exp(-40.0) / (1 + low), low / (1 + low)}); });
}

TEST_CASE("a_sink_takes_its_share") {
  given_scores two(shape("two keys of 0, a sink of log 2: a half is left").sinks().lse(), {0, 0});
  two.p.modifiers.sinks[0] = std::log(2.0f);
  isas::for_each([&](int32_t isa) {
    two.check(isa, {0.25, 0.25});
    CHECK(two.p.modifiers.lse[0] == doctest::Approx(std::log(4.0)).epsilon(1e-6));
  });
}

TEST_CASE("alibi_counts_keys_to_both_sides") {
  given_scores five(shape("five keys, the query at the third").alibi().position(2), {0, 0, 0, 0, 0});
  five.p.modifiers.alibi[0] = std::log(2.0f);
  isas::for_each([&](int32_t isa) { five.check(isa, {0.1, 0.2, 0.4, 0.2, 0.1}); });
}

TEST_CASE("log_sum_exp_joins_two_halves") {
  // What two calls over half of the keys each tell is enough to say what one call over all says.
  problem p(shape("all").dims(9, 20).lengths(3, 300).lse());
  isas::for_each([&](int32_t isa) {
    const fovea_attention all = p.call(isa);
    const std::vector<float> whole = solve(p, all);
    fovea_attention left = all, right = all;
    left.keys = 123, right.keys = 177;
    right.k.data = p.k.row(0, 123), right.v.data = p.v.row(0, 123);
    const std::vector<float> a = solve(p, left), b = solve(p, right);
    for (size_t i = 0; i < 3; ++i) {
      const double share = 1 /
                           (1 + std::exp(static_cast<double>(b[60 + i]) - static_cast<double>(a[60 + i])));
      for (size_t c = 20 * i; c < 20 * i + 20; ++c) {
        const double joined = share * static_cast<double>(a[c]) + (1 - share) * static_cast<double>(b[c]);
        CHECK(std::fabs(joined - static_cast<double>(whole[c])) <= 1e-6);
      }
    }
  });
}

TEST_CASE("weights_of_chosen_rows_are_those_of_all_rows") {
  const shape s = shape("all rows")
                      .heads(4, 2)
                      .dims(9, 20)
                      .lengths(7, 270)
                      .causal()
                      .alibi()
                      .sinks()
                      .mask(mask_kind::shown);
  for (int32_t stage : {0, 1, 2, 3}) {
    INFO("stage ", stage);
    shape chosen = shape(s).weights(stage);
    chosen.options.weights.first_head = 1, chosen.options.weights.heads = 2;
    chosen.options.weights.first_query = 3, chosen.options.weights.queries = 2;
    problem all(shape(s).weights(stage)), few(chosen);
    isas::for_each([&](int32_t isa) {
      solve(all, all.call(isa)), solve(few, few.call(isa));
      for (size_t row = 0; row < 4; ++row) {
        const float *expected = &all.modifiers.weights[((row / 2 + 1) * 7 + row % 2 + 3) * 270],
                    *got = &few.modifiers.weights[row * 270];
        CHECK(std::memcmp(got, expected, 270 * sizeof(float)) == 0);
      }
    });
  }
}

TEST_CASE("weights_and_log_sum_exp_change_no_bit_of_the_results") {
  const shape s = shape("prefill").heads(2, 1).dims(5, 17).lengths(26, 270).causal().softcap(4).mask(
      mask_kind::bias);
  problem plain(s);
  isas::for_each([&](int32_t isa) {
    const std::vector<float> expected = solve(plain, plain.call(isa));
    for (int32_t stage : {0, 1, 2, 3}) {
      problem told(shape(s).lse().weights(stage));
      const fovea_attention a = told.call(isa);
      for (size_t scratch : {fovea_scratch_least(&a), fovea_scratch_best(&a)}) {
        std::vector<float> got = solve(told, a, scratch);
        got.resize(expected.size());
        CHECK(data::same_bits(got, expected));
      }
    }
  });
}

TEST_CASE("a_finite_bias_is_no_mask") {
  // As low as it may be: all keys alike are the mean of their values, one higher key is alone.
  for (float low : {-1e4f, -1e9f, -3e38f, -std::numeric_limits<float>::max()}) {
    INFO("bias ", low);
    problem flat(shape("all keys are low").dims(3, 20).lengths(3, 17).scale(0));
    problem p(shape("all keys are low").dims(3, 20).lengths(3, 17).scale(0).mask(mask_kind::bias));
    problem one(shape("the last key is higher").dims(3, 20).lengths(1, 17).mask(mask_kind::bias));
    for (size_t n = 0; n < p.modifiers.bias.size(); ++n) p.modifiers.bias[n] = low;
    for (size_t n = 0; n < 17; ++n) one.modifiers.bias[n] = n < 16 ? low : 0;
    isas::for_each([&](int32_t isa) {
      reference::check_results(reference::attend(flat.call()), solve(p, p.call(isa)));
      solve(one, one.call(isa));
      for (int32_t c = 0; c < 20; ++c)
        CHECK(one.out.at(0, 0, c) == doctest::Approx(one.v.at(0, 16, c)).epsilon(1e-6));
    });
  }
}

TEST_CASE("rows_that_see_nothing_are_zeros_and_say_so") {
  const shape table[] = {
      shape("a bool mask hides all")
          .heads(4, 2)
          .dims(9, 20)
          .lengths(5, 300)
          .mask(mask_kind::shown)
          .lse()
          .weights(0),
      shape("an additive mask hides all")
          .heads(4, 2)
          .dims(9, 20)
          .lengths(5, 300)
          .mask(mask_kind::bias)
          .softcap(3)
          .lse()
          .weights(0),
      shape("no key").heads(4, 2).dims(9, 20).lengths(5, 0).lse(),
      shape("all positions before the first key")
          .heads(4, 2)
          .dims(9, 20)
          .lengths(5, 9)
          .causal()
          .position(-9)
          .lse()
          .alibi(),
      shape("two spans").heads(2, 1).dims(2, 20).lengths(2, 4100).mask(mask_kind::shown, false, false).lse(),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s), with_sink(shape(s).sinks());
    for (problem* each : {&p, &with_sink}) {
      const fovea_attention a = each->call();
      for (int32_t h = 0; h < a.q_heads && a.mask.data != nullptr; ++h)
        for (int32_t i = 0; i < a.queries; ++i)
          for (int32_t j = 0; j < a.keys; ++j) each->modifiers.hide(h, i, j);
      isas::for_each([&](int32_t isa) {
        std::vector<float> expected(static_cast<size_t>(a.q_heads * a.queries * 20));
        for (int32_t n = 0; n < a.q_heads * a.queries; ++n)
          expected.push_back(a.sinks == nullptr ? -too_large : a.sinks[n / a.queries]);
        expected.resize(each->results().size());
        const std::vector<float> got = solve(*each, each->call(isa));
        int wrong = 0;
        for (size_t n = 0; n < got.size(); ++n)
          wrong += got[n] != expected[n] &&
                   !(std::fabs(got[n] - expected[n]) <= 4e-7f + 2e-7f * std::fabs(expected[n]));
        CHECK(wrong == 0);
      });
    }
  }
}
