// Integer attention gives the bits of its written specification: on every ISA, from rows and panels, in any
// scratch, in any parts.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "fixed_problem.hpp"

namespace {

std::vector<fixed_problem> cases() {
  using f = filling;
  const auto c = [](const char* why) { return fixed_problem(why); };
  std::vector<fixed_problem> all = {
      c("one key").heads(2, 1).dims(16).lengths(3, 1),
      c("one element a row").dims(1).lengths(2, 5),
      c("odd dims").heads(2).dims(37, 19).lengths(3, 70),
      c("64 keys, a whole block").heads(4, 2).dims(64).lengths(5, 64),
      c("65 keys").heads(2, 2).dims(64).lengths(4, 65).data(f::uniform),
      c("causal prefill").heads(2, 1).dims(32).lengths(70, 70).causal(),
      c("a chunk of a causal prefill").heads(4, 2).dims(20, 36).lengths(13, 133).causal(),
      c("512 keys").heads(4, 1).dims(64).lengths(1, 512),
      c("513 keys").heads(1).dims(64).lengths(2, 513).max_keys(1024),
      c("1,100 keys with room for 131,072").heads(1).dims(16).lengths(2, 1100).max_keys(131072),
      c("every byte -128").heads(1).dims(64).lengths(3, 130).data(f::lowest),
      c("every byte an extreme").heads(1).dims(130).lengths(2, 130).data(f::extremes).steepness(0.01),
      c("the reference rises in each block").heads(1).dims(64).lengths(7, 400).data(f::rising).steepness(0.2),
      c("one key above all others").heads(1).dims(64).lengths(5, 300).data(f::one_key),
      c("steep scores").heads(2).dims(64).lengths(3, 300).steepness(3),
      c("flat scores").heads(2).dims(64).lengths(3, 200).steepness(1e-4),
      c("very flat scores, a multiplier below 2^30").heads(2).dims(64).lengths(3, 100).steepness(2e-6),
      c("window to both sides").heads(2, 1).dims(16).lengths(9, 300).position(200).window(70, 30),
      c("a window that is open to the left").heads(1).dims(16).lengths(9, 300).position(100).window(-1, 5),
      c("a window that is open to the left, grouped heads")
          .heads(4, 1)
          .dims(16)
          .lengths(3, 300)
          .position(100)
          .window(-1, 5),
      c("a window that is open to the right")
          .heads(2, 1)
          .dims(16)
          .lengths(9, 300)
          .position(100)
          .window(5, -1),
      c("kept keys and a window").heads(1).dims(16).lengths(9, 300).causal().window(20, 0).keep_first(5),
      c("a prefix").heads(1).dims(16).lengths(9, 150).causal().position(3).prefix(140),
      c("rows that see nothing").heads(1).dims(16).lengths(9, 20).causal().position(-4),
      c("no key at all").heads(1).dims(16).lengths(3, 0),
      c("rows that begin inside a block").heads(1).dims(16).lengths(5, 90).causal().first_key(37),
      c("panels that begin at key 128").heads(2, 1).dims(32).lengths(5, 90).causal().first_key(128),
      c("zero points").heads(2, 1).dims(33).lengths(5, 90).zeros(17, -9, 5, -3).steepness(0.3),
      c("zero points far away")
          .heads(2, 1)
          .dims(64)
          .lengths(5, 512)
          .zeros(-128, 127, -128, 127)
          .data(f::uniform)
          .steepness(0.05),
      c("a zero point of v and spilled sums")
          .heads(1)
          .dims(16)
          .lengths(2, 700)
          .zeros(0, 0, 100, 0)
          .max_keys(4096),
      c("an odd zero point of v: halves of spilled sums are rounded up")
          .heads(3)
          .dims(16)
          .lengths(5, 300)
          .zeros(0, 0, -77, 0)
          .max_keys(8192),
      c("a bool mask").heads(2, 1).dims(32).lengths(6, 140).masked(),
      c("a bias in octaves").heads(2, 1).dims(32).lengths(6, 140).biased(),
      c("ALiBi, causal").heads(4, 2).dims(32).lengths(6, 140).alibi().causal(),
      c("sinks").heads(4, 2).dims(32).lengths(6, 140).sinks().causal(),
      c("sinks alone").heads(2).dims(32).lengths(2, 0).sinks(),
      c("sinks and a zero point of v")
          .heads(4, 2)
          .dims(32)
          .lengths(6, 140)
          .sinks()
          .zeros(0, 0, -100, 5)
          .causal(),
      c("sinks that references rise above, spilled sums")
          .heads(2)
          .dims(64, 40)
          .lengths(3, 700)
          .sinks()
          .zeros(0, 0, 127, 0)
          .data(f::rising)
          .steepness(0.2)
          .max_keys(4096),
      c("sinks alone, and a zero point of v").heads(2).dims(32).lengths(2, 0).sinks().zeros(0, 0, 100, -7),
      c("a scale per head").heads(4, 2).dims(32).lengths(6, 140).scale_per_head(),
      c("a scale per key").heads(4, 2).dims(32).lengths(6, 140).scale_per_key().causal(),
      c("a scale per key, fewer keys than a block").heads(2, 1).dims(32).lengths(3, 40).scale_per_key(),
      c("a scale per key, from inside a block on")
          .heads(2, 1)
          .dims(32)
          .lengths(3, 90)
          .scale_per_key()
          .first_key(37),
      c("tables of keys from inside a block on")
          .heads(4, 2)
          .dims(20)
          .lengths(3, 90)
          .masked()
          .biased()
          .alibi()
          .scale_per_key()
          .first_key(37),
      c("sums of keys from inside a block on")
          .heads(2, 1)
          .dims(20)
          .lengths(3, 90)
          .zeros(7, 3, 0, 0)
          .steepness(0.3)
          .first_key(37),
      c("everything at once")
          .heads(4, 2)
          .dims(40, 24)
          .lengths(9, 200)
          .zeros(3, 4, 0, 6)
          .masked()
          .biased()
          .alibi()
          .sinks()
          .scale_per_head()
          .causal()
          .window(150, 0)
          .keep_first(2)
          .steepness(0.3),
      c("61 rows").heads(1).dims(80, 48).lengths(61, 190).causal(),
  };
#if !FOVEA_SMALL
  for (int32_t dim = 1; dim <= 130; dim += dim < 66 ? 4 : 17)
    all.push_back(c("every dim")
                      .heads(2, 1)
                      .dims(dim, 131 - dim)
                      .lengths(4, 67)
                      .data(dim % 3 ? f::uniform : f::extremes)
                      .steepness(0.05));
  for (int32_t rows : {1, 2, 3, 4, 6, 7, 8, 11, 12, 13, 48, 49})
    all.push_back(c("every number of rows")
                      .heads(rows, 1)
                      .dims(48)
                      .lengths(1, 333)
                      .data(rows % 2 ? f::noise : f::uniform));
  for (int32_t rows : {1, 2, 3, 4, 5, 6})
    all.push_back(c("every byte an extreme, in each shape of rows")
                      .heads(rows, 1)
                      .dims(64)
                      .lengths(1, 130)
                      .data(f::extremes)
                      .steepness(0.01));
#endif
  return all;
}

#if FOVEA_BARE_BOARD // emulated: a minute for all types
constexpr bool one_type_a_case = true;
#else
constexpr bool one_type_a_case = false;
#endif

std::vector<int32_t> fixed_isas() {
  std::vector<int32_t> all;
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa)
    if (fovea_fixed_has_isa(isa)) all.push_back(isa);
  return all;
}

