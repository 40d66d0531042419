// What a row does not see cannot change it, whatever is stored there: NaN of any bits, infinity, numbers that
// overflow.
#include "spoilt.hpp"

namespace {

using namespace spoilt;

constexpr uint32_t very_large = 0x7f61b1e6u; // 3e38

// Shapes in which every row hides something: behind the diagonal, outside a window, a whole block.
std::vector<shape> hiding_shapes() {
  return {
      shape("behind the diagonal").heads(4, 2).dims(20, 12).lengths(18, 30).causal(),
      shape("behind the diagonal, a deep tile").dims(5).lengths(50, 50).causal(),
      shape("behind the diagonal, padded rows")
          .heads(4, 2)
          .dims(20, 12)
          .lengths(18, 30)
          .causal()
          .in(storage::padded_rows),
      shape("one row in the middle of the keys").heads(6, 2).dims(5).lengths(1, 40).causal().position(17),
      shape("many rows in the middle of the keys, of whose last sixteen they see fifteen")
          .heads(24, 1)
          .dims(5)
          .lengths(1, 130)
          .causal()
          .position(110),
      shape("outside a window").heads(2, 1).dims(9).lengths(7, 40).window(3, 2),
      shape("between kept keys and a window").dims(9).lengths(7, 40).causal().window(3, 0).keep_first(2),
      shape("between a prefix and a window, grouped")
          .heads(6, 2)
          .dims(9)
          .lengths(7, 40)
          .causal()
          .window(3, 0)
          .prefix(17),
      shape("whole blocks").dims(3, 5).lengths(3, 530).causal().position(100),
      shape("a block between kept keys and a window")
          .dims(3, 5)
          .lengths(3, 600)
          .causal()
          .window(20, 0)
          .keep_first(3),
      shape("rows that begin later").dims(3).lengths(5, 40).causal().first_key(243).window(7, 0),
      shape("everything").dims(3).lengths(3, 20).causal().position(-40),
      shape("under a bool mask of each row")
          .heads(4, 2)
          .dims(20, 35)
          .lengths(19, 40)
          .mask(mask_kind::shown)
          .lse(),
      shape("under an additive mask of each row")
          .heads(6, 2)
          .dims(5, 12)
          .lengths(14, 40)
          .mask(mask_kind::bias)
          .sinks()
          .lse(),
      shape("under one mask for all heads")
          .heads(4, 2)
          .dims(20)
          .lengths(50, 50)
          .causal()
          .mask(mask_kind::shown, false)
          .softcap(3),
      shape("under one row of mask for all")
          .heads(2, 1)
          .dims(20)
          .lengths(5, 300)
          .mask(mask_kind::bias, false, false)
          .alibi(),
      shape("one decoded row under a mask")
          .heads(6, 2)
          .dims(20, 70)
          .lengths(1, 270)
          .mask(mask_kind::shown, true, false)
          .lse(),
      shape("behind the end of a mask")
          .heads(4, 2)
          .dims(9, 20)
          .lengths(9, 60)
          .mask(mask_kind::shown)
          .mask_keys(37)
          .lse(),
      shape("by mask, window and all else")
          .heads(2, 1)
          .dims(5, 20)
          .lengths(14, 530)
          .causal()
          .window(260, 0)
          .keep_first(3)
          .mask(mask_kind::bias)
          .softcap(5)
          .alibi()
          .sinks()
          .lse(),
  };
}

// In place: a mask row of its own for every row of the call.
void fill_hidden_bias(problem& p, const fovea_attention& a, uint32_t bits) {
  const bool own_rows = a.mask.is_bias != 0 && a.mask.head_stride != 0 && a.mask.query_stride != 0;
  for (int32_t h = 0; h < a.q_heads && own_rows; ++h)
    for (int32_t i = 0; i < a.queries; ++i)
      for (int32_t j = 0; j < a.keys; ++j)
        if (!sees(a, i, j)) put_bits(p.modifiers.bias[p.modifiers.place(h, i, j)], bits);
}

// A few rows of K and V that matter: the first, around a panel, around a block, the last.
std::vector<int32_t> telling_rows(int32_t keys) {
  std::vector<int32_t> rows;
  const int32_t candidates[] = {0, 1, 15, 16, 17, 29, 255, 256, keys - 1};
  for (int32_t row : candidates)
    if (row < keys && (rows.empty() || rows.back() < row)) rows.push_back(row);
  return rows;
}

} // namespace

