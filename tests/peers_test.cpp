// What other systems get wrong, one test for each: sums in half precision, NaN that leaks through masks, bits
// that change with the number of threads or the instruction set, windows that read everything.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "fence.hpp"
#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"
#include "report.hpp"

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

// How many rows that do not see row j of K and V have lost their bits, and how many that see it are no NaN.
int count_wrong(const problem& p, const std::vector<float>& clean, int32_t j) {
  const auto dim = static_cast<size_t>(p.out.dim);
  int wrong = 0;
  for (int32_t h = 0; h < p.out.heads; ++h)
    for (int32_t i = 0; i < p.out.tokens; ++i) {
      const float *got = p.out.row(h, i), *was = &clean[static_cast<size_t>(h * p.out.tokens + i) * dim];
      const bool hit = reference::attends(p.call(), h, i, j);
      wrong += hit ? !std::isnan(got[0]) : std::memcmp(got, was, dim * sizeof(float)) != 0;
    }
  return wrong;
}

// Solves a shape, spoils one row of K or V, and solves it again.
template <class Spoil>
void check_spoilt(const shape& s, int32_t j, const Spoil& spoil) {
  INFO(doctest::String(s.why));
  isas::for_each([&](int32_t isa) {
    problem good(s), p(s);
    const std::vector<float> clean = solve(good, good.call(isa));
    spoil(p);
    solve(p, p.call(isa));
    CHECK(count_wrong(p, clean, j) == 0);
  });
}

// The same row by any number of workers, in one piece or split between them.
std::vector<float> solve_split(problem& p, fovea_attention a, int32_t parts, bool split_rows) {
  a.part = {0, parts};
  data::guarded<unsigned char> partials(split_rows ? fovea_partials_size(&a) : 0);
  if (split_rows) a.partials = partials.data(), a.partials_size = partials.size();
  p.wipe_results();
  for (a.part.index = 0; a.part.index < parts; ++a.part.index)
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
  a.part.index = 0;
  if (split_rows) CHECK(fovea_merge(&a) == FOVEA_OK);
  return p.results();
}

void check_parts(const shape& s, std::initializer_list<int32_t> counts) {
  INFO(doctest::String(s.why));
  problem p(s);
  isas::for_each([&](int32_t isa) {
    const std::vector<float> alone = solve(p, p.call(isa));
    for (int32_t parts : counts)
      for (bool split_rows : {false, true})
        CHECK(data::same_bits(solve_split(p, p.call(isa), parts, split_rows), alone));
  });
}

} // namespace

TEST_CASE("flat_attention_over_many_keys_of_one_is_one") {
  for (int32_t keys : {4096, 8192, 65536}) {
    INFO("keys ", keys);
    problem p(shape("flat").dims(1, 2).lengths(1, keys).scale(0));
    for (int32_t j = 0; j < keys; ++j) data::fill_row(p.v, 0, j, 1);
    isas::for_each([&](int32_t isa) {
      const std::vector<float> got = solve(p, p.call(isa));
      for (float x : got) CHECK(x == doctest::Approx(1).epsilon(1e-6));
    });
  }
}

TEST_CASE("bits_do_not_depend_on_the_number_of_threads") {
  const shape table[] = {
      shape("prefill").heads(4, 2).dims(12).lengths(70, 70).causal().lse(),
      shape("prefill with modifiers")
          .heads(4, 2)
          .dims(12)
          .lengths(70, 70)
          .mask(mask_kind::shown)
          .softcap(5)
          .alibi()
          .sinks()
          .lse(),
  };
  for (const shape& s : table) check_parts(s, {2, 3, 4, 8, 33});
}

TEST_CASE("bits_of_decode_do_not_depend_on_parts_and_partials") {
  const shape table[] = {
      shape("decode over three spans").heads(2, 1).dims(3, 5).lengths(1, 8300).lse(),
      shape("decode with modifiers")
          .heads(2, 1)
          .dims(3, 5)
          .lengths(1, 4400)
          .mask(mask_kind::bias, false)
          .softcap(5)
          .alibi()
          .sinks()
          .lse(),
  };
  for (const shape& s : table) check_parts(s, {1, 3, 16});
}

TEST_CASE("a_nan_in_a_masked_v_row_reaches_nobody_from_64_queries_on") {
  for (int32_t queries : {63, 64, 65, 100}) {
    INFO("queries ", queries);
    for (mask_kind kind : {mask_kind::shown, mask_kind::bias}) {
      shape s = shape("one key is masked for all")
                    .heads(2, 1)
                    .dims(8, 20)
                    .lengths(queries, 70)
                    .mask(kind, false, false);
      isas::for_each([&](int32_t isa) {
        problem good(s), p(s);
        good.modifiers.hide(0, 0, 33), p.modifiers.hide(0, 0, 33);
        data::fill_row(p.v, 0, 33, no_number);
        CHECK(data::same_bits(solve(p, p.call(isa)), solve(good, good.call(isa))));
      });
    }
  }
}

