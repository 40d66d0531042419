// The same bits on every ISA, for any number of parts, any scratch, prefill at once or in chunks, keys in
// rows or in panels.
#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>

#include "bit_set.hpp"
#include "digest.hpp"
#include "golden.hpp"
#include "isas.hpp"
#include "numerics.hpp"
#include "report.hpp"

namespace {

int64_t products_done = 0;

std::vector<float> count_and_solve(problem& p, const fovea_attention& a, size_t scratch) {
  products_done += int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
  return solve(p, a, scratch);
}

// All parts of a call, the last one first: the order must not matter.
void run_parts(fovea_attention a, int32_t parts) {
  for (int32_t index = parts - 1; index >= 0; --index) {
    a.part = {index, parts};
    CHECK(attend_in(a, index % 2 == 0 ? fovea_scratch_least(&a) : fovea_scratch_best(&a)) == FOVEA_OK);
  }
}

void check_parts(problem& p, const fovea_attention& whole, std::initializer_list<int32_t> counts,
                 const std::vector<float>& expected) {
  for (int32_t parts : counts) {
    INFO("parts ", parts);
    p.wipe_results();
    run_parts(whole, parts);
    CHECK(p.only_results_written());
    CHECK(data::same_bits(p.results(), expected));

    products_done += int64_t{whole.q_heads} * whole.queries * whole.keys *
                     (int64_t{whole.dim} + reference::v_dim(whole));
    if (whole.weights.data != nullptr) continue; // asks for whole rows
    fovea_attention a = whole;
    a.part = {0, parts};
    a.partials_size = fovea_partials_size(&a);
    data::guarded<unsigned char> partials(a.partials_size);
    a.partials = partials.data();
    p.wipe_results();
    run_parts(a, parts);
    CHECK(fovea_merge(&a) == FOVEA_OK);
    CHECK((p.only_results_written() && partials.guards_hold()));
    CHECK(data::same_bits(p.results(), expected));
    products_done += int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
  }
}

void check_scratch(problem& p, const fovea_attention& a, std::initializer_list<size_t> sizes,
                   const std::vector<float>& expected) {
  for (size_t size : sizes) {
    INFO("scratch of ", size, " bytes");
    CHECK(data::same_bits(count_and_solve(p, a, size), expected));
  }
}

// Is a key that stands behind query i hidden from it, so that a cache need not hold it yet?
bool grows_with_queries(const fovea_attention& a) {
  return (a.flags & FOVEA_CAUSAL) != 0 && a.prefix == 0 && reference::position(a, 0) >= a.first_key;
}

// Rows first .. first + count - 1 as a call of their own, which tells no weights. In a growing cache it finds
// no more keys than its last row sees.
fovea_attention rows_of(const problem& p, const fovea_attention& whole, int32_t first, int32_t count) {
  fovea_attention a = whole;
  a.queries = count;
  a.flags |= FOVEA_POSITION;
  a.position = static_cast<int32_t>(reference::position(whole, first));
  const int64_t end = int64_t{a.position} + a.queries;
  if (grows_with_queries(whole) && end - a.first_key < a.keys)
    a.keys = static_cast<int32_t>(end - a.first_key);
  a.q.data = p.q.row(0, first), a.out.data = p.out.row(0, first);
  a.q.head_stride = p.q.head_stride, a.out.head_stride = p.out.head_stride;
  a.k.head_stride = p.k.head_stride, a.v.head_stride = p.v.head_stride;
  const ptrdiff_t mask_bytes = first * a.mask.query_stride * (a.mask.is_bias != 0 ? 4 : 1);
  if (a.mask.data != nullptr) a.mask.data = static_cast<const char*>(a.mask.data) + mask_bytes;
  a.weights = {};
  return a;
}

// The same rows in several calls.
void check_chunks(problem& p, const fovea_attention& whole, int32_t chunk, std::vector<float> expected) {
  INFO("chunks of ", chunk);
  p.wipe_results();
  for (int32_t first = 0; first < whole.queries; first += chunk) {
    const int32_t count = whole.queries - first < chunk ? whole.queries - first : chunk;
    fovea_attention a = rows_of(p, whole, first, count);
    data::guarded<float> lse(static_cast<size_t>(a.q_heads * count));
    if (whole.lse != nullptr) a.lse = lse.data();
    CHECK(attend_in(a, fovea_scratch_least(&a)) == FOVEA_OK);
    for (int32_t n = 0; n < a.q_heads * count && whole.lse != nullptr; ++n)
      whole.lse[n / count * whole.queries + first + n % count] = lse[static_cast<size_t>(n)];
    products_done += int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
  }
  CHECK(p.only_results_written());
  std::vector<float> got = p.results();
  got.resize(got.size() - p.modifiers.weights.size()), expected.resize(got.size());
  CHECK(data::same_bits(got, expected));
}

void check_panels(problem& p, const fovea_attention& rows, std::initializer_list<size_t> sizes,
                  const std::vector<float>& expected) {
  const packed_keys panels(p);
  check_scratch(p, panels.read_by(rows), sizes, expected);
}

void check_all_ways(const shape& s, int32_t isa, digest& bits) {
  INFO(doctest::String(s.why));
  problem p(s);
  const fovea_attention a = p.call(isa);
  const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a);
  const std::vector<float> expected = count_and_solve(p, a, best);
  bits.add(expected);
  check_parts(p, a, {1, 2, 3, 7}, expected);
  check_scratch(p, a, {least}, expected);
  if (a.first_key % 16 == 0) check_panels(p, a, {least, best}, expected);
  if (a.queries > 1) check_chunks(p, a, 1, expected);
  if (a.queries > 3) check_chunks(p, a, 3, expected);
}

