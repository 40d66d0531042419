// Every bad modifier is refused with the reason and the name of the argument, and then nothing was written.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "refusal.hpp"

namespace {

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();
constexpr float too_large = std::numeric_limits<float>::infinity();
constexpr ptrdiff_t huge_stride = std::numeric_limits<ptrdiff_t>::max();

// A good call with every modifier, and all the memory that a spoiled one might wrongly write to.
struct good_call {
  problem p;
  fovea_attention a;
  data::guarded<float> partials{20000};

  explicit good_call(mask_kind mask = mask_kind::bias)
      : p(shape("a good call")
              .heads(4, 2)
              .dims(8, 6)
              .lengths(3, 20)
              .softcap(5)
              .alibi()
              .sinks()
              .mask(mask)
              .lse()
              .weights(0)),
        a(p.call()) {
    p.wipe_results();
  }
};

struct bad_modifier {
  const char* why;
  int32_t reason, argument;
  void (*spoil)(good_call&);
};

template <class T>
T* moved(T* pointer, ptrdiff_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + static_cast<uintptr_t>(bytes));
}

void check_refused(const bad_modifier& bad) {
  INFO(doctest::String(bad.why));
  good_call call;
  data::guarded<unsigned char> scratch(fovea_scratch_best(&call.a));
  REQUIRE(fovea_check(&call.a) == FOVEA_OK);
  bad.spoil(call);
  check_refusal(call.a, scratch, bad.reason, bad.argument);
  CHECK((call.p.out_memory.nothing_written() && call.p.modifiers.nothing_told()));
}

template <size_t Count>
void check_all_refused(const bad_modifier (&table)[Count]) {
  for (const bad_modifier& bad : table) check_refused(bad);
}

} // namespace

TEST_CASE("refuses_modifiers_that_are_no_numbers") {
  const bad_modifier table[] = {
      {"a softcap that is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP,
       [](good_call& c) { c.a.softcap = no_number; }},
      {"an infinite softcap", FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP,
       [](good_call& c) { c.a.softcap = too_large; }},
      {"a negative softcap", FOVEA_RANGE, FOVEA_ARG_SOFTCAP, [](good_call& c) { c.a.softcap = -1; }},
      {"a softcap whose product overflows", FOVEA_RANGE, FOVEA_ARG_SOFTCAP,
       [](good_call& c) { c.a.softcap = 3e38f; }},
      {"a softcap whose inverse overflows", FOVEA_RANGE, FOVEA_ARG_SOFTCAP,
       [](good_call& c) { c.a.softcap = 1e-39f; }},
      {"the first slope is no number", FOVEA_NOT_FINITE, FOVEA_ARG_ALIBI,
       [](good_call& c) { c.p.modifiers.alibi[0] = no_number; }},
      {"the last slope is infinite", FOVEA_NOT_FINITE, FOVEA_ARG_ALIBI,
       [](good_call& c) { c.p.modifiers.alibi[3] = -too_large; }},
      {"the first sink is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SINKS,
       [](good_call& c) { c.p.modifiers.sinks[0] = no_number; }},
      {"the last sink is infinite", FOVEA_NOT_FINITE, FOVEA_ARG_SINKS,
       [](good_call& c) { c.p.modifiers.sinks[3] = too_large; }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_modifiers_out_of_range") {
  const bad_modifier table[] = {
      {"a mask of neither kind", FOVEA_RANGE, FOVEA_ARG_MASK, [](good_call& c) { c.a.mask.is_bias = 2; }},
      {"a mask of a negative kind", FOVEA_RANGE, FOVEA_ARG_MASK, [](good_call& c) { c.a.mask.is_bias = -1; }},
      {"a mask of negative length", FOVEA_RANGE, FOVEA_ARG_MASK, [](good_call& c) { c.a.mask.keys = -1; }},
      {"mask rows backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](good_call& c) { c.a.mask.query_stride = -20; }},
      {"mask heads backwards", FOVEA_STRIDE, FOVEA_ARG_MASK,
       [](good_call& c) { c.a.mask.head_stride = -20; }},
      {"mask rows beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_MASK,
       [](good_call& c) { c.a.mask.query_stride = huge_stride; }},
      {"mask heads beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_MASK,
       [](good_call& c) { c.a.mask.head_stride = huge_stride / 4; }},
      {"a stage that does not exist", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.stage = 4; }},
      {"a negative stage", FOVEA_RANGE, FOVEA_ARG_WEIGHTS, [](good_call& c) { c.a.weights.stage = -1; }},
      {"weights of a head before the first", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_head = -1; }},
      {"weights of a head behind the last", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_head = 5; }},
      {"weights of a negative count of heads", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.heads = -1; }},
      {"weights of more heads than follow", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_head = 2, c.a.weights.heads = 3; }},
      {"weights of a query before the first", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_query = -1; }},
      {"weights of a query behind the last", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_query = INT32_MAX; }},
      {"weights of a negative count of queries", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.queries = INT32_MIN; }},
      {"weights of more queries than follow", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_query = 2, c.a.weights.queries = INT32_MAX; }},
      {"weights of one query more than follows", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.first_query = 2, c.a.weights.queries = 2; }},
      {"weights of one query more than there is", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.queries = 4; }},
      {"weights of one head more than there is", FOVEA_RANGE, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.heads = 5; }},
      {"a reserved word of the weights", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](good_call& c) { c.a.weights.reserved = 1; }},
      {"weights of rows that are split", FOVEA_UNSUPPORTED, FOVEA_ARG_WEIGHTS,
       [](good_call& c) {
         c.a.partials = c.partials.data(), c.a.partials_size = c.partials.size() * sizeof(float);
       }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_misaligned_modifiers") {
  const bad_modifier table[] = {
      {"slopes", FOVEA_ALIGN, FOVEA_ARG_ALIBI, [](good_call& c) { c.a.alibi = moved(c.a.alibi, 1); }},
      {"sinks", FOVEA_ALIGN, FOVEA_ARG_SINKS, [](good_call& c) { c.a.sinks = moved(c.a.sinks, 2); }},
      {"an additive mask", FOVEA_ALIGN, FOVEA_ARG_MASK,
       [](good_call& c) { c.a.mask.data = moved(c.a.mask.data, 3); }},
      {"the log-sum-exp", FOVEA_ALIGN, FOVEA_ARG_LSE, [](good_call& c) { c.a.lse = moved(c.a.lse, 1); }},
      {"weights", FOVEA_ALIGN, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.data = moved(c.a.weights.data, 2); }},
  };
  check_all_refused(table);
}

