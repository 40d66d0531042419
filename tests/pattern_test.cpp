// Trees of drafts and chunks: the bits of the same call with a bool mask that says the same, and of the
// written arithmetic, where positions count.
#include <cmath>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#include "reference.hpp"
#if !defined(FOVEA_SMALL)
#include <cstdlib>
#endif

namespace {

// The same call, whose numbers have become a bool mask.
struct as_mask {
  explicit as_mask(const fovea_attention& call) : a(call) {
    for (int32_t i = 0; i < a.queries; ++i)
      for (int32_t j = 0; j < a.keys; ++j)
        shown.push_back(pattern::sees(call, i, int64_t{a.first_key} + j) ? 1 : 0);
    a.flags &= ~(FOVEA_CAUSAL | FOVEA_WINDOW);
    a.prefix = a.keep_first = 0, a.pattern = nullptr;
    if (shown.empty()) shown.push_back(0);
    a.mask = {shown.data(), 0, a.keys, 0, 0};
  }
  as_mask(const as_mask&) = delete;
  as_mask& operator=(const as_mask&) = delete;
  fovea_attention a;
  std::vector<uint8_t> shown;
};

void check_against_mask(problem& p, int32_t isa) {
  const fovea_attention a = p.call(isa);
  const as_mask masked(a);
  const std::vector<float> expected = solve(p, masked.a);
  CHECK(data::same_bits(solve(p, a), expected));
  CHECK(data::same_bits(solve(p, a, fovea_scratch_least(&a)), expected));
  if (a.first_key % 16 == 0) CHECK(data::same_bits(solve(p, packed_keys(p).read_by(a)), expected));
}

void check_everywhere(const shape& s, uint32_t seed = 1) {
  INFO(doctest::String(s.why));
  problem p(s, seed);
  const fovea_attention call = p.call();
  const std::vector<float> exact = numerics::attend(call);
  const bool positions_count = call.alibi != nullptr;
  isas::for_each([&](int32_t isa) {
    if (!positions_count && call.mask.data == nullptr) check_against_mask(p, isa);
    const std::vector<float> got = solve(p, p.call(isa));
    if (isas::promises_bits(isa)) CHECK(data::same_bits(got, exact));
    reference::check_results(reference::attend(call), got);
  });
}

shape drawn_tree(data::lottery& lot) {
  const int32_t groups[] = {1, 1, 2, 4}, lengths[] = {1, 2, 3, 4, 5, 8, 12, 16, 17, 33, 64};
  const int32_t queries = lot.one_of(lengths), kv_heads = lot.between(1, 2);
  shape s("a tree drawn by lot");
  s.heads(kv_heads * lot.one_of(groups), kv_heads).dims(lot.between(1, 20), lot.between(1, 20));
  s.lengths(queries, queries + lot.between(0, lot.one_in(3) ? 600 : 40));
  s.tree(static_cast<uint32_t>(lot.between(1, 1 << 30)));
  if (lot.one_in(2)) s.first_key(16 * lot.between(0, 20));
  if (lot.one_in(2)) s.window(lot.between(-1, lot.one_in(2) ? 8 : 300), lot.between(-1, 3));
  const auto near = [&] { return s.options.first_key + lot.between(0, s.options.keys + 3); };
  if (lot.one_in(3)) s.prefix(near());
  if (lot.one_in(3)) s.keep_first(near());
  if (lot.one_in(4)) s.lse().weights(lot.between(0, 3));
  if (lot.one_in(4)) s.softcap(3);
  if (lot.one_in(6)) s.sinks();
  return s;
}

void check_drawn_trees(uint64_t seed, int count) {
  for (int n = 0; n < count; ++n) {
    data::lottery lot(seed + static_cast<uint64_t>(n));
    CAPTURE(seed + static_cast<uint64_t>(n));
    problem p(drawn_tree(lot), static_cast<uint32_t>(n + 1));
    isas::for_each([&](int32_t isa) { check_against_mask(p, isa); });
  }
}

} // namespace