TEST_CASE("a_nan_in_one_masked_k_or_v_row_reaches_only_rows_that_see_it") {
  const shape s =
      shape("a bool mask of every row").heads(4, 2).dims(8, 20).lengths(20, 40).mask(mask_kind::shown);
  for (int32_t j : {0, 15, 16, 39}) {
    INFO("key ", j);
    check_spoilt(s, j, [j](problem& p) {
      data::fill_row(p.k, 0, j, no_number), data::fill_row(p.k, 1, j, no_number);
    });
    check_spoilt(s, j, [j](problem& p) {
      data::fill_row(p.v, 0, j, no_number), data::fill_row(p.v, 1, j, no_number);
    });
  }
}

TEST_CASE("a_nan_in_the_last_v_row_of_causal_reaches_only_the_last_row") {
  for (int32_t tokens : {2, 16, 65, 130}) {
    INFO("tokens ", tokens);
    const shape s = shape("causal prefill").heads(2, 1).dims(8, 20).lengths(tokens, tokens).causal();
    check_spoilt(s, tokens - 1, [tokens](problem& p) { data::fill_row(p.v, 0, tokens - 1, no_number); });
  }
}

TEST_CASE("a_fully_masked_row_is_zeros") {
  for (mask_kind kind : {mask_kind::shown, mask_kind::bias}) {
    problem p(shape("row 2 of head 1").heads(2).dims(8, 20).lengths(5, 40).mask(kind).lse());
    for (int32_t j = 0; j < 40; ++j) p.modifiers.hide(1, 2, j);
    isas::for_each([&](int32_t isa) {
      reference::check_results(reference::attend(p.call()), solve(p, p.call(isa)));
      for (int32_t c = 0; c < 20; ++c) CHECK((p.out.at(1, 2, c) == 0 && !std::signbit(p.out.at(1, 2, c))));
      CHECK(p.modifiers.lse[1 * 5 + 2] == -std::numeric_limits<float>::infinity());
    });
  }
}

TEST_CASE("avx2_and_avx512_give_the_same_bits") {
  // Both, whichever of them --isa names.
  if (fovea_has_isa(FOVEA_AVX2) != 1 || fovea_has_isa(FOVEA_AVX512) != 1)
    return report::skip("AVX2 and AVX-512 are not both here");
  const shape table[] = {
      shape("prefill").heads(4, 2).dims(64, 48).lengths(40, 300).causal().lse(),
      shape("decode").heads(8, 2).dims(128).lengths(1, 700).lse(),
      shape("all")
          .heads(4, 2)
          .dims(33, 17)
          .lengths(30, 300)
          .mask(mask_kind::bias)
          .softcap(9)
          .alibi()
          .sinks()
          .lse()
          .weights(0),
  };
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    const std::vector<float> narrow = solve(p, p.call(FOVEA_AVX2));
    CHECK(data::same_bits(solve(p, p.call(FOVEA_AVX512)), narrow));
  }
}

#if defined(__linux__)
TEST_CASE("windowed_decode_reads_no_key_outside_the_window") {
  // 2,048 keys of 64 floats, of which only the rows of the window are accessible: the others are a hole in
  // memory.
  constexpr int32_t keys = 2048, seen = 64, dim = 64;
  problem p(shape("decode").heads(4, 1).dims(dim).lengths(1, keys).causal().window(seen - 1, 0));
  constexpr size_t hidden_bytes = sizeof(float) * dim * (keys - seen),
                   seen_bytes = sizeof(float) * dim * seen;
  hole k(hidden_bytes, seen_bytes), v(hidden_bytes, seen_bytes);
  std::memcpy(k.behind<float>(), p.k.row(0, keys - seen), seen_bytes);
  std::memcpy(v.behind<float>(), p.v.row(0, keys - seen), seen_bytes);
  isas::for_each([&](int32_t isa) {
    fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    a.k.data = k.data<float>(), a.v.data = v.data<float>();
    for (size_t scratch : {fovea_scratch_least(&a), fovea_scratch_best(&a)})
      CHECK(data::same_bits(solve(p, a, scratch), expected));
    CHECK(data::same_bits(solve_split(p, a, 3, true), expected));
  });
}
#endif