// Modifiers know nothing of most of these ways: fewer will do.
void check_some_ways(const shape& s, int32_t isa, digest& bits) {
  INFO(doctest::String(s.why));
  problem p(s);
  const fovea_attention a = p.call(isa);
  const size_t least = fovea_scratch_least(&a);
  const std::vector<float> expected = count_and_solve(p, a, fovea_scratch_best(&a));
  bits.add(expected);
  check_parts(p, a, {3}, expected);
  check_scratch(p, a, {least}, expected);
  if (a.first_key % 16 == 0) check_panels(p, a, {least}, expected);
  if (a.queries > 1) check_chunks(p, a, 2, expected);
}

} // namespace

TEST_CASE("the_bit_identity_sets") {
  uint64_t promised = golden, promised_modified = golden_modified;
  isas::for_each([&](int32_t isa) {
    products_done = 0;
    digest bits, modified;
    for (const shape& s : plain_bit_set()) check_all_ways(s, isa, bits);
    for (const shape& s : modified_bit_set()) check_some_ways(s, isa, modified);
    CHECK(products_done <= 20000000);
    report::digest(isa, bits.value());
    if (!isas::promises_bits(isa)) return;
    if (promised_modified == 0) promised_modified = modified.value();
    CHECK(bits.value() == promised);
    CHECK(modified.value() == promised_modified);
  });
}

TEST_CASE("the_bit_identity_sets_follow_the_written_arithmetic") {
  std::vector<shape> all = plain_bit_set();
  for (const shape& s : modified_bit_set()) all.push_back(s);
  for (const shape& s : all) {
    INFO(doctest::String(s.why));
    problem p(s);
    const std::vector<float> expected = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      if (isas::promises_bits(isa)) CHECK(data::same_bits(solve(p, p.call(isa)), expected));
    });
  }
}

TEST_CASE("the_modified_set_is_near_the_truth") {
  for (const shape& s : modified_bit_set()) {
    INFO(doctest::String(s.why));
    problem p(s);
    const reference::answer expected = reference::attend(p.call());
    isas::for_each([&](int32_t isa) { reference::check_results(expected, solve(p, p.call(isa))); });
  }
}

TEST_CASE("a_later_first_row_changes_no_bit") {
  problem p(shape("all rows, of which a window shows the last")
                .heads(4, 2)
                .dims(20)
                .lengths(3, 300)
                .causal()
                .window(70, 0));
  isas::for_each([&](int32_t isa) {
    const fovea_attention all = p.call(isa);
    const std::vector<float> expected = solve(p, all);
    for (int32_t first : {1, 15, 16, 100, 227}) {
      INFO("first key ", first);
      fovea_attention a = all;
      a.first_key = first, a.keys = all.keys - first;
      a.k.data = p.k.row(0, first), a.v.data = p.v.row(0, first);
      a.k.head_stride = p.k.head_stride, a.v.head_stride = p.v.head_stride;
      CHECK(data::same_bits(solve(p, a), expected));
    }
  });
}