TEST_CASE("trees_have_the_bits_of_their_mask") {
  const shape table[] = {
      shape("one query: itself").lengths(1, 20).tree(1),
      shape("no key before the drafts").lengths(9, 9).tree(2),
      shape("a form of brothers and cousins").heads(4, 2).dims(9, 20).lengths(7, 40).tree(3),
      shape("drafts over the border of a block").dims(5, 17).lengths(12, 262).tree(4),
      shape("drafts over the border of a span").dims(3).lengths(12, 30).first_key(4080).tree(5),
      shape("drafts over several blocks").dims(3).lengths(300, 310).tree(6),
      shape("more rows than a tile").heads(8, 1).dims(3).lengths(30, 60).tree(7),
      shape("a window that begins among the drafts").dims(3).lengths(16, 40).tree(8).window(2, 0),
      shape("a window that begins blocks before").dims(3).lengths(16, 700).tree(9).window(300, 0),
      shape("a window and kept keys").dims(3).lengths(16, 700).tree(10).window(20, 0).keep_first(5),
      shape("kept keys up to the drafts").dims(3).lengths(16, 60).tree(11).window(3, 0).keep_first(50),
      shape("a prefix into the drafts").dims(3).lengths(16, 60).tree(12).window(3, 0).prefix(50),
      shape("returned weights").heads(2).dims(3).lengths(9, 270).tree(13).lse().weights(0),
      shape("returned scores of all keys").heads(2).dims(3).lengths(9, 270).tree(14).weights(1),
      shape("returned scores after the mask").heads(2).dims(3).lengths(9, 270).tree(15).weights(3),
      shape("softcap and sinks").heads(2).dims(3).lengths(9, 270).tree(16).softcap(2).sinks(),
      shape("ALiBi counts depths").heads(4, 2).dims(5).lengths(16, 270).tree(17).alibi(),
      shape("ALiBi, a window").heads(2).dims(5).lengths(16, 600).tree(18).alibi().window(280, 0),
      shape("a bool mask beside").heads(2).dims(5).lengths(16, 270).tree(19).mask(mask_kind::shown),
      shape("a bias beside").heads(2).dims(5).lengths(16, 270).tree(20).mask(mask_kind::bias).alibi(),
      shape("a mask that ends among the drafts")
          .dims(5)
          .lengths(16, 270)
          .tree(21)
          .mask(mask_kind::shown)
          .mask_keys(262),
  };
  for (const shape& s : table) check_everywhere(s);
}

TEST_CASE("chunks_have_the_bits_of_their_mask") {
  const shape table[] = {
      shape("its own chunk").lengths(20, 20).chunk(4, 0),
      shape("one to the left").heads(4, 2).dims(9, 20).lengths(20, 40).chunk(4, 1),
      shape("all to the left").lengths(20, 40).chunk(7, -1),
      shape("chunks of one key are windows").lengths(20, 40).chunk(1, 3),
      shape("causal within chunks").heads(2).lengths(30, 60).chunk(8, 1).causal(),
      shape("chunks of a block").dims(3).lengths(20, 700).position(250).chunk(256, 0),
      shape("chunks over blocks, two to the left").dims(3).lengths(40, 700).position(560).chunk(100, 2),
      shape("a jump by one key at the first one")
          .dims(3)
          .lengths(30, 60)
          .first_key(3)
          .position(3)
          .chunk(4, 0),
      shape("positions before the first key").dims(3).lengths(40, 60).position(-17).chunk(16, -1),
      shape("positions behind the last key").dims(3).lengths(40, 60).position(50).chunk(16, 1),
      shape("the highest positions").dims(3).lengths(3, 17).position(INT32_MAX - 3).chunk(1 << 30, 1),
      shape("chunks larger than the keys").dims(3).lengths(20, 60).chunk(INT32_MAX, INT32_MAX),
      shape("kept keys").dims(3).lengths(40, 600).chunk(16, 1).keep_first(5),
      shape("kept keys of a later chunk").dims(3).lengths(40, 60).position(0).chunk(8, 0).keep_first(30),
      shape("a prefix").dims(3).lengths(40, 60).position(0).chunk(8, 0).prefix(30),
      shape("a window within chunks").dims(3).lengths(40, 60).chunk(8, 1).window(5, 2),
      shape("a causal window within chunks").dims(3).lengths(40, 60).chunk(8, 1).window(5, 0).causal(),
      shape("grouped rows, one tile over chunks").heads(6, 2).dims(9).lengths(25, 50).chunk(3, 1),
      shape("ALiBi").heads(2).dims(5).lengths(30, 300).chunk(20, 3).alibi(),
      shape("weights").heads(2).dims(5).lengths(30, 60).chunk(20, 1).lse().weights(0),
  };
  for (const shape& s : table) check_everywhere(s);
}

