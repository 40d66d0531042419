// Integers: trees of drafts and chunks have the bits of the specification, and of the same call with a bool
// mask that says the same.
#include <doctest/doctest.h>

#include <string>

#include "fixed_problem.hpp"
#include "fixed_reference.hpp"

namespace {

std::vector<unsigned char> run(fixed_problem& x, fovea_fixed_attention a, bool least) {
  std::vector<unsigned char> scratch(least ? fovea_fixed_scratch(&a) : fovea_fixed_scratch_best(&a));
  x.out.assign(x.out.size(), 0x55);
  CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
  return x.out;
}

void check_bits(fixed_problem& x, const fovea_fixed_attention& call,
                const std::vector<unsigned char>& expected) {
  const bool in_panels = call.first_key % 64 == 0 && call.q.dtype == FOVEA_FIXED_S8;
  for (int32_t isa = FOVEA_FIXED_SCALAR; isa < FOVEA_FIXED_ISA_END; ++isa) {
    if (!fovea_fixed_has_isa(isa)) continue;
    INFO(std::string(fovea_fixed_isa_name(isa)));
    fovea_fixed_attention a = call;
    a.isa = isa;
    CHECK(run(x, a, false) == expected);
    CHECK(run(x, a, true) == expected);
    if (!in_panels) continue;
    fovea_fixed_attention packed = x.packed();
    packed.isa = isa;
    CHECK(run(x, packed, false) == expected);
  }
}

void check(fixed_problem& x, int32_t out_type, uint32_t seed = 1) {
  INFO(std::string(x.why()));
  const fovea_fixed_attention a = x.make(out_type, seed);
  const std::vector<unsigned char> expected = x.expected();
  check_bits(x, a, expected);
  if (a.alibi || a.mask.data) return; // positions count, or there is a mask already
  fovea_fixed_attention masked = a;
  std::vector<uint8_t> shown;
  for (int32_t i = 0; i < a.queries; ++i)
    for (int32_t j = 0; j < a.keys; ++j)
      shown.push_back(pattern::sees(a, i, int64_t{a.first_key} + j) ? 1 : 0);
  masked.flags = 0, masked.prefix = masked.keep_first = 0, masked.pattern = nullptr;
  masked.mask = {shown.data(), 0, a.keys};
  CHECK(run(x, masked, false) == expected);
}

fixed_problem drawn_tree(data::lottery& lot) {
  const int32_t groups[] = {1, 1, 2, 4}, lengths[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 33, 64};
  const int32_t queries = lot.one_of(lengths), keys = queries + lot.between(0, lot.one_in(3) ? 400 : 40),
                kv_heads = lot.between(1, 2), first = lot.one_in(2) ? 64 * lot.between(0, 3) : 0;
  fixed_problem x("a tree drawn by lot");
  x.heads(kv_heads * lot.one_of(groups), kv_heads).dims(lot.between(1, 20), lot.between(1, 20));
  x.lengths(queries, keys).first_key(first).max_keys(first + keys);
  x.tree(static_cast<uint32_t>(lot.between(1, 1 << 30)));
  if (lot.one_in(2)) x.window(lot.between(-1, lot.one_in(2) ? 8 : 300), lot.between(-1, 3));
  if (lot.one_in(3)) x.prefix(first + lot.between(0, keys + 3));
  if (lot.one_in(3)) x.keep_first(first + lot.between(0, keys + 3));
  if (lot.one_in(4)) x.alibi();
  if (lot.one_in(4)) x.masked();
  if (lot.one_in(4)) x.biased();
  if (lot.one_in(4)) x.sinks();
  if (lot.one_in(4)) x.scale_per_key();
  return x;
}

void check_drawn_trees(uint64_t seed, int count) {
  for (int n = 0; n < count; ++n) {
    data::lottery lot(seed + static_cast<uint64_t>(n));
    CAPTURE(seed + static_cast<uint64_t>(n));
    fixed_problem x = drawn_tree(lot);
    check(x, FOVEA_FIXED_S8, static_cast<uint32_t>(n + 1));
  }
}

} // namespace