TEST_CASE("few_queries_take_rows_of_keys_and_give_the_bits_of_panels") {
  for (int32_t dim : {3, 4, 5, 6, 7, 8, 12, 13, 16, 20, 36, 48, 63, 64})
    for (int32_t group : {1, 2, 3, 4, 5, 6, 7, 8, 9})
      for (int32_t keys : {3, 4, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 66, 100}) {
        const int32_t v_dim = keys % 2 == 0 ? dim
                                            : 5; // tiles of columns of all widths, and fewer than any takes
        const int32_t first_key = keys % 2 == 0 ? 0 : 245; // or in two blocks, from the middle of a panel on
        INFO("dim ", dim, ", group ", group, ", keys ", keys);
        problem p(
            shape("few queries").heads(group, 1).dims(dim, v_dim).lengths(1, keys).first_key(first_key));
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const std::vector<float> got = solve(p, a);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
          if (first_key == 0) check_panels(p, a, {fovea_scratch_best(&a)}, got);
        });
      }
}

// Tokens of several heads: rows of K are 2 KB apart, or a little less.
TEST_CASE("one_query_of_each_head_takes_rows_that_are_far_apart") {
  for (int32_t dim : {4, 7, 12, 16, 21, 33, 64, 130})
    for (int32_t keys : {3, 4, 8, 9, 15, 16, 17, 40, 100})
      for (int32_t heads : {511 / dim, 511 / dim + 1}) {
        const int32_t first_key = keys % 2 == 0 ? 0 : 245;
        INFO("dim ", dim, ", keys ", keys, ", heads ", heads);
        problem p(shape("decode in place")
                      .heads(heads)
                      .dims(dim, 5)
                      .lengths(1, keys)
                      .first_key(first_key)
                      .in(storage::tokens_first));
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const std::vector<float> got = solve(p, a);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
          check_scratch(p, a, {fovea_scratch_least(&a)}, got);
        });
      }
}

// The same for two to four queries of each head: rows of K are 4 KB apart, rows of V 2 KB, or a little less.
TEST_CASE("few_queries_of_each_head_take_rows_that_are_far_apart") {
  const struct {
    int32_t heads, dim, v_dim;
  } table[] = {{16, 63, 31}, {16, 64, 32},  {16, 65, 33},  {8, 127, 63}, {8, 128, 64},
               {8, 130, 65}, {4, 257, 129}, {2, 513, 300}, {256, 4, 5},  {33, 31, 17}};
  for (const auto& t : table)
    for (int32_t keys : {3, 4, 8, 9, 15, 17, 40, 270})
      for (int32_t group : {2, 3, 4}) {
        const int32_t first_key = keys % 2 == 0 ? 0 : 245;
        INFO("dim ", t.dim, ", v_dim ", t.v_dim, ", keys ", keys, ", group ", group);
        problem p(shape("decode of a group in place")
                      .heads(group * t.heads, t.heads)
                      .dims(t.dim, t.v_dim)
                      .lengths(1, keys)
                      .first_key(first_key)
                      .in(storage::tokens_first));
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const std::vector<float> got = solve(p, a);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
          check_scratch(p, a, {fovea_scratch_least(&a)}, got);
        });
      }
}

// They share a tile with AVX-512, alone or behind larger groups.
TEST_CASE("five_and_six_rows_give_the_written_bits") {
  for (int32_t queries : {5, 6, 17, 18})
    for (int32_t keys : {20, 64, 65, 127, 300})
      for (bool causal : {false, true}) {
        INFO("queries ", queries, ", keys ", keys, causal ? ", causal" : "");
        shape s = shape("five or six rows are left").heads(2).dims(5, 70).lengths(queries, keys);
        if (causal) s.causal();
        problem p(s);
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const std::vector<float> got = solve(p, a);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
          check_scratch(p, a, {fovea_scratch_least(&a)}, got);
          check_panels(p, a, {fovea_scratch_best(&a)}, got);
        });
      }
}

namespace {

void check_written_bits(const shape& s) {
  problem p(s);
  const fovea_attention all = p.call();
  INFO(doctest::String(s.why), ", queries ", all.queries, ", keys ", all.keys, ", v_dim ",
       reference::v_dim(all));
  const std::vector<float> expected = numerics::attend(all);
  isas::for_each([&](int32_t isa) {
    const fovea_attention a = p.call(isa);
    std::vector<float> got = solve(p, a);
    check_scratch(p, a, {fovea_scratch_least(&a)}, got);
    check_panels(p, a, {fovea_scratch_best(&a)}, got);
    got.resize(expected.size());
    if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
  });
}

} // namespace

