// Features of float attention that a build may leave out. This suite is linked with such builds, too
// (tools/check/left_out): what is left has the written bits, and what is not there is refused by name.
#include <string>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#include "refusal.hpp"

namespace {

// A call that uses one option, and the argument with which it is refused.
struct option {
  shape of;
  int32_t argument;
};
std::vector<option> all_options() {
  const auto with = [](const char* why) { return shape(why).heads(2).dims(9, 11).lengths(3, 40); };
  return {
      {with("a prefix").causal().prefix(2), FOVEA_ARG_PREFIX},
      {with("kept keys").causal().window(4, 0).keep_first(2), FOVEA_ARG_KEEP_FIRST},
      {with("a softcap").softcap(3), FOVEA_ARG_SOFTCAP},
      {with("ALiBi").alibi(), FOVEA_ARG_ALIBI},
      {with("sinks").sinks(), FOVEA_ARG_SINKS},
      {with("a bool mask").mask(mask_kind::shown), FOVEA_ARG_MASK},
      {with("a bias").mask(mask_kind::bias), FOVEA_ARG_MASK},
      {with("log-sum-exp").lse(), FOVEA_ARG_LSE},
      {with("weights").weights(0), FOVEA_ARG_WEIGHTS},
      {with("chunks").causal().chunk(8, 1), FOVEA_ARG_CHUNK},
      {with("a tree").tree(3), FOVEA_ARG_PARENT},
  };
}

int32_t attend(const fovea_attention& a) {
  std::vector<unsigned char> scratch(FOVEA_SCRATCH(a.dim, a.v_dim ? a.v_dim : a.dim));
  return fovea_attend(&a, scratch.data(), scratch.size());
}

// Every option in turn: the status is OK, or says that this build does not offer the argument.
void check_options(bool offered) {
  const auto expected = [&](int32_t argument) { return offered ? 0 : FOVEA_UNSUPPORTED | argument << 8; };
  for (const option& o : all_options()) {
    INFO(doctest::String(o.of.why));
    problem p(o.of);
    const fovea_attention a = p.call();
    CHECK(attend(a) == expected(o.argument));
    CHECK(fovea_check(&a) == expected(o.argument));
  }
  problem p(shape("memory in other ways").heads(2).dims(16).lengths(3, 32));
  fovea_attention a = p.call();
  a.part = {1, 2};
  CHECK(attend(a) == expected(FOVEA_ARG_PART));
  a.part = {0, 0};
  std::vector<float> partials(fovea_partials_size(&a) / sizeof(float) + 1);
  a.partials = partials.data();
  a.partials_size = partials.size() * sizeof(float);
  CHECK((partials.size() > 1) == offered);
  CHECK(attend(a) == expected(FOVEA_ARG_PARTIALS));
  CHECK(fovea_merge(&a) == expected(FOVEA_ARG_PARTIALS));

  a = p.call();
  const packed_keys panels(p);
  const fovea_attention packed = panels.read_by(a);
  fovea_segments segments = {};
  segments.count = 1;
  segments.at[0].keys = 32;
  segments.at[0].k = packed.k.data;
  segments.at[0].v = p.v_memory.data();
  fovea_attention in_segments = packed;
  in_segments.segments = &segments;
  in_segments.k.data = in_segments.v.data = nullptr;
  in_segments.k.head_stride = in_segments.v.head_stride = in_segments.v.token_stride = 0;
  CHECK(attend(in_segments) == expected(FOVEA_ARG_SEGMENTS));

  std::vector<uint16_t> halves(2 * 32 * 16);
  for (int32_t dtype : {FOVEA_F16, FOVEA_BF16}) {
    fovea_attention stored = a;
    stored.k = {};
    stored.k.data = halves.data();
    stored.k.dtype = dtype;
    CHECK(attend(stored) == expected(FOVEA_ARG_K));
  }
  std::vector<int8_t> bytes(2 * 32 * 16);
  fovea_attention stored = a;
  stored.v = {};
  stored.v.data = bytes.data();
  stored.v.dtype = FOVEA_I8;
  CHECK(attend(stored) == expected(FOVEA_ARG_V));
}

} // namespace

TEST_CASE("left_out_keeps_the_bits_of_the_rest") {
  for (const shape& s : {
           shape("one key").heads(4).dims(16).lengths(1, 1),
           shape("no key").lengths(2, 0),
           shape("groups of heads, causal").heads(4, 2).dims(20, 24).lengths(9, 33).causal(),
           shape("a window over blocks").heads(2).dims(9, 16).lengths(2, 700).causal().window(300, 0),
           shape("rows that see nothing").heads(2).dims(3, 17).lengths(30, 10).causal().position(-15),
           shape("eight rows").heads(8, 1).dims(32).lengths(1, 300),
           shape("spans").heads(3, 1).dims(4).lengths(1, 4200),
           shape("a scale that overflows").dims(5).lengths(2, 20).scale(1e38f),
       }) {
    INFO(doctest::String(s.why));
    problem p(s);
    const std::vector<float> exact = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      const fovea_attention a = p.call(isa);
      if (isas::promises_bits(isa)) {
        CHECK(data::same_bits(solve(p, a), exact));
        CHECK(data::same_bits(solve(p, a, fovea_scratch_least(&a)), exact));
        CHECK(data::same_bits(solve(p, packed_keys(p).read_by(a)), exact));
      }
    });
  }
}

TEST_CASE("left_out_nothing_offers_each_option") { check_options(true); }

// In builds with -DFOVEA_WITHOUT=everything.
TEST_CASE("left_out_everything_is_refused" * doctest::skip()) { check_options(false); }
