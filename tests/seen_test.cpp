// A NaN that a row sees, whatever its bits, makes that row NaN, and no other; so does a score of infinity.
#include "spoilt.hpp"

namespace {

using namespace spoilt;

bool has_both_signs(const data::tensor& q, int32_t head, int32_t query) {
  bool plus = false, minus = false;
  for (int32_t c = 0; c < q.dim; ++c) plus |= q.at(head, query, c) > 0, minus |= q.at(head, query, c) < 0;
  return plus && minus;
}

} // namespace

TEST_CASE("a_nan_in_a_bias_spoils_the_row_that_sees_it") {
  const shape s =
      shape("grouped").heads(4, 2).dims(9, 20).lengths(14, 40).causal().mask(mask_kind::bias).alibi().lse();
  isas::for_each([&](int32_t isa) {
    problem good(s), p(s);
    const std::vector<float> clean = solve(good, good.call(isa));
    for (uint32_t bits : nan_patterns) {
      CAPTURE(bits);
      put_bits(p.modifiers.bias[p.modifiers.place(2, 5, 11)], bits); // seen
      put_bits(p.modifiers.bias[p.modifiers.place(1, 5, 39)], bits); // behind the diagonal
      solve(p, p.call(isa));
      check_rows(p, clean, [](int32_t h, int32_t i) { return h == 2 && i == 5; });
    }
  });
}

TEST_CASE("a_seen_nan_passes_every_modifier") {
  const shape table[] = {
      shape("softcap").dims(5, 17).lengths(6, 300).softcap(2).lse(),
      shape("ALiBi").dims(5, 17).lengths(6, 300).alibi().lse(),
      shape("sinks").dims(5, 17).lengths(6, 300).sinks().lse(),
      shape("a bool mask").dims(5, 17).lengths(6, 300).mask(mask_kind::shown).lse(),
      shape("all").dims(5, 17).lengths(6, 300).softcap(2).alibi().sinks().mask(mask_kind::bias).lse(),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    isas::for_each([&](int32_t isa) {
      problem good(s), p(s);
      const std::vector<float> clean = solve(good, good.call(isa));
      for (uint32_t bits : nan_patterns) {
        CAPTURE(bits);
        put_bits(p.k.at(0, 270, 4), bits);
        solve(p, p.call(isa));
        check_rows(p, clean, [&](int32_t h, int32_t i) { return reference::attends(p.call(), h, i, 270); });
      }
    });
  }
}

TEST_CASE("one_nan_in_q_or_k_spoils_whole_rows") {
  const shape s = shape("grouped").heads(4, 2).dims(9, 20).lengths(14, 40).causal();
  isas::for_each([&](int32_t isa) {
    problem good(s);
    const std::vector<float> clean = solve(good, good.call(isa));
    for (uint32_t bits : nan_patterns)
      for (int32_t c : {0, 8}) {
        CAPTURE(bits);
        problem bad_q(s), bad_k(s);
        put_bits(bad_q.q.at(2, 5, c), bits);
        solve(bad_q, bad_q.call(isa));
        check_rows(bad_q, clean, [](int32_t h, int32_t i) { return h == 2 && i == 5; });
        put_bits(bad_k.k.at(1, 33, c), bits);
        solve(bad_k, bad_k.call(isa));
        check_rows(bad_k, clean,
                   [&](int32_t h, int32_t i) { return h / 2 == 1 && sees(bad_k.call(), i, 33); });
      }
  });
}

TEST_CASE("an_infinite_key_spoils_the_rows_that_see_it") {
  // Infinity times numbers of both signs sums to NaN; a row of q with one sign only is not judged.
  const shape s = shape("grouped").heads(4, 2).dims(9, 20).lengths(14, 40).causal();
  isas::for_each([&](int32_t isa) {
    problem good(s);
    const std::vector<float> clean = solve(good, good.call(isa));
    for (uint32_t bits : infinity_patterns) {
      CAPTURE(bits);
      problem p(s);
      fill_row(p.k, 1, 33, bits);
      solve(p, p.call(isa));
      int wrong = 0;
      for (int32_t h = 0; h < 4; ++h)
        for (int32_t i = 0; i < 14; ++i) {
          const bool seen = h / 2 == 1 && sees(p.call(), i, 33);
          wrong += !seen ? !same_row(p, h, i, clean) : has_both_signs(p.q, h, i) && !all_nan(p, h, i);
        }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("a_nan_or_infinity_in_v_spoils_its_column") {
  const shape s = shape("grouped").heads(4, 2).dims(9, 20).lengths(14, 40).causal();
  isas::for_each([&](int32_t isa) {
    problem good(s), p(s);
    const std::vector<float> clean = solve(good, good.call(isa));
    for (uint32_t bits : all_patterns) {
      CAPTURE(bits);
      put_bits(p.v.at(0, 33, 19), bits);
      const std::vector<float> got = solve(p, p.call(isa));
      int wrong = 0;
      for (size_t n = 0; n < got.size(); ++n) {
        const auto h = static_cast<int32_t>(n / (14 * 20)), i = static_cast<int32_t>(n / 20 % 14);
        const bool spoilt = h / 2 == 0 && n % 20 == 19 && sees(p.call(), i, 33);
        wrong += spoilt ? std::isfinite(got[n]) : std::memcmp(&got[n], &clean[n], sizeof(float)) != 0;
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("a_seen_score_of_infinity_is_no_number") {
  isas::for_each([&](int32_t isa) {
    problem p(shape("a product overflows").dims(2).lengths(3, 300));
    for (int32_t i = 0; i < 3; ++i) p.q.at(0, i, 0) = i == 1 ? 1e30f : 1.0f;
    p.k.at(0, 270, 0) = 1e30f;
    solve(p, p.call(isa));
    CHECK(all_nan(p, 0, 1));
    CHECK_FALSE(all_nan(p, 0, 0));
    CHECK_FALSE(all_nan(p, 0, 2));
  });
}