TEST_CASE("refuses_modifiers_that_share_memory_with_an_output") {
  const bad_modifier table[] = {
      {"out is the slopes", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.data = c.p.modifiers.alibi.data(); }},
      {"out begins on the last sink", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.data = c.p.modifiers.sinks.data() + 3; }},
      {"out ends in the mask", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](good_call& c) { c.a.out.data = c.p.modifiers.bias.data() - c.p.out_memory.size() + 1; }},
      {"log-sum-exp in q", FOVEA_OVERLAP, FOVEA_ARG_LSE, [](good_call& c) { c.a.lse = c.p.q.data + 1; }},
      {"log-sum-exp in the mask", FOVEA_OVERLAP, FOVEA_ARG_LSE,
       [](good_call& c) { c.a.lse = c.p.modifiers.bias.data() + 7; }},
      {"log-sum-exp in the sinks", FOVEA_OVERLAP, FOVEA_ARG_LSE,
       [](good_call& c) { c.a.lse = c.p.modifiers.sinks.data() + 1; }},
      {"log-sum-exp in out", FOVEA_OVERLAP, FOVEA_ARG_LSE, [](good_call& c) { c.a.lse = c.p.out.data + 71; }},
      {"weights in v", FOVEA_OVERLAP, FOVEA_ARG_WEIGHTS, [](good_call& c) { c.a.weights.data = c.p.v.data; }},
      {"weights end in k", FOVEA_OVERLAP, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.data = c.p.k.data - (c.p.modifiers.weights.size() - 1); }},
      {"weights in the log-sum-exp", FOVEA_OVERLAP, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.data = c.a.lse + 11; }},
      {"weights in out", FOVEA_OVERLAP, FOVEA_ARG_WEIGHTS,
       [](good_call& c) { c.a.weights.data = c.p.out.data; }},
      {"partials in the log-sum-exp", FOVEA_OVERLAP, FOVEA_ARG_PARTIALS,
       [](good_call& c) { c.a.weights.data = nullptr, c.a.partials = c.a.lse, c.a.partials_size = 80000; }},
  };
  check_all_refused(table);
}

