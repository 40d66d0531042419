// Features of integer attention that a build may leave out. This suite is linked with such builds, too
// (tools/check/left_out): what is left has the bits of the specification, and what is not there is refused by
// name.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"

namespace {

// A call that uses one option, and the argument with which it is refused.
struct option {
  fixed_problem of;
  int32_t argument;
};
std::vector<option> all_options() {
  const auto with = [](const char* why) { return fixed_problem(why).heads(2).dims(9, 11).lengths(3, 40); };
  return {
      {with("a prefix").causal().prefix(2), FOVEA_ARG_PREFIX},
      {with("kept keys").causal().window(4, 0).keep_first(2), FOVEA_ARG_KEEP_FIRST},
      {with("ALiBi").alibi(), FOVEA_ARG_ALIBI},
      {with("sinks").sinks(), FOVEA_ARG_SINKS},
      {with("a mask").masked(), FOVEA_ARG_MASK},
      {with("a bias").biased(), FOVEA_ARG_MASK},
      {with("chunks").causal().chunk(8, 1), FOVEA_ARG_CHUNK},
      {with("a tree").tree(3), FOVEA_ARG_PARENT},
  };
}

int32_t attend(const fovea_fixed_attention& a) {
  std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(64, 64));
  return fovea_fixed_attend(&a, scratch.data(), scratch.size());
}
int32_t attend_s8(const fovea_fixed_attention& a) {
  std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(64, 64));
  return fovea_fixed_attend_s8(&a, scratch.data(), scratch.size());
}
int32_t attend_plain(const fovea_fixed_attention& a) {
  std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH(64, 64));
  return fovea_fixed_attend_plain(&a, scratch.data(), scratch.size());
}

// Every option in turn: the status is OK, or says that this build does not offer the argument.
void check_options(bool offered) {
  const auto unsupported = [](int32_t argument) { return FOVEA_UNSUPPORTED | argument << 8; };
  const auto expected = [&](int32_t argument) { return offered ? 0 : unsupported(argument); };
  for (const option& o : all_options()) {
    INFO(std::string(o.of.why()));
    for (const bool s16 : {false, true}) {
      fixed_problem x = o.of;
      if (s16) x.s16();
      const fovea_fixed_attention a = x.make(s16 ? FOVEA_FIXED_S16 : FOVEA_FIXED_S8);
      const std::vector<unsigned char> before = x.out;
      CHECK(attend(a) == expected(o.argument));
      CHECK(fovea_fixed_check(&a) == expected(o.argument));
      if (!offered) CHECK(x.out == before);
      if (s16) continue;
      CHECK(attend_s8(a) == expected(o.argument));
      const fovea_fixed_attention packed = x.packed();
      if (!offered) CHECK(attend_plain(packed) == unsupported(o.argument));
    }
  }

  fixed_problem x("parts and segments");
  x.heads(2).dims(16).lengths(3, 64).make(FOVEA_FIXED_S8);
  const fovea_fixed_attention a = x.packed();
  fovea_fixed_attention part = a;
  part.part = {1, 2};
  for (const auto call : {attend, attend_s8, attend_plain}) CHECK(call(part) == expected(FOVEA_ARG_PART));
  fovea_segments segments = {};
  segments.count = 1;
  segments.at[0].keys = 64;
  segments.at[0].k = a.k.data;
  segments.at[0].v = a.v.data;
  fovea_fixed_attention in_segments = a;
  in_segments.segments = &segments;
  in_segments.k.data = in_segments.v.data = nullptr;
  CHECK(attend(in_segments) == expected(FOVEA_ARG_SEGMENTS));
  CHECK(attend_s8(in_segments) == expected(FOVEA_ARG_SEGMENTS));
  CHECK(attend_plain(in_segments) == unsupported(FOVEA_ARG_SEGMENTS));
}

} // namespace

TEST_CASE("left_out_keeps_the_integers_of_the_rest") {
  for (const fixed_problem& given : {
           fixed_problem("one key").heads(4).dims(16).lengths(1, 1),
           fixed_problem("no key").dims(16).lengths(2, 0),
           fixed_problem("groups of heads, causal").heads(4, 2).dims(20, 24).lengths(9, 33).causal(),
           fixed_problem("a window over blocks").heads(2).dims(9, 16).lengths(2, 400).causal().window(200, 0),
           fixed_problem("rows that see nothing").heads(2).dims(3, 17).lengths(30, 10).causal().position(-15),
           fixed_problem("sums that spill").heads(2).dims(16).lengths(3, 130).max_keys(4096),
           fixed_problem("zero points").heads(2, 1).dims(20, 24).lengths(3, 70).zeros(0, 3, -5, 7),
           fixed_problem("scales of heads and keys")
               .heads(2)
               .dims(20)
               .lengths(3, 70)
               .scale_per_head()
               .scale_per_key(),
       }) {
    INFO(std::string(given.why()));
    for (const int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32})
      for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
        if (!fovea_fixed_has_isa(isa)) continue;
        fixed_problem x = given;
        fovea_fixed_attention rows = x.make(type);
        rows.isa = isa;
        const std::vector<unsigned char> exact = x.expected();
        CHECK(attend(rows) == FOVEA_OK);
        CHECK(x.out == exact);
        fovea_fixed_attention packed = x.packed();
        packed.isa = isa;
        x.out.assign(x.out.size(), 0x55);
        CHECK(attend_s8(packed) == FOVEA_OK);
        CHECK(x.out == exact);
      }
  }
}

TEST_CASE("left_out_nothing_offers_each_integer_option") { check_options(true); }

// In builds with -DFOVEA_WITHOUT=everything.
TEST_CASE("left_out_everything_is_refused_of_integers" * doctest::skip()) { check_options(false); }