TEST_CASE("int8: trees have the bits of their mask") {
  const auto c = [](const char* why) { return fixed_problem(why); };
  fixed_problem all[] = {
      c("one query: itself").lengths(1, 20).tree(1),
      c("no key before the drafts").lengths(9, 9).tree(2),
      c("brothers and cousins").heads(4, 2).dims(20, 9).lengths(7, 40).tree(3),
      c("drafts over the border of a block").dims(8).lengths(12, 70).tree(4),
      c("drafts over several blocks").dims(8).lengths(90, 100).tree(5),
      c("more rows than a tile").heads(8, 1).dims(8).lengths(20, 60).tree(6),
      c("a window among the drafts").dims(8).lengths(16, 40).tree(7).window(2, 0),
      c("a window blocks before").dims(8).lengths(16, 300).tree(8).window(150, 0),
      c("a window and kept keys").dims(8).lengths(16, 300).tree(9).window(20, 0).keep_first(5),
      c("kept keys up to the drafts").dims(8).lengths(16, 60).tree(10).window(3, 0).keep_first(50),
      c("a prefix into the drafts").dims(8).lengths(16, 60).tree(11).window(3, 0).prefix(50),
      c("ALiBi counts depths").heads(4, 2).dims(16).lengths(16, 140).tree(12).alibi(),
      c("ALiBi and a window").heads(2).dims(16).lengths(16, 300).tree(13).alibi().window(150, 0),
      c("ALiBi, a bias, a mask").heads(2).dims(16).lengths(16, 140).tree(14).alibi().biased().masked(),
      c("a mask").heads(2).dims(16).lengths(16, 140).tree(15).masked(),
      c("a bias").heads(2).dims(16).lengths(16, 140).tree(16).biased(),
      c("scales of keys, sinks").heads(2).dims(16).lengths(16, 140).tree(17).scale_per_key().sinks(),
      c("scales of heads").heads(4, 2).dims(16).lengths(9, 140).tree(18).scale_per_head(),
      c("zero points").heads(2).dims(16).lengths(9, 140).tree(19).zeros(3, -5, 7, 1),
      c("more keys than 512").dims(8).lengths(9, 700).max_keys(700).tree(20),
  };
  for (fixed_problem& x : all) check(x, FOVEA_FIXED_S8);
}

TEST_CASE("int8: chunks have the bits of their mask") {
  const auto c = [](const char* why) { return fixed_problem(why); };
  fixed_problem all[] = {
      c("its own chunk").lengths(20, 20).chunk(4, 0),
      c("one to the left").heads(4, 2).dims(20, 9).lengths(20, 40).chunk(4, 1),
      c("all to the left").lengths(20, 40).chunk(7, -1),
      c("causal within chunks").heads(2).lengths(30, 60).chunk(8, 1).causal(),
      c("chunks over blocks").dims(8).lengths(40, 300).position(160).chunk(50, 2),
      c("a jump by one key").dims(8).lengths(30, 60).first_key(3).position(3).chunk(4, 0),
      c("positions before the first key").dims(8).lengths(40, 60).position(-17).chunk(16, -1),
      c("positions behind the last key").dims(8).lengths(40, 60).position(50).chunk(16, 1),
      c("the highest positions").dims(8).lengths(3, 17).position(INT32_MAX - 3).chunk(1 << 30, 1),
      c("chunks larger than the keys").dims(8).lengths(20, 60).chunk(INT32_MAX, INT32_MAX),
      c("kept keys").dims(8).lengths(40, 200).chunk(16, 1).keep_first(5),
      c("kept keys of a later chunk").dims(8).lengths(40, 60).position(0).chunk(8, 0).keep_first(30),
      c("a prefix").dims(8).lengths(40, 60).position(0).chunk(8, 0).prefix(30),
      c("a window within chunks").dims(8).lengths(40, 60).chunk(8, 1).window(5, 2),
      c("ALiBi").heads(2).dims(8).lengths(30, 150).chunk(20, 3).alibi(),
  };
  for (fixed_problem& x : all) check(x, FOVEA_FIXED_S8);
}