TEST_CASE("keys_that_nobody_sees_may_hold_anything") {
  for (const shape& s : hiding_shapes()) {
    INFO(doctest::String(s.why));
    isas::for_each([&](int32_t isa) {
      problem p(s);
      const fovea_attention a = p.call(isa);
      const std::vector<float> clean = solve(p, a);
      for (uint32_t bits : {all_patterns[0], all_patterns[1], all_patterns[2], all_patterns[3],
                            all_patterns[4], very_large}) {
        CAPTURE(bits);
        fill_hidden(p, a, bits);
        fill_hidden_bias(p, a, bits);
        CHECK(data::same_bits(solve(p, a), clean));
        CHECK(data::same_bits(solve(p, a, fovea_scratch_least(&a)), clean));
      }
    });
  }
}

TEST_CASE("a_bad_key_reaches_only_the_rows_that_see_it") {
  for (const shape& s : hiding_shapes()) {
    INFO(doctest::String(s.why));
    isas::for_each([&](int32_t isa) {
      problem good(s);
      const fovea_attention a = good.call(isa);
      const std::vector<float> clean = solve(good, a);
      for (int32_t row : telling_rows(a.keys)) {
        INFO("key ", row);
        for (uint32_t bits : nan_patterns) {
          CAPTURE(bits);
          problem p(s);
          fill_key(p, row, bits);
          for (size_t scratch : {fovea_scratch_least(&a), fovea_scratch_best(&a)}) {
            solve(p, p.call(isa), scratch);
            check_rows(p, clean, [&](int32_t h, int32_t i) { return reference::attends(a, h, i, row); });
          }
        }
      }
    });
  }
}

TEST_CASE("a_bad_value_behind_a_mask_reaches_only_the_rows_that_see_it") {
  // Values only: the weight of a hidden key is 0, and 0 times them would be NaN. Rows of one tile hide
  // different keys.
  const shape table[] = {
      shape("a deep tile").heads(2, 1).dims(9, 40).lengths(70, 70).mask(mask_kind::shown),
      shape("wide tiles").heads(2, 1).dims(3, 64).lengths(24, 64).mask(mask_kind::shown),
      shape("a causal tile").heads(2, 2).dims(9, 17).lengths(33, 290).causal().mask(mask_kind::bias),
      shape("values of 7")
          .heads(4, 2)
          .dims(9, 7)
          .lengths(13, 40)
          .mask(mask_kind::shown)
          .keep_first(3)
          .window(20, 9),
      shape("a decoded group").heads(7, 1).dims(20, 130).lengths(1, 270).mask(mask_kind::bias),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    isas::for_each([&](int32_t isa) {
      problem good(s);
      const fovea_attention a = good.call(isa);
      const std::vector<float> clean = solve(good, a);
      for (uint32_t bits : all_patterns) {
        CAPTURE(bits);
        problem p(s);
        for (int32_t row : {3, 17, 39}) fill_row(p.v, 0, row, bits);
        const auto group = a.q_heads / reference::kv_heads(a);
        const std::vector<float> got = solve(p, p.call(isa));
        int wrong = 0;
        for (int32_t h = 0; h < a.q_heads; ++h)
          for (int32_t i = 0; i < a.queries; ++i) {
            bool spoilt = false;
            for (int32_t row : {3, 17, 39}) spoilt |= h < group && reference::attends(a, h, i, row);
            for (int32_t c = 0; c < p.out.dim && spoilt; ++c) wrong += std::isfinite(p.out.at(h, i, c));
            wrong += !spoilt && !same_row(p, h, i, clean);
          }
        CHECK(wrong == 0);
      }
    });
  }
}

