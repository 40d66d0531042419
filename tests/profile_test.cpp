// What pays on some cores and not on others is chosen at run time, and changes no bit: every profile is
// tested on every machine.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "lib/f32/workspace.hpp"
#include "numerics.hpp"
#include "problem.hpp"

namespace {

// The results of a call as a core of this profile computes them, in its own best scratch or in the least.
std::vector<float> solve_as(const fovea::f32::core_profile& core, problem& p, const fovea_attention& a,
                            bool least) {
  fovea::f32::plan plan;
  REQUIRE(fovea::f32::make_plan(&a, plan, nullptr) == FOVEA_OK);
  plan.core = core;
  data::guarded<unsigned char> scratch(least ? fovea::f32::least_scratch(plan)
                                             : fovea::f32::best_scratch(plan));
  p.wipe_results();
  CHECK(fovea::f32::attend(plan, scratch.data(), scratch.size()) == FOVEA_OK);
  CHECK((scratch.guards_hold() && p.only_results_written()));
  return p.results();
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
  for (const shape& s : table) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      const std::vector<float> expected = solve(p, a);
      if (isas::promises_bits(isa) && isas::keeps_denormals(isa))
        CHECK(data::same_bits(expected, numerics::attend(a)));
      for (const fovea::f32::core_profile& core : {fovea::f32::amd_profile, fovea::f32::other_profile})
        for (const bool least : {false, true}) CHECK(data::same_bits(solve_as(core, p, a, least), expected));
    });
  }
}
