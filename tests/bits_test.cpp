// The same bits on every ISA, for any number of parts, any scratch, prefill at once or in chunks, keys in rows or in panels.
#include <doctest/doctest.h>

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

void check_parts(problem& p, const fovea_attention& whole, const std::vector<float>& expected) {
  for (int32_t parts : {1, 2, 3, 7}) {
    INFO("parts ", parts);
    p.wipe_results();
    run_parts(whole, parts);
    CHECK(p.only_results_written());
    CHECK(data::same_bits(p.results(), expected));

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
    products_done += 2 * int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
  }
}

void check_scratch(problem& p, const fovea_attention& a, const std::vector<float>& expected) {
  const size_t least = fovea_scratch_least(&a), best = fovea_scratch_best(&a);
  for (size_t size : {least, (least + best) / 2}) {
    INFO("scratch of ", size, " bytes");
    CHECK(data::same_bits(count_and_solve(p, a, size), expected));
  }
}

// Is a key that stands behind query i hidden from it, so that a cache need not hold it yet?
bool grows_with_queries(const fovea_attention& a) {
  return (a.flags & FOVEA_CAUSAL) != 0 && a.prefix == 0 && reference::position(a, 0) >= a.first_key;
}

// The same rows in several calls. In a growing cache a chunk finds no more keys than its last row sees.
void check_chunks(problem& p, const fovea_attention& whole, int32_t chunk, const std::vector<float>& expected) {
  INFO("chunks of ", chunk);
  p.wipe_results();
  for (int32_t first = 0; first < whole.queries; first += chunk) {
    fovea_attention a = whole;
    a.queries = whole.queries - first < chunk ? whole.queries - first : chunk;
    a.flags |= FOVEA_POSITION;
    a.position = static_cast<int32_t>(reference::position(whole, first));
    const int64_t end = int64_t{a.position} + a.queries;
    if (grows_with_queries(whole) && end - a.first_key < a.keys) a.keys = static_cast<int32_t>(end - a.first_key);
    a.q.data = p.q.row(0, first), a.out.data = p.out.row(0, first);
    a.q.head_stride = p.q.head_stride, a.out.head_stride = p.out.head_stride;
    a.k.head_stride = p.k.head_stride, a.v.head_stride = p.v.head_stride;
    CHECK(attend_in(a, fovea_scratch_least(&a)) == FOVEA_OK);
    products_done += int64_t{a.q_heads} * a.queries * a.keys * (int64_t{a.dim} + reference::v_dim(a));
  }
  CHECK(p.only_results_written());
  CHECK(data::same_bits(p.results(), expected));
}

void check_panels(problem& p, const fovea_attention& rows, const std::vector<float>& expected) {
  const size_t head = FOVEA_UP16(rows.keys) * static_cast<size_t>(rows.dim);
  data::guarded<float> panels(head * static_cast<size_t>(p.k.heads));
  for (int32_t g = 0; g < p.k.heads; ++g)
    CHECK(fovea_pack_keys(panels.data() + head * static_cast<size_t>(g), 0, p.k.row(g, 0), 0, rows.keys, rows.dim) == FOVEA_OK);
  fovea_attention a = rows;
  a.k.data = panels.data(), a.k.layout = FOVEA_PANELS;
  CHECK(data::same_bits(count_and_solve(p, a, fovea_scratch_best(&a)), expected));
  CHECK(data::same_bits(count_and_solve(p, a, fovea_scratch_least(&a)), expected));
}

void check_all_ways(const shape& s, int32_t isa, digest& bits) {
  INFO(doctest::String(s.why));
  problem p(s);
  const fovea_attention a = p.call(isa);
  const std::vector<float> expected = count_and_solve(p, a, fovea_scratch_best(&a));
  bits.add(expected);
  check_parts(p, a, expected);
  check_scratch(p, a, expected);
  if (a.first_key % 16 == 0) check_panels(p, a, expected);
  if (a.queries > 1) check_chunks(p, a, 1, expected);
  if (a.queries > 3) check_chunks(p, a, 3, expected);
}

} // namespace

TEST_CASE("the_bit_identity_set") {
  uint64_t promised = golden;
  isas::for_each([&](int32_t isa) {
    products_done = 0;
    digest bits;
    for (const shape& s : bit_identity_set()) check_all_ways(s, isa, bits);
    CHECK(products_done <= 20000000);
    report::digest(isa, bits.value());
    if (!isas::promises_bits(isa)) return;
    if (promised == 0) promised = bits.value();
    CHECK(bits.value() == promised);
  });
}

TEST_CASE("the_bit_identity_set_follows_the_written_arithmetic") {
  for (const shape& s : bit_identity_set()) {
    INFO(doctest::String(s.why));
    problem p(s);
    const std::vector<float> expected = numerics::attend(p.call());
    isas::for_each([&](int32_t isa) {
      if (isas::promises_bits(isa)) CHECK(data::same_bits(solve(p, p.call(isa)), expected));
    });
  }
}

TEST_CASE("a_later_first_row_changes_no_bit") {
  problem p(shape("all rows, of which a window shows the last").heads(4, 2).dims(20).lengths(3, 300).causal().window(70, 0));
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

TEST_CASE("strides_change_no_bit") {
  for (storage place : {storage::tokens_first, storage::padded_rows}) {
    const shape s = shape("prefill").heads(4, 2).dims(20, 12).lengths(18, 40).causal();
    problem contiguous(s), strided(shape(s).in(place));
    isas::for_each(
        [&](int32_t isa) { CHECK(data::same_bits(solve(strided, strided.call(isa)), solve(contiguous, contiguous.call(isa)))); });
  }
}
