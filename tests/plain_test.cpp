// The float call for small firmware: what it offers has the bits of fovea_attend, what it does not offer is
// refused by name.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "isas.hpp"
#include "problem.hpp"

namespace {

std::vector<float> solve_plain(problem& p, const fovea_attention& a, size_t scratch_size) {
  p.wipe_results();
  data::guarded<unsigned char> scratch(scratch_size, 4);
  const int32_t status = fovea_attend_plain(&a, scratch.data(), scratch.size());
  CHECK_MESSAGE(status == FOVEA_OK, status_text(status));
  CHECK((scratch.guards_hold() && p.only_results_written()));
  return p.results();
}

size_t plain_scratch(const fovea_attention& a) {
  return FOVEA_SCRATCH_PLAIN(a.dim, a.v_dim == 0 ? a.dim : a.v_dim);
}

// On plain floats with the least scratch, and on the best ISA with little scratch and with much.
void check_plain(problem& p) {
  for (int32_t isa : {FOVEA_SCALAR, FOVEA_SCALAR_NO_FMA}) {
    if (!isas::tested(isa)) continue;
    INFO("isa ", doctest::String(fovea_isa_name(isa)));
    const fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    CHECK(data::same_bits(solve_plain(p, a, plain_scratch(a)), expected));
    const packed_keys panels(p);
    if (a.first_key % 16 == 0)
      CHECK(data::same_bits(solve_plain(p, panels.read_by(a), plain_scratch(a)), expected));
    fovea_attention any = a;
    any.isa = FOVEA_ISA_BEST;
    if (isa == FOVEA_SCALAR) CHECK(data::same_bits(solve_plain(p, any, plain_scratch(a)), expected));
  }
  if (isas::only() != FOVEA_ISA_BEST) return;
  const fovea_attention best = p.call();
  const std::vector<float> expected = solve(p, best);
  CHECK(data::same_bits(solve_plain(p, best, fovea_scratch_best(&best)), expected));
}

int32_t unsupported(int32_t argument) { return FOVEA_UNSUPPORTED | argument << 8; }

} // namespace

TEST_CASE("a_plain_call_has_the_bits_of_any_call") {
  for (const shape& s : {
           shape("one key").heads(4).dims(16).lengths(1, 1),
           shape("one number").dims(1).lengths(3, 3),
           shape("a group of heads").heads(6, 2).dims(20, 24).lengths(2, 33),
           shape("causal from rows in any order")
               .heads(2)
               .dims(9, 7)
               .lengths(20, 37)
               .causal()
               .in(storage::tokens_first),
           shape("queries, keys and values side by side")
               .heads(2)
               .dims(8)
               .lengths(12, 12)
               .causal()
               .in(storage::packed_qkv),
           shape("rows with gaps").heads(3, 1).dims(16, 33).lengths(3, 50).in(storage::padded_rows),
           shape("a window").heads(2).dims(5).lengths(40, 300).causal().window(30, 0),
           shape("a window on both sides").dims(5).lengths(30, 30).window(4, 7),
           shape("rows that see nothing").heads(2).dims(3, 17).lengths(30, 10).causal().position(-15),
           shape("a cache behind others")
               .heads(4, 2)
               .dims(16)
               .lengths(2, 100)
               .first_key(48)
               .causal()
               .position(147),
           shape("a block and a key").dims(3).lengths(2, 257).causal(),
           shape("blocks").dims(3, 18).lengths(1, 1100),
           shape("spans").dims(2, 19).lengths(1, 9000).position(8999),
           shape("a window over the end of a span").dims(2).lengths(3, 4200).causal().window(200, 0),
           shape("a window behind the first span").dims(2).lengths(1, 9000).causal().window(300, 0),
           shape("large scores").dims(4).lengths(3, 700).scores(2000),
           shape("huge scores").dims(4).lengths(3, 700).scores(1e8f),
           shape("a scale that overflows").dims(4).lengths(2, 20).scores(1e38f).scale(30),
           shape("a negative scale").dims(4).lengths(2, 20).scale(-0.7f),
           shape("no query").dims(4).lengths(0, 20),
           shape("no key").dims(4).lengths(2, 0),
       }) {
    INFO(doctest::String(s.why));
    problem p(s);
    check_plain(p);
  }
}

TEST_CASE("a_plain_call_takes_every_dim") {
  for (int32_t dim = 1; dim <= 34; ++dim) {
    INFO("dim ", dim);
    problem p(shape("dims").heads(2, 1).dims(dim, 35 - dim).lengths(2, 21));
    check_plain(p);
  }
}

TEST_CASE("a_plain_call_takes_every_number_of_keys") {
  for (int32_t keys = 1; keys <= 40; ++keys) {
    INFO("keys ", keys);
    problem p(shape("keys").dims(8).lengths(keys < 3 ? keys : 3, keys).causal());
    check_plain(p);
  }
}

TEST_CASE("what_a_plain_call_does_not_see_may_be_NaN") {
  problem p(shape("hidden keys").heads(2).dims(8).lengths(2, 40).causal().window(9, 0));
  const int32_t isa = isas::tested(FOVEA_SCALAR) ? FOVEA_SCALAR : FOVEA_SCALAR_NO_FMA;
  if (!isas::tested(isa)) return;
  const fovea_attention a = p.call(isa);
  const std::vector<float> expected = solve(p, a);
  for (int32_t h = 0; h < 2; ++h)
    for (int32_t j = 0; j < 40 - 11; ++j)
      for (int32_t c = 0; c < 8; ++c)
        p.k.at(h, j, c) = p.v.at(h, j, c) = std::numeric_limits<float>::quiet_NaN();
  CHECK(data::same_bits(solve_plain(p, a, plain_scratch(a)), expected));
  const packed_keys panels(p);
  CHECK(data::same_bits(solve_plain(p, panels.read_by(a), plain_scratch(a)), expected));
}