TEST_CASE("scratch_that_holds_modifiers_is_refused") {
  good_call call;
  const size_t least = fovea_scratch_least(&call.a), floats = least / sizeof(float) + 1;
  data::guarded<float> scratch(floats + 1000);
  for (int which = 0; which < 5; ++which) {
    fovea_attention a = call.a;
    float* inside = scratch.data() + floats - 1;
    for (int n = 0; n < 4; ++n) inside[n] = 0;
    if (which == 0) a.alibi = inside;
    if (which == 1) a.sinks = inside;
    if (which == 2) a.mask.data = inside;
    if (which == 3) a.lse = inside;
    if (which == 4) a.weights.data = inside;
    CHECK(fovea_attend(&a, scratch.data(), floats * sizeof(float)) ==
          (FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8));
    if (which == 4) a.weights.data = inside + 1; // right behind: no overlap
    if (which == 4) CHECK(fovea_attend(&a, scratch.data(), floats * sizeof(float)) == FOVEA_OK);
  }
}

TEST_CASE("modifiers_that_say_nothing_are_accepted") {
  good_call call(mask_kind::shown);
  call.a.mask.data = moved(call.a.mask.data, 1), call.a.mask.keys = 19; // bytes stand anywhere
  call.p.modifiers.sinks[1] = -too_large;                               // no sink
  CHECK(fovea_check(&call.a) == FOVEA_OK);
  call.a.softcap = -0.0f;
  call.a.mask.head_stride = call.a.mask.query_stride = 0;
  CHECK(fovea_check(&call.a) == FOVEA_OK);
  call.a.weights.first_head = 4, call.a.weights.first_query = 3; // no row at all
  CHECK(fovea_check(&call.a) == FOVEA_OK);
  fovea_attention off = call.a; // without data the rest is not looked at
  off.mask.data = nullptr, off.mask.keys = -5, off.mask.is_bias = 7, off.mask.head_stride = -1;
  off.weights.data = nullptr, off.weights.stage = 9;
  CHECK(fovea_check(&off) == FOVEA_OK);
}

TEST_CASE("a_modifier_of_no_effect_changes_no_bit") {
  problem plain(shape("plain").heads(4, 2).dims(20, 12).lengths(9, 270).causal());
  problem idle(shape("idle")
                   .heads(4, 2)
                   .dims(20, 12)
                   .lengths(9, 270)
                   .causal()
                   .alibi()
                   .sinks()
                   .mask(mask_kind::shown)
                   .lse()
                   .weights(0));
  for (size_t h = 0; h < 4; ++h) idle.modifiers.alibi[h] = 0, idle.modifiers.sinks[h] = -too_large;
  for (size_t n = 0; n < idle.modifiers.shown.size(); ++n) idle.modifiers.shown[n] = 1;
  const std::vector<float> expected = solve(plain, plain.call());
  std::vector<float> got = solve(idle, idle.call());
  got.resize(expected.size());
  CHECK(data::same_bits(got, expected));
}

TEST_CASE("large_modifiers_give_numbers_or_are_refused") {
  // A product with log2(e) may overflow: what is accepted must not become NaN.
  const shape base = shape("one head").dims(3).lengths(3, 20).causal().alibi().sinks().lse();
  for (float size : {1e30f, 2e38f, 3e38f, -1e30f, -2e38f, -3e38f})
    for (bool is_sink : {false, true}) {
      INFO("size ", size, " sink ", is_sink);
      problem p(base);
      p.modifiers.alibi[0] = is_sink ? 0 : std::fabs(size), p.modifiers.sinks[0] = is_sink ? size : 0;
      const fovea_attention a = p.call();
      if (fovea_check(&a) != FOVEA_OK) continue;
      const std::vector<float> got = solve(p, a);
      int nans = 0;
      for (float x : got) nans += x != x;
      CHECK(nans == 0);
    }
}
