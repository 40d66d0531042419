// Calls whose bits are those of the written arithmetic (docs/numerics.md), at the edges of single kernels.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"

namespace {

void check_written_bits(problem& p) {
  const std::vector<float> expected = numerics::attend(p.call());
  isas::for_each([&](int32_t isa) {
    const std::vector<float> got = solve(p, p.call(isa));
    if (isas::promises_bits(isa)) CHECK(data::same_bits(got, expected));
  });
}

} // namespace

// What is transposed of keys stands behind the queries: with the largest of them there is the least room.
TEST_CASE("few_queries_of_the_largest_dims_take_rows_of_keys_and_give_the_written_bits") {
  for (int32_t dim : {256, 1008, 1024})
    for (int32_t group : {1, 2, 3, 4}) {
      INFO("dim ", dim, ", group ", group);
      problem p(shape("large dims").heads(group, 1).dims(dim, 5).lengths(1, 40));
      check_written_bits(p);
    }
}

TEST_CASE("rows_that_fill_whole_tiles_on_one_panel_of_keys_give_the_written_bits") {
  for (int32_t queries : {15, 16, 17, 32, 48})
    for (int32_t keys : {1, 15, 16, 17}) {
      INFO("queries ", queries, ", keys ", keys);
      problem p(shape("one panel").dims(12, 20).lengths(queries, keys));
      check_written_bits(p);
    }
}

// Every score lies halfway between two integers: scale times log2(e) is 1 to the bit. Which of the two it is
// counted from must not matter.
TEST_CASE("scores_halfway_between_integers_have_the_same_bits_on_every_isa") {
  for (int32_t keys : {5, 40}) {
    problem p(shape("halves").dims(1, 17).lengths(6, keys).scale(0.693147182f));
    for (int32_t i = 0; i < 6; ++i) p.q.at(0, i, 0) = static_cast<float>(2 * i - 5);
    for (int32_t j = 0; j < keys; ++j) p.k.at(0, j, 0) = static_cast<float>(j % 9) - 4.5f;
    check_written_bits(p);
  }
}

// What lets an ISA choose to which of two integers it takes a score halfway between them (docs/numerics.md,
// section 3).
TEST_CASE("the_polynomial_at_one_half_is_twice_that_at_minus_one_half") {
  for (float n : {-98.0f, -7.0f, 0.0f}) CHECK(numerics::exp2(n + 0.5f, 0) == 2 * numerics::exp2(n - 0.5f, 0));
}

TEST_CASE("strides_change_no_bit") {
  const shape works[] = {shape("prefill").heads(4, 2).dims(20, 12).lengths(18, 40).causal(),
                         shape("few queries").heads(8, 2).dims(32, 7).lengths(1, 300)};
  for (const shape& s : works)
    for (storage place : {storage::tokens_first, storage::padded_rows}) {
      problem contiguous(s), strided(shape(s).in(place));
      isas::for_each([&](int32_t isa) {
        CHECK(data::same_bits(solve(strided, strided.call(isa)), solve(contiguous, contiguous.call(isa))));
      });
    }
}