TEST_CASE("a_plain_call_refuses_what_it_does_not_offer") {
  struct refused {
    const char* why;
    int32_t argument;
    void (*ask)(fovea_attention& a);
  };
  static float numbers[64];
  static const fovea_segments segments = {};
  static const int16_t parents[2] = {-1, 0};
  static fovea_pattern tree = {parents, 0, 0, {}}, chunks = {nullptr, 4, 0, {}};
  const refused table[] = {
      {"prefix", FOVEA_ARG_PREFIX, [](fovea_attention& a) { a.prefix = 1; }},
      {"kept keys", FOVEA_ARG_KEEP_FIRST, [](fovea_attention& a) { a.keep_first = 1; }},
      {"softcap", FOVEA_ARG_SOFTCAP, [](fovea_attention& a) { a.softcap = 1; }},
      {"slopes", FOVEA_ARG_ALIBI, [](fovea_attention& a) { a.alibi = numbers; }},
      {"sinks", FOVEA_ARG_SINKS, [](fovea_attention& a) { a.sinks = numbers; }},
      {"mask", FOVEA_ARG_MASK, [](fovea_attention& a) { a.mask.data = numbers; }},
      {"log-sum-exp", FOVEA_ARG_LSE, [](fovea_attention& a) { a.lse = numbers; }},
      {"weights", FOVEA_ARG_WEIGHTS, [](fovea_attention& a) { a.weights.data = numbers; }},
      {"part", FOVEA_ARG_PART, [](fovea_attention& a) { a.part = {0, 2}; }},
      {"partials", FOVEA_ARG_PARTIALS, [](fovea_attention& a) { a.partials = numbers; }},
      {"segments", FOVEA_ARG_SEGMENTS, [](fovea_attention& a) { a.segments = &segments; }},
      {"tree", FOVEA_ARG_PARENT, [](fovea_attention& a) { a.pattern = &tree; }},
      {"chunks", FOVEA_ARG_CHUNK, [](fovea_attention& a) { a.pattern = &chunks; }},
      {"halves", FOVEA_ARG_K, [](fovea_attention& a) { a.k.dtype = FOVEA_F16; }},
      {"halves of the output", FOVEA_ARG_OUT, [](fovea_attention& a) { a.out.dtype = FOVEA_F16; }},
  };
  for (int32_t isa : {int32_t{FOVEA_ISA_BEST}, isas::only()})
    for (const refused& r : table) {
      INFO(doctest::String(r.why));
      problem p(shape("two queries").heads(2).dims(8).lengths(2, 9));
      fovea_attention a = p.call(isa);
      r.ask(a);
      data::guarded<unsigned char> scratch(FOVEA_SCRATCH(8, 8));
      const int32_t status = fovea_attend_plain(&a, scratch.data(), scratch.size());
      CHECK_MESSAGE(status == unsupported(r.argument), status_text(status));
      CHECK((scratch.nothing_written() && p.out_memory.nothing_written()));
    }
}

TEST_CASE("a_plain_call_refuses_wrong_memory") {
  problem p(shape("two queries").heads(2).dims(8).lengths(2, 9));
  const int32_t isa = isas::tested(FOVEA_SCALAR) ? FOVEA_SCALAR : FOVEA_SCALAR_NO_FMA;
  if (!isas::tested(isa)) return;
  const fovea_attention a = p.call(isa);
  data::guarded<unsigned char> scratch(plain_scratch(a) + 8);
  const auto status_of = [&](const fovea_attention* call, void* memory, size_t size) {
    const int32_t status = fovea_attend_plain(call, memory, size);
    CHECK((scratch.nothing_written() && p.out_memory.nothing_written()));
    return status;
  };
  CHECK(status_of(nullptr, scratch.data(), scratch.size()) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  CHECK(status_of(&a, nullptr, scratch.size()) == (FOVEA_NULL | FOVEA_ARG_SCRATCH << 8));
  CHECK(status_of(&a, scratch.data(), plain_scratch(a) - 1) == (FOVEA_TOO_SMALL | FOVEA_ARG_SCRATCH << 8));
  CHECK(status_of(&a, p.q.data, plain_scratch(a)) == (FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8));
  CHECK(status_of(&a, p.out.data, plain_scratch(a)) == (FOVEA_OVERLAP | FOVEA_ARG_SCRATCH << 8));
  CHECK(status_of(&a, scratch.data(), SIZE_MAX) == (FOVEA_OVERFLOW | FOVEA_ARG_SCRATCH << 8));
  fovea_attention wrong = a;
  wrong.out.data = p.v.data;
  CHECK(status_of(&wrong, scratch.data(), scratch.size()) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  wrong = a;
  wrong.dim = 0;
  CHECK(status_of(&wrong, scratch.data(), scratch.size()) == (FOVEA_SIZE | FOVEA_ARG_DIM << 8));
}

TEST_CASE("scratch_of_a_plain_call_may_begin_at_any_byte") {
  problem p(shape("a head").dims(8).lengths(1, 20));
  const int32_t isa = isas::tested(FOVEA_SCALAR) ? FOVEA_SCALAR : FOVEA_SCALAR_NO_FMA;
  if (!isas::tested(isa)) return;
  const fovea_attention a = p.call(isa);
  const std::vector<float> expected = solve(p, a);
  for (size_t offset = 0; offset < 8; ++offset) {
    data::guarded<unsigned char> scratch(plain_scratch(a), offset);
    p.wipe_results();
    CHECK(fovea_attend_plain(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    CHECK(scratch.guards_hold());
    CHECK(data::same_bits(p.results(), expected));
  }
}