void attend(fovea_fixed_attention a, size_t scratch) {
  std::vector<unsigned char> room(scratch + 1, 0x5a);
  CHECK(fovea_fixed_attend(&a, room.data() + 1, scratch) == FOVEA_OK);
}

int32_t v_dim(const fovea_fixed_attention& a) { return a.v_dim ? a.v_dim : a.dim; }

void check_ways(fixed_problem& x, int32_t isa, const std::vector<unsigned char>& expected) {
  fovea_fixed_attention a = x.call();
  a.isa = isa;
  const auto run = [&](const char* way, auto go) {
    x.out.assign(x.out.size(), 0x55);
    go();
    INFO(std::string(way));
    CHECK(x.out == expected);
  };
  run("rows, best scratch", [&] { attend(a, fovea_fixed_scratch_best(&a)); });
  run("rows, least scratch", [&] { attend(a, fovea_fixed_scratch(&a)); });
  CHECK(fovea_fixed_scratch(&a) <= FOVEA_FIXED_SCRATCH_ROWS(a.dim, v_dim(a)));
  run("rows, some scratch", [&] { attend(a, (fovea_fixed_scratch(&a) + fovea_fixed_scratch_best(&a)) / 2); });
  if (a.first_key % 64 == 0) {
    fovea_fixed_attention b = x.packed();
    b.isa = isa;
    run("panels", [&] { attend(b, fovea_fixed_scratch_best(&b)); });
    run("panels, least scratch", [&] { attend(b, fovea_fixed_scratch(&b)); });
    CHECK(fovea_fixed_scratch(&b) <= FOVEA_FIXED_SCRATCH(a.dim, v_dim(a)));
  }
  run("three parts", [&] {
    for (int32_t part : {2, 0, 1}) {
      a.part = {part, 3};
      attend(a, fovea_fixed_scratch_best(&a));
    }
  });
}

} // namespace

TEST_CASE("int8: every ISA gives the bits of the specification") {
  uint64_t digest = 0xCBF29CE484222325u;
  for (int32_t type : {FOVEA_FIXED_S8, FOVEA_FIXED_S16, FOVEA_FIXED_F32}) {
    int32_t number = 0;
    for (fixed_problem x : cases()) { // a copy, whose memory goes when it is done
      if (one_type_a_case && number++ % 3 != type - FOVEA_FIXED_S8) continue;
      INFO(std::string(x.why()));
      CAPTURE(type);
      const fovea_fixed_attention& a = x.make(type, static_cast<uint32_t>(type + 7));
      REQUIRE(fovea_fixed_check(&a) == FOVEA_OK);
      const std::vector<unsigned char> expected = x.expected();
      for (unsigned char byte : expected) digest = (digest ^ byte) * 0x100000001B3u;
      for (int32_t isa : fixed_isas()) {
        INFO(std::string(fovea_fixed_isa_name(isa)));
        check_ways(x, isa, expected);
      }
    }
  }
  char text[17];
  std::snprintf(text, sizeof text, "%08lx%08lx", static_cast<unsigned long>(digest >> 32),
                static_cast<unsigned long>(digest & 0xFFFFFFFFu));
  MESSAGE("digest of int8 attention: " << std::string(text));
}