TEST_CASE("what_a_mask_hides_has_weight_0_in_a_row_of_nan_too") {
  const shape plain = shape("a query of NaN").dims(9).mask(mask_kind::bias).weights(0);
  const shape table[] = {plain, shape(plain).lse(),
                         shape(plain).sinks()}; // the last two end a row in another way
  for (const shape& s : table)
    for (int32_t keys : {2, 3, 17, 300, 320})
      isas::for_each([&](int32_t isa) {
        problem p(shape(s).lengths(3, keys));
        const fovea_attention a = p.call(isa);
        put_bits(p.q.at(0, 1, 0), nan_patterns[0]);
        for (int32_t j = 0; j < keys; ++j) p.modifiers.bias[p.modifiers.place(0, 1, j)] = 0;
        for (int32_t j = 0; j < keys; ++j)
          if (j % 3 != 0) p.modifiers.hide(0, 1, j);
        solve(p, a);
        int wrong = 0;
        for (int32_t j = 0; j < keys; ++j) {
          const float weight = p.modifiers.weights[static_cast<size_t>(keys + j)];
          wrong += j % 3 == 0 ? !std::isnan(weight) : !(weight == 0);
        }
        CHECK(wrong == 0);
      });
}

TEST_CASE("told_weights_of_a_row_with_one_key_of_nan_or_infinity_are_nan_on_every_isa") {
  const uint32_t infinity = 0x7f800000u;
  for (uint32_t bits : {nan_patterns[0], infinity})
    for (int32_t keys : {2, 17, 320})
      for (int32_t key :
           {int32_t{0}, keys / 2, keys - 1}) // the largest score may be that key's, or that of one behind it
        isas::for_each([&](int32_t isa) {
          INFO("bits ", bits, ", key ", key, " of ", keys);
          problem p(shape("a key of NaN").dims(9).lengths(2, keys).weights(0));
          const fovea_attention a = p.call(isa);
          put_bits(p.k.at(0, key, 0), bits);
          for (int32_t i = 0; i < 2; ++i) p.q.at(0, i, 0) = 1; // so that infinity is a score of plus infinity
          solve(p, a);
          int numbers = 0;
          for (size_t i = 0; i < p.modifiers.weights.size(); ++i)
            numbers += !std::isnan(p.modifiers.weights[i]);
          CHECK(numbers == 0);
        });
}

TEST_CASE("a_nan_that_one_row_sees_reaches_the_weights_of_that_row_alone") {
  constexpr int32_t queries = 4, keys = 33;
  const shape s = shape("a bias of NaN").dims(9).lengths(queries, keys).mask(mask_kind::bias).weights(0);
  isas::for_each([&](int32_t isa) {
    problem good(s);
    for (size_t i = 0; i < good.modifiers.bias.size(); ++i) good.modifiers.bias[i] = 0;
    solve(good, good.call(isa));
    for (int32_t row = 0; row < queries; ++row)
      for (int32_t key = 0; key < keys; ++key) { // in each lane of the sums
        problem p(s);
        for (size_t i = 0; i < p.modifiers.bias.size(); ++i) p.modifiers.bias[i] = 0;
        put_bits(p.modifiers.bias[p.modifiers.place(0, row, key)], nan_patterns[0]);
        solve(p, p.call(isa));
        int wrong = 0;
        for (int32_t n = 0; n < queries * keys; ++n) {
          const float weight = p.modifiers.weights[static_cast<size_t>(n)],
                      clean = good.modifiers.weights[static_cast<size_t>(n)];
          wrong += n / keys == row ? !std::isnan(weight) : std::memcmp(&weight, &clean, sizeof weight) != 0;
        }
        INFO("row ", row, ", key ", key);
        CHECK(wrong == 0);
      }
  });
}
