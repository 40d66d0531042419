// What pays on some cores and not on others is chosen at run time, and changes no bit: every profile is
// tested on every machine.
#include <doctest/doctest.h>

#include <initializer_list>

#include "isas.hpp"
#include "lib/f32/workspace.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#include "stored_problem.hpp"

namespace {

const fovea::f32::core_profile profiles[] = {fovea::f32::zen5_profile, fovea::f32::zen4_profile,
                                             fovea::f32::amd_profile, fovea::f32::other_profile};

// The results of a call as a core of this profile computes them, in its own best scratch or in the least,
// which each part finds as it was.
std::vector<float> solve_as(const fovea::f32::core_profile& core, problem& p, const fovea_attention& a,
                            bool least, int32_t parts = 1) {
  fovea::f32::plan plan;
  REQUIRE(fovea::f32::make_plan(&a, plan, nullptr) == FOVEA_OK);
  plan.core = core;
  data::guarded<unsigned char> scratch(least ? fovea::f32::least_scratch(plan)
                                             : fovea::f32::best_scratch(plan));
  p.wipe_results();
  plan.parts = parts;
  for (plan.part = 0; plan.part < parts; ++plan.part) {
    scratch.wipe();
    CHECK(fovea::f32::attend(plan, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(scratch.guards_hold());
  }
  CHECK(p.only_results_written());
  return p.results();
}

void check_profiles(const shape& s, std::initializer_list<int32_t> all_parts) {
  INFO(doctest::String(s.why));
  problem p(s);
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    if (isas::promises_bits(isa) && isas::keeps_denormals(isa))
      CHECK(data::same_bits(expected, numerics::attend(a)));
    for (const fovea::f32::core_profile& core : profiles)
      for (const int32_t parts : all_parts)
        for (const bool least : {false, true})
          CHECK(data::same_bits(solve_as(core, p, a, least, parts), expected));
  });
}

} // namespace

TEST_CASE("every_profile_gives_the_same_bits") {
  const shape table[] = {
      shape("heads of few rows, in one tile or not").heads(20).dims(16).lengths(5, 40),
      shape("many heads of 32 rows, which only one profile batches").heads(6, 6).dims(20).lengths(32, 33),
      shape("four rows a KV head: tiles that prefetch blocks or rows").heads(8, 2).dims(64).lengths(1, 600),
      shape("three rows a KV head, odd dims").heads(9, 3).dims(36, 20).lengths(1, 300),
      shape("two queries of two heads, causal").heads(4, 2).dims(48).lengths(2, 270).causal(),
      shape("prefill").heads(2).dims(32).lengths(61, 80).causal(),
  };
  for (const shape& s : table) check_profiles(s, {1});
}

TEST_CASE("parts_of_one_or_two_rows_give_the_same_bits_with_every_profile") {
  const shape table[] = {
      shape("four rows a KV head, units of one row").heads(8, 2).dims(16, 20).lengths(1, 2100),
      shape("four rows a KV head, units of two rows").heads(4, 1).dims(32).lengths(1, 1100).lse(),
      shape("three rows a KV head, causal").heads(2).dims(12, 16).lengths(3, 1200).causal(),
  };
  for (const shape& s : table) check_profiles(s, {2, 3, 5, 8});
}

TEST_CASE("every_profile_gives_the_same_bits_of_stored_keys_and_values") {
  constexpr int32_t f32 = FOVEA_F32, f16 = FOVEA_F16, bf16 = FOVEA_BF16, i8 = FOVEA_I8, panels = FOVEA_PANELS;
  const stored::types types[] = {
      {"panels of float16", f32, f16, f16, f32, panels},
      {"panels of bfloat16, queries and results, too", bf16, bf16, bf16, bf16, panels},
      {"rows of float16", f32, f16, f16, f32},
      {"float keys, float16 values", f32, f32, f16, f32},
      {"panels of bytes with scales", f32, i8, i8, f32, panels, panels, true},
      {"panels of float16, panels of bytes", f32, f16, i8, f32, panels, panels},
  };
  const shape table[] = {
      shape("decode of several heads and blocks").heads(5).dims(64).lengths(1, 600),
      shape("odd dims").heads(3).dims(37, 21).lengths(1, 300),
      shape("128 columns: one pass over values with AVX-512, else two")
          .heads(3)
          .dims(24, 128)
          .lengths(1, 350),
      shape("two rows, a window that begins within a panel")
          .heads(4, 2)
          .dims(64)
          .lengths(1, 520)
          .window(300, 0),
      shape("four rows a KV head").heads(8, 2).dims(64).lengths(1, 300),
      shape("spans").heads(2).dims(16).lengths(1, 4500),
      shape("streams over more blocks than scratch has rows of scores")
          .heads(2)
          .dims(16, 64)
          .lengths(1, 4700),
      shape("streams: kept keys, and a window that begins within a panel")
          .heads(3)
          .dims(48, 64)
          .lengths(1, 900)
          .window(500, 0)
          .keep_first(20),
      shape("streams: all that modifies scores, sinks, log-sum-exp, weights")
          .heads(3)
          .dims(32, 64)
          .lengths(1, 600)
          .softcap(5)
          .alibi()
          .sinks()
          .lse()
          .weights(0),
      shape("streams: 192 columns, 128 of them at once with AVX-512").heads(3).dims(16, 192).lengths(1, 530),
      shape("streams: references that are subtracted").heads(3).dims(32, 128).lengths(1, 520).scores(1e7f),
      shape("streams: more heads than a batch holds, whose ends fill several registers")
          .heads(37)
          .dims(8, 64)
          .lengths(1, 530)
          .sinks()
          .lse(),
      shape("streams: sixteen heads, as many as scratch has rows").heads(16).dims(8, 64).lengths(1, 530),
      shape("streams of bytes: 80 columns, a mask")
          .heads(3)
          .dims(16, 80)
          .lengths(1, 600)
          .mask(mask_kind::shown)
          .lse(),
      shape("streams of bytes: a bias, and a window that begins within four keys")
          .heads(2)
          .dims(20, 64)
          .lengths(1, 700)
          .window(333, 0)
          .mask(mask_kind::bias),
      shape("streams of bytes: 208 columns, units that make no pair").heads(5).dims(8, 208).lengths(1, 300),
      shape("streams: spans and blocks between kept keys and a window that no row sees")
          .heads(3)
          .dims(8, 64)
          .lengths(1, 8800)
          .window(270, 0)
          .keep_first(300)
          .lse(),
  };
  for (const stored::types& t : types)
    for (const shape& s : table) {
      INFO(doctest::String(t.why), ": ", doctest::String(s.why));
      stored::stored_problem x(s, t);
      isas::for_each([&](int32_t isa) {
        const std::vector<float> expected = x.rounded(solve(x.p, x.p.call(isa)));
        const fovea_attention a = x.call(isa);
        for (const fovea::f32::core_profile& core : profiles)
          for (const bool least : {false, true}) {
            fovea::f32::plan plan;
            REQUIRE(fovea::f32::make_any_plan(&a, plan) == FOVEA_OK);
            plan.core = core;
            plan.stored.as = fovea::f32::stored_forms_of(plan);
            data::guarded<unsigned char> scratch(least ? fovea::f32::least_scratch(plan)
                                                       : fovea::f32::best_scratch(plan));
            x.wipe_results();
            CHECK(fovea::f32::attend(plan, scratch.data(), scratch.size()) == FOVEA_OK);
            CHECK((scratch.guards_hold() && x.guards_hold()));
            CHECK(data::same_numbers(x.results(), expected));
          }
      });
    }
}