// Blocks of which rows see less than all: the same or not, with options that touch single keys or without.
TEST_CASE("int8: a block that ends at any key") {
  using f = filling;
#if FOVEA_SMALL
  constexpr int32_t ends[] = {1, 16, 17, 31, 33, 48, 63};
#else
  constexpr int32_t ends[] = {1,  2,  7,  8,  9,  15, 16, 17, 23, 24, 25, 31, 32, 33,
                              40, 47, 48, 49, 55, 56, 57, 62, 63, 64, 65, 80, 95, 97};
#endif
  std::vector<fixed_problem> all;
  for (const int32_t keys : ends) {
    const auto c = [keys](const char* why, int32_t queries) {
      return fixed_problem(why)
          .heads(2, 1)
          .dims(keys % 3 ? 64 : 40, keys % 2 ? 48 : 64)
          .lengths(queries, keys);
    };
    const int32_t some = 1 + keys % 13;
    all.push_back(c("one query", 1));
    all.push_back(c("all rows see the same", some).data(f::uniform));
    all.push_back(c("as many rows as keys, causal", keys).causal().steepness(2));
    all.push_back(c("the reference rises", some).data(f::rising).steepness(0.3));
    all.push_back(
        c("rows that begin inside a block", some).first_key(keys % 60).data(f::extremes).steepness(0.05));
    all.push_back(c("masked", some).masked());
    all.push_back(c("every table", some).causal().all_tables());
    all.push_back(c("room for 2,048 keys", some).max_keys(2048));
    all.push_back(fixed_problem("kept keys before a block that the window begins in")
                      .heads(1)
                      .dims(16)
                      .lengths(9, 64 + keys)
                      .causal()
                      .position(48 + keys)
                      .window(20, 0)
                      .keep_first(1 + keys % 40));
  }
  for (size_t n = 0; n < all.size(); ++n) {
    fixed_problem x = all[n]; // its memory ends with it: boards have little
    INFO(std::string(x.why()));
    const fovea_fixed_attention& a = x.make(FOVEA_FIXED_S8 + static_cast<int32_t>(n) % 3,
                                            static_cast<uint32_t>(n));
    CAPTURE(a.keys);
    REQUIRE(fovea_fixed_check(&a) == FOVEA_OK);
    const std::vector<unsigned char> expected = x.expected();
    for (int32_t isa : fixed_isas()) {
      INFO(std::string(fovea_fixed_isa_name(isa)));
      check_ways(x, isa, expected);
    }
  }
}

// One query, and one to five query heads for each KV head: whole blocks, then a part of one, in one loop
// (lib/fixed/few_rows.hpp).
TEST_CASE("int8: few rows that see the same keys") {
  using f = filling;
  for (int32_t group = 1; group <= 5; ++group) {
    const auto c = [&](const char* why, int32_t keys) {
      return fixed_problem(why).heads(2 * group, 2).dims(48, 80).lengths(1, keys);
    };
    for (fixed_problem x :
         {c("whole blocks", 256), c("and a part", 300), c("rounded sums", 400).max_keys(2048),
          c("the reference rises", 500).data(f::rising).steepness(0.2),
          c("it rises, rounded sums", 500).data(f::rising).steepness(0.2).max_keys(2048),
          c("a scale per key", 300).scale_per_key(),
          c("the same, rounded", 333).scale_per_key().max_keys(4096),
          c("a scale per head and key", 300).scale_per_head().scale_per_key(),
          c("a scale per head", 300).scale_per_head(),
          c("scales and sums per key", 200).scale_per_key().zeros(5, 0, 0, 0),
          c("a scale per key, biases", 200).scale_per_key().biased(),
          c("a scale per key, ALiBi", 200).scale_per_key().alibi(),
          c("two queries whose windows begin one key apart", 100).lengths(2, 100).window(98, 2),
          c("a sink", 200).sinks().zeros(0, 3, -100, 5), c("two queries", 200).lengths(2, 200),
          c("a window", 400).causal().position(390).window(200, 0),
          c("kept keys", 400).causal().position(350).window(100, 0).keep_first(70),
          c("a draft tree", 200).position(199).tree(3), c("a mask", 150).masked()}) {
      INFO(std::string(x.why()));
      const fovea_fixed_attention& a = x.make(FOVEA_FIXED_S8);
      REQUIRE(fovea_fixed_check(&a) == FOVEA_OK);
      const std::vector<unsigned char> expected = x.expected();
      for (int32_t isa : fixed_isas()) {
        INFO(std::string(fovea_fixed_isa_name(isa)));
        check_ways(x, isa, expected);
      }
    }
  }
}