// 24 rows take tiles of 6 x 64: just enough rows and keys for one, one more and one less, and with smaller
// tiles. Where some of the rows end with a block, the next one has other groups.
TEST_CASE("two_dozen_rows_that_see_the_same_keys_give_the_written_bits") {
  const shape same_keys = shape("all rows see all keys").dims(5, 64).lengths(24, 64);
  const shape works[] = {
      same_keys,
      shape(same_keys).lengths(23, 64),
      shape(same_keys).lengths(25, 63),
      shape(same_keys).lengths(24, 65).dims(5, 63),
      shape(same_keys).lengths(28, 80).dims(5, 80),
      shape(same_keys).lengths(47, 127).dims(5, 65),
      shape(same_keys).lengths(48, 130).dims(16, 128).mask(mask_kind::shown),
      shape(same_keys).lengths(72, 64).heads(4, 2),
      shape("all rows see the first block").dims(5, 64).lengths(25, 330).causal(),
      shape("three blocks").dims(5, 80).lengths(24, 520),
      shape("six rows end with the first block").dims(5, 64).heads(6, 1).lengths(5, 260).causal(),
      shape("seven of each head do").dims(5, 80).heads(14, 2).lengths(4, 259).causal(),
      shape("eight rows end with the second block").dims(5, 64).heads(8, 1).lengths(6, 517).causal(),
      shape("sixteen do").dims(5, 64).heads(16, 1).lengths(3, 514).causal(),
      shape("the last four rows find panels").dims(16, 20).lengths(52, 100).weights(0),
      shape("the last keys of the first block are hidden")
          .dims(5, 64)
          .lengths(24, 270)
          .causal()
          .first_key(16)};
  for (const shape& s : works) check_written_bits(s);
}

// Vectors of a mask that are read as they stand, and what is left of it at the end of a row.
TEST_CASE("masks_alone_give_the_written_bits") {
  const shape works[] = {
      shape("an additive mask").dims(16, 11).lengths(48, 130).mask(mask_kind::bias),
      shape("a bool mask, one row for all queries")
          .dims(16, 20)
          .lengths(13, 77)
          .mask(mask_kind::shown, true, false),
      shape("a bool mask, each row sees one key more")
          .dims(5, 7)
          .lengths(45, 300)
          .causal()
          .mask(mask_kind::shown),
      shape("an additive mask, each row sees one key more")
          .dims(5, 9)
          .lengths(45, 300)
          .causal()
          .mask(mask_kind::bias),
      shape("a bool mask of groups").heads(6, 2).dims(5, 4).lengths(9, 70).mask(mask_kind::shown),
      shape("a bool mask and a window")
          .dims(5, 3)
          .lengths(30, 290)
          .causal()
          .window(40, 0)
          .mask(mask_kind::shown)};
  for (const shape& s : works) check_written_bits(s);
}

TEST_CASE("batched_heads_give_the_bits_of_heads_one_by_one") {
  const struct {
    int32_t kv_heads, group;
  } table[] = {{2, 1}, {2, 3}, {2, 5}, {3, 2}, {3, 4}, {3, 7}, {4, 8}, {9, 1}, {9, 3}, {33, 1}};
  for (const auto& heads : table)
    for (int32_t queries : {1, 2, heads.group < 3 ? 9 : 3}) {
      const int32_t kv_heads = heads.kv_heads, group = heads.group;
      const int32_t keys = 15 + 3 * kv_heads + 32 * group, v_dim = group == 2 ? 17 : 5 * group;
      INFO("kv heads ", kv_heads, ", group ", group, ", queries ", queries, ", keys ", keys);
      const bool by_4x4 = group * queries >= 3 && group * queries <= 8; // where dim is a multiple of 16
      const int32_t dim = by_4x4 ? 32 : 12;
      const shape plain =
          shape("few rows a head").heads(kv_heads * group, kv_heads).dims(dim, v_dim).lengths(queries, keys);
      for (const shape& s :
           {plain, shape(plain).softcap(3).alibi().sinks().mask(mask_kind::bias).lse().weights(0),
            shape(plain).causal().window(keys / 2 + 3, 0).keep_first(keys / 3)}) {
        problem p(s);
        const std::vector<float> expected = numerics::attend(p.call());
        isas::for_each([&](int32_t isa) {
          const fovea_attention a = p.call(isa);
          const size_t best = fovea_scratch_best(&a), least = fovea_scratch_least(&a);
          std::vector<float> got = solve(p, a);
          check_scratch(p, a, {std::max(best - 1, least), least}, got);
          check_parts(p, a, {2, 3}, got);
          check_panels(p, a, {best}, got);
          got.resize(expected.size());
          if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
        });
      }
    }
}