#if !defined(__arm__) || defined(__linux__)
TEST_CASE("int16: trees and chunks have the bits of their mask") {
  const auto c = [](const char* why) { return fixed_problem(why); };
  fixed_problem all[] = {
      c("a tree").heads(4, 2).dims(8).lengths(12, 140).tree(3).s16(),
      c("a tree, ALiBi, a window").heads(2).dims(8).lengths(12, 140).tree(4).alibi().window(70, 0).s16(),
      c("a tree and a mask").heads(2).dims(8).lengths(12, 70).tree(5).masked().s16(),
      c("chunks").heads(2).dims(8).lengths(30, 70).chunk(7, 1).s16(),
  };
  for (fixed_problem& x : all) {
    INFO(std::string(x.why()));
    const fovea_fixed_attention a = x.make(FOVEA_FIXED_S16, 1);
    fovea_fixed_attention masked = a;
    std::vector<uint8_t> shown;
    for (int32_t h = 0; h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        for (int32_t j = 0; j < a.keys; ++j) shown.push_back(fixed_reference::call{a}.sees(h, i, j) ? 1 : 0);
    // ALiBi as a bias, for positions count
    std::vector<int32_t> bias;
    for (int32_t h = 0; a.alibi && h < a.q_heads; ++h)
      for (int32_t i = 0; i < a.queries; ++i)
        for (int32_t j = 0; j < a.keys; ++j)
          bias.push_back(static_cast<int32_t>(-a.alibi[h] * fixed_reference::call{a}.distance(i, j)));
    masked.flags = 0, masked.pattern = nullptr, masked.alibi = nullptr;
    masked.mask = {shown.data(), ptrdiff_t{a.queries} * a.keys, a.keys};
    if (a.alibi) masked.bias = {bias.data(), ptrdiff_t{a.queries} * a.keys, a.keys};
    const std::vector<unsigned char> expected = run(x, masked, false);
    CHECK(run(x, a, false) == expected);
    CHECK(run(x, a, true) == expected);
  }
}
#endif

TEST_CASE("int8: trees drawn by lot") {
#if defined(__linux__) && defined(__x86_64__)
  check_drawn_trees(1, 300);
#else
  check_drawn_trees(1, 20);
#endif
}

#if defined(__linux__)
TEST_CASE("prove int8 random trees" * doctest::skip()) { check_drawn_trees(1000, 20000); }
#endif

TEST_CASE("int8: chains are causal") {
  fixed_problem x("a chain");
  fovea_fixed_attention a = x.heads(4, 2).dims(16).lengths(20, 140).causal().alibi().window(33, 0).make(
      FOVEA_FIXED_S8);
  const std::vector<unsigned char> expected = x.expected();
  std::vector<int16_t> parents;
  for (int16_t i = 0; i < 20; ++i) parents.push_back(static_cast<int16_t>(i - 1));
  fovea_pattern chain{};
  chain.parents = parents.data();
  a.pattern = &chain;
  check_bits(x, a, expected);
}

TEST_CASE("int8: parts of any number have the bits of the whole") {
  fixed_problem x("a tree");
  const fovea_fixed_attention a = x.heads(4, 2).dims(16).lengths(20, 140).tree(5).make(FOVEA_FIXED_S8);
  const std::vector<unsigned char> expected = x.expected();
  for (int32_t parts : {2, 3, 7, 41, 10000}) {
    x.out.assign(x.out.size(), 0x55);
    std::vector<unsigned char> scratch(fovea_fixed_scratch_best(&a));
    fovea_fixed_attention part = a;
    for (int32_t index = 0; index < parts; ++index) {
      part.part = {index, parts};
      REQUIRE(fovea_fixed_attend(&part, scratch.data(), scratch.size()) == FOVEA_OK);
    }
    CHECK(x.out == expected);
  }
}

TEST_CASE("int8: patterns that are refused") {
  struct row {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_fixed_attention&, fovea_pattern&, int16_t*);
  };
  const row table[] = {
      {"a parent below -1", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_fixed_attention&, fovea_pattern&, int16_t* x) { x[3] = -2; }},
      {"a query that is its own parent", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_fixed_attention&, fovea_pattern&, int16_t* x) { x[5] = 5; }},
      {"a tree that is not causal", FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS,
       [](fovea_fixed_attention& a, fovea_pattern&, int16_t*) { a.flags = 0; }},
      {"fewer keys than queries", FOVEA_SIZE, FOVEA_ARG_KEYS,
       [](fovea_fixed_attention& a, fovea_pattern&, int16_t*) { a.keys = 5; }},
      {"more queries than a tree may have", FOVEA_SIZE, FOVEA_ARG_QUERIES,
       [](fovea_fixed_attention& a, fovea_pattern&, int16_t*) {
         a.queries = a.keys = a.max_keys = FOVEA_TREE_MAX + 1;
       }},
      {"another position", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](fovea_fixed_attention& a, fovea_pattern&, int16_t*) { a.flags |= FOVEA_POSITION, a.position = 3; }},
      {"a tree in chunks", FOVEA_UNSUPPORTED, FOVEA_ARG_CHUNK,
       [](fovea_fixed_attention&, fovea_pattern& o, int16_t*) { o.chunk = 1; }},
      {"a negative chunk", FOVEA_RANGE, FOVEA_ARG_CHUNK,
       [](fovea_fixed_attention&, fovea_pattern& o, int16_t*) { o.parents = nullptr, o.chunk = -1; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_fixed_attention&, fovea_pattern& o, int16_t*) { o.reserved[0] = 1; }},
      {"out over the parents", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_fixed_attention& a, fovea_pattern&, int16_t* x) { a.out.data = x; }},
  };
  for (const row& r : table) {
    INFO(std::string(r.why));
    fixed_problem x("six queries");
    fovea_fixed_attention a = x.lengths(6, 20).causal().make(FOVEA_FIXED_S8);
    int16_t parents[64] = {-1, 0, 0, 1, 1, 2};
    fovea_pattern tree{};
    tree.parents = parents;
    a.pattern = &tree;
    CHECK(fovea_fixed_check(&a) == FOVEA_OK);
    r.spoil(a, tree, parents);
    std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH_ROWS(16, 16), 0x77);
    const std::vector<unsigned char> before = scratch;
    CHECK(fovea_fixed_attend(&a, scratch.data(), scratch.size()) == (r.reason | r.argument << 8));
    CHECK(fovea_fixed_check(&a) == (r.reason | r.argument << 8));
    CHECK(scratch == before);
    for (unsigned char byte : x.out) CHECK(byte == 0x55);
  }
}

TEST_CASE("int8: the small entry offers chunks, but no trees") {
  fixed_problem x("chunks");
  x.lengths(20, 40).chunk(7, 1).make(FOVEA_FIXED_S8);
  const std::vector<unsigned char> expected = x.expected();
  fovea_fixed_attention a = x.packed();
  std::vector<unsigned char> scratch(FOVEA_FIXED_SCRATCH(16, 16));
  CHECK(fovea_fixed_attend_plain(&a, scratch.data(), scratch.size()) == FOVEA_OK);
  CHECK(x.out == expected);
  fixed_problem y("a tree");
  y.lengths(20, 40).tree(7).make(FOVEA_FIXED_S8);
  const std::vector<unsigned char> of_tree = y.expected();
  a = y.packed();
  CHECK(fovea_fixed_attend_plain(&a, scratch.data(), scratch.size()) ==
        (FOVEA_UNSUPPORTED | FOVEA_ARG_PARENT << 8));
  CHECK(fovea_fixed_attend_s8(&a, scratch.data(), scratch.size()) == FOVEA_OK);
  CHECK(y.out == of_tree);
}