TEST_CASE("chains_are_causal") {
  problem p(shape("a chain").heads(4, 2).dims(9, 20).lengths(40, 300).causal().alibi().window(33, 0));
  std::vector<int16_t> parents;
  for (int16_t i = 0; i < 40; ++i) parents.push_back(static_cast<int16_t>(i - 1));
  fovea_pattern chain = {};
  chain.parents = parents.data();
  isas::for_each([&](int32_t isa) {
    fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    a.pattern = &chain;
    CHECK(data::same_bits(solve(p, a), expected));
  });
}

TEST_CASE("trees_drawn_by_lot") {
#if defined(FOVEA_SMALL)
  check_drawn_trees(1, 20);
#else
  check_drawn_trees(1, 300);
#endif
}

#if !defined(FOVEA_SMALL)
TEST_CASE("prove_random_trees" * doctest::skip()) {
  const char* count = std::getenv("FOVEA_TREES");
  check_drawn_trees(1000, count == nullptr ? 100000 : std::atoi(count));
}
#endif

TEST_CASE("drafts_of_other_branches_do_not_matter") {
  problem p(shape("two branches").heads(2).dims(9, 20).lengths(5, 300).causal());
  const int16_t parents[] = {-1, 0, 0, 1, 2}; // 0 1 3 and 0 2 4
  fovea_pattern tree = {};
  tree.parents = parents;
  isas::for_each([&](int32_t isa) {
    fovea_attention a = p.call(isa);
    a.pattern = &tree;
    const std::vector<float> clean = solve(p, a);
    for (int32_t h = 0; h < 2; ++h) {
      data::fill_row(p.k, h, 297, std::numeric_limits<float>::quiet_NaN()); // of query 2
      data::fill_row(p.v, h, 297, std::numeric_limits<float>::quiet_NaN());
    }
    const std::vector<float> got = solve(p, a);
    for (size_t n = 0; n < got.size(); ++n) {
      const size_t query = n / 20 % 5;
      if (query == 2 || query == 4)
        CHECK(got[n] != got[n]);
      else
        CHECK(std::memcmp(&got[n], &clean[n], sizeof(float)) == 0);
    }
    data::fill(p.k, 9, 1);
    data::fill(p.v, 10, 1);
  });
}

TEST_CASE("a_score_of_minus_zero_stays_what_it_is_in_a_tree") {
  problem p(shape("products that underflow").dims(5).lengths(5, 40).causal().weights(3));
  const int16_t parents[] = {-1, 0, 0, 1, 2};
  fovea_pattern tree = {};
  tree.parents = parents;
  for (int32_t i = 0; i < 5; ++i) data::fill_row(p.q, 0, i, 1e-30f);
  for (int32_t j = 0; j < 40; ++j) data::fill_row(p.k, 0, j, -1e-30f);
  isas::for_each([&](int32_t isa) {
    if (!isas::promises_bits(isa)) return;
    fovea_attention a = p.call(isa);
    a.pattern = &tree;
    for (size_t size : {fovea_scratch_least(&a), fovea_scratch_best(&a)}) {
      const std::vector<float> results = solve(p, a, size);
      for (size_t n = results.size() - 5 * 40; n < results.size(); ++n)
        CHECK(std::signbit(results[n])); // minus infinity where hidden
    }
  });
}

