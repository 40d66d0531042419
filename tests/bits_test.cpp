// The same bits on every ISA, for any number of parts, any scratch, prefill at once or in chunks, keys in
// rows or in panels.
#include <doctest/doctest.h>

#include "bit_set.hpp"
#include "digest.hpp"
#include "golden.hpp"
#include "isas.hpp"
#include "numerics.hpp"
#include "report.hpp"
#include "ways.hpp"

namespace {

using namespace ways;

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
    count_products(a);
  }
  CHECK(p.only_results_written());
  std::vector<float> got = p.results();
  got.resize(got.size() - p.modifiers.weights.size()), expected.resize(got.size());
  CHECK(data::same_bits(got, expected));
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
