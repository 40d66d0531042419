// The entries for small firmware: what they offer has the bits of the reference, what they do not offer is
// refused by name.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"

namespace {

using entry = int32_t (*)(const fovea_fixed_attention*, void*, size_t);

int32_t unsupported(int32_t argument) { return FOVEA_UNSUPPORTED | argument << 8; }

int32_t attend_by(entry attend, const fovea_fixed_attention& a) {
  std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(64, 64));
  return attend(&a, scratch.data(), scratch.size());
}

struct refused_call {
  const char* why;
  int32_t argument;
  void (*ask)(fovea_fixed_attention& a);
};

} // namespace

TEST_CASE("int8: an entry without 16 bits gives the bits of the specification and refuses 16 bits") {
  fixed_problem x("all options");
  x.heads(4, 2).dims(20, 24).lengths(3, 70).causal().all_tables();
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32}) {
    fixed_problem y = x;
    const fovea_fixed_attention& a = y.make(type, 3);
    CHECK(attend_by(fovea_fixed_attend_s8, a) == FOVEA_OK);
    CHECK(y.out == y.expected());
  }
  const fovea_fixed_attention& wide = x.s16().make(FOVEA_FIXED_S16);
  const std::vector<unsigned char> before = x.out;
  CHECK(attend_by(fovea_fixed_attend_s8, wide) == unsupported(FOVEA_ARG_Q));
  CHECK(attend_by(fovea_fixed_attend_plain, wide) == unsupported(FOVEA_ARG_Q));
  CHECK(x.out == before);
}

TEST_CASE("int8: the plain entry refuses multipliers that are too small for their shift") {
  fixed_problem x("one query");
  x.heads(2, 1).dims(16).lengths(1, 130).make(FOVEA_FIXED_S8);
  fovea_fixed_attention a = x.packed();
  const int32_t refused = FOVEA_RANGE | FOVEA_ARG_SCALE << 8;
  a.scale.score_multiplier = 1 << 19, a.scale.score_shift = 10;
  CHECK(attend_by(fovea_fixed_attend_plain, a) == refused);
  a.scale.score_shift = 18;
  CHECK(attend_by(fovea_fixed_attend_plain, a) == refused);
  a.scale.score_shift = 20; // which 16 * 128 * 128 fits
  CHECK(attend_by(fovea_fixed_attend_plain, a) != refused);
}

TEST_CASE("int8: the plain entry gives the bits of the specification") {
  fixed_problem cases[] = {
      fixed_problem("one query").heads(2, 1).dims(64).lengths(1, 130),
      fixed_problem("causal, odd dims, zero points")
          .heads(4, 2)
          .dims(20, 24)
          .lengths(9, 70)
          .causal()
          .zeros(0, 3, -5, 7),
      fixed_problem("a window and many keys")
          .heads(1)
          .dims(16)
          .lengths(5, 300)
          .window(40, 2)
          .keep_first(3)
          .max_keys(4096),
      fixed_problem("very flat scores, some unseen")
          .heads(1)
          .dims(16)
          .lengths(3, 70)
          .causal()
          .steepness(1e-6),
      fixed_problem("a row that sees nothing").heads(1).dims(16).lengths(9, 20).causal().position(-4),
  };
  for (fixed_problem& x : cases) {
    INFO(std::string(x.why()));
    for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16}) {
      fixed_problem y = x;
      y.make(type, 5);
      CHECK(attend_by(fovea_fixed_attend_plain, y.packed()) == FOVEA_OK);
      CHECK(y.out == y.expected());
    }
  }
}

TEST_CASE("int8: the plain entry names what it does not offer, and checks what it does") {
  const refused_call refused[] = {
      {"rows", FOVEA_ARG_K, [](fovea_fixed_attention& a) { a.k.layout = a.v.layout = FOVEA_ROWS; }},
      {"float output", FOVEA_ARG_OUT, [](fovea_fixed_attention& a) { a.out.dtype = FOVEA_FIXED_F32; }},
      {"scales of heads", FOVEA_ARG_SCALE, [](fovea_fixed_attention& a) { a.head_scales = &a.scale; }},
      {"multipliers of keys", FOVEA_ARG_K,
       [](fovea_fixed_attention& a) { a.key_multipliers.data = a.k.data; }},
      {"sums of keys", FOVEA_ARG_K, [](fovea_fixed_attention& a) { a.key_sums.data = a.k.data; }},
      {"weights of values", FOVEA_ARG_V, [](fovea_fixed_attention& a) { a.value_weights.data = a.v.data; }},
      {"a mask", FOVEA_ARG_MASK, [](fovea_fixed_attention& a) { a.mask.data = a.k.data; }},
      {"a bias", FOVEA_ARG_MASK, [](fovea_fixed_attention& a) { a.bias.data = a.k.data; }},
      {"slopes", FOVEA_ARG_ALIBI, [](fovea_fixed_attention& a) { a.alibi = &a.scale.score_shift; }},
      {"sinks", FOVEA_ARG_SINKS, [](fovea_fixed_attention& a) { a.sinks = &a.scale.score_shift; }},
      {"a softcap", FOVEA_ARG_SOFTCAP, [](fovea_fixed_attention& a) { a.softcap = 1; }},
  };
  fixed_problem x("plain");
  x.heads(1).dims(16).lengths(2, 70).make(FOVEA_FIXED_S8);
  const std::vector<unsigned char> before = x.out;
  for (const refused_call& r : refused) {
    INFO(std::string(r.why));
    fovea_fixed_attention a = x.packed();
    r.ask(a);
    CHECK(attend_by(fovea_fixed_attend_plain, a) == unsupported(r.argument));
  }
  fovea_fixed_attention a = x.packed();
  CHECK(fovea_fixed_attend_plain(&a, nullptr, 0) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  a.k.token_stride = 16;
  CHECK(attend_by(fovea_fixed_attend_plain, a) == (FOVEA_STRIDE | FOVEA_ARG_K << 8));
  CHECK(fovea_fixed_attend_plain(nullptr, nullptr, 0) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(x.out == before);
}