TEST_CASE("patterns_that_are_refused") {
  struct row {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_attention&, fovea_pattern&, int16_t*);
  };
  static unsigned char bytes[64] = {};
  const row table[] = {
      {"a parent below -1", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern&, int16_t* x) { x[3] = -2; }},
      {"a parent behind its child", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern&, int16_t* x) { x[3] = 4; }},
      {"a query that is its own parent", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern&, int16_t* x) { x[5] = 5; }},
      {"query 0 with a parent", FOVEA_RANGE, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern&, int16_t* x) { x[0] = 0; }},
      {"parents at an odd address", FOVEA_ALIGN, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern& o, int16_t*) {
         o.parents = reinterpret_cast<const int16_t*>(bytes + 1 - (reinterpret_cast<uintptr_t>(bytes) & 1));
       }},
      {"parents at the end of memory", FOVEA_OVERFLOW, FOVEA_ARG_PARENT,
       [](fovea_attention&, fovea_pattern& o, int16_t*) {
         o.parents = reinterpret_cast<const int16_t*>(UINTPTR_MAX - 3);
       }},
      {"a tree that is not causal", FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS,
       [](fovea_attention& a, fovea_pattern&, int16_t*) { a.flags = 0; }},
      {"fewer keys than queries", FOVEA_SIZE, FOVEA_ARG_KEYS,
       [](fovea_attention& a, fovea_pattern&, int16_t*) { a.keys = 5; }},
      {"more queries than a tree may have", FOVEA_SIZE, FOVEA_ARG_QUERIES,
       [](fovea_attention& a, fovea_pattern&, int16_t*) { a.queries = a.keys = FOVEA_TREE_MAX + 1; }},
      {"another position", FOVEA_RANGE, FOVEA_ARG_POSITIONS,
       [](fovea_attention& a, fovea_pattern&, int16_t*) { a.flags |= FOVEA_POSITION, a.position = 3; }},
      {"a tree in chunks", FOVEA_UNSUPPORTED, FOVEA_ARG_CHUNK,
       [](fovea_attention&, fovea_pattern& o, int16_t*) { o.chunk = 1; }},
      {"a negative chunk", FOVEA_RANGE, FOVEA_ARG_CHUNK,
       [](fovea_attention&, fovea_pattern& o, int16_t*) { o.parents = nullptr, o.chunk = -1; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_attention&, fovea_pattern& o, int16_t*) { o.reserved[3] = 1; }},
      {"out over the parents", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_attention& a, fovea_pattern& o, int16_t*) {
         o.parents = static_cast<const int16_t*>(a.out.data) + 2;
         for (int32_t i = 0; i < 8; ++i) static_cast<int16_t*>(a.out.data)[i] = -1;
       }},
  };
  for (const row& r : table) {
    INFO(doctest::String(r.why));
    problem p(shape("six queries").lengths(6, 20).causal());
    int16_t parents[] = {-1, 0, 0, 1, 1, 2};
    fovea_pattern tree = {};
    tree.parents = parents;
    fovea_attention a = p.call();
    a.pattern = &tree;
    CHECK(fovea_check(&a) == FOVEA_OK);
    r.spoil(a, tree, parents);
    data::guarded<unsigned char> scratch(FOVEA_SCRATCH(8, 8));
    const data::guarded<float> before = p.out_memory;
    const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
    CHECK_MESSAGE(status == (r.reason | r.argument << 8), status_text(status));
    CHECK(fovea_check(&a) == status);
    CHECK((p.out_memory == before && scratch.nothing_written()));
  }
}
