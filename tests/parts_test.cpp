// Parts of one call: together they do all the work once, and they may run at the same time.
#include <doctest/doctest.h>

#include "isas.hpp"
#include "numerics.hpp"
#include "problem.hpp"
#if defined(__linux__)
#include <thread>
#endif

namespace {

std::vector<shape> shapes_to_share() {
  return {
      shape("many heads, one row each").heads(12, 4).dims(5).lengths(1, 40),
      shape("one head, many rows").dims(5).lengths(150, 30),
      shape("causal: later rows cost more").heads(2).dims(3).lengths(120, 120).causal(),
      shape("one row alone").dims(3).lengths(1, 20),
      shape("rows that see nothing").heads(2).dims(3).lengths(60, 10).causal().position(-30),
  };
}

// How many of the results were written: the output starts as NaN, and no result is one.
int64_t count_written(const problem& p) {
  int64_t count = 0;
  for (float x : p.results()) count += data::is_untouched(x) ? 0 : 1;
  return count;
}
int64_t numbers_of_row(const fovea_attention& a) { return a.v_dim == 0 ? a.dim : a.v_dim; }

} // namespace

TEST_CASE("parts_write_every_row_once") {
  for (const shape& s : shapes_to_share()) {
    INFO(doctest::String(s.why));
    problem p(s);
    isas::for_each([&](int32_t isa) {
      for (int32_t parts : {1, 2, 3, 7, 200}) {
        fovea_attention a = p.call(isa);
        int64_t written = 0;
        for (int32_t index = 0; index < parts; ++index) {
          a.part = {index, parts};
          p.wipe_results();
          CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
          written += count_written(p);
        }
        INFO("parts ", parts);
        CHECK(written == static_cast<int64_t>(p.results().size()));
      }
    });
  }
}

TEST_CASE("parts_share_the_work") {
  // 8 heads of 192 rows in 4 parts: none does more than half of it.
  problem p(shape("prefill").heads(8).dims(2).lengths(192, 16));
  for (int32_t index = 0; index < 4; ++index) {
    fovea_attention a = p.call(isas::only());
    a.part = {index, 4};
    p.wipe_results();
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
    CHECK(count_written(p) <= static_cast<int64_t>(p.results().size()) / 2);
  }
}

namespace {

// Rows that part `index` writes. Results are NaN before, and numbers afterwards.
int64_t rows_of_part(problem& p, const fovea_attention& call, int32_t index, int32_t parts) {
  fovea_attention a = call;
  a.part = {index, parts};
  p.wipe_results();
  CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
  return count_written(p) / numbers_of_row(a);
}

} // namespace

TEST_CASE("a_part_is_no_more_than_a_unit_where_parts_are_many") {
  struct row {
    shape s;
    int32_t rows, units; // of a unit; of all heads
  };
  const row table[] = {
      {shape("few keys: 32 rows").heads(2).dims(2).lengths(70, 128), 32, 6},
      {shape("more keys: fewer rows").heads(2).dims(2).lengths(33, 129), 16, 6},
      {shape("a group").heads(4, 2).dims(2).lengths(9, 1024), 4, 10},
      {shape("a row of 4,096 keys").heads(4, 2).dims(2).lengths(2, 4096), 1, 8},
      {shape("a long row").heads(1).dims(2).lengths(2, 5000), 1, 2},
  };
  for (const row& r : table) {
    INFO(doctest::String(r.s.why));
    problem p(r.s);
    const fovea_attention a = p.call(isas::only());
    for (int32_t index = 0; index < r.units + 2; ++index) {
      const int64_t rows = rows_of_part(p, a, index, r.units + 2);
      CHECK(rows <= r.rows);
      CHECK((rows > 0) == (index < r.units));
    }
  }
}

TEST_CASE("slices_have_the_bits_of_the_whole") {
  for (const shape& s : {shape("slices").heads(4, 2).dims(9, 20).lengths(21, 1300).causal().lse(),
                         shape("slices of blocks").heads(4, 2).dims(3).lengths(3, 9000).causal(),
                         shape("slices of spans").heads(4, 2).dims(3).lengths(17, 9000).causal()}) {
    INFO(doctest::String(s.why));
    problem p(s);
    const fovea_attention call = p.call(isas::only());
    const std::vector<float> expected = solve(p, call);
    for (int32_t parts : {43, 44, 45, 46, 100, 1000}) {
      fovea_attention a = call;
      const size_t size = fovea_partials_size(&a);
      data::guarded<unsigned char> partials(size);
      for (bool split : {false, true}) {
        if (split) a.partials = partials.data(), a.partials_size = size;
        p.wipe_results();
        data::guarded<unsigned char> scratch(fovea_scratch_best(&a));
        for (int32_t index = 0; index < parts; ++index) {
          a.part = {parts - 1 - index, parts};
          REQUIRE(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
        }
        if (split) CHECK(fovea_merge(&a) == FOVEA_OK);
        CHECK(data::same_bits(p.results(), expected));
      }
    }
  }
}

// Blocks whose scores are hundreds of octaves apart, upwards and downwards: weights stop at 2^-100 of their
// own block. Columns of V are 0 where the largest weights are, so that the small ones are seen.
TEST_CASE("blocks_far_apart_have_the_bits_of_the_whole") {
  const int32_t keys = 5 * 4096 + 700;
  problem p(shape("far apart").dims(1, 3).lengths(1, keys).scale(1).position(keys - 1).lse());
  p.q.row(0, 0)[0] = 1;
  for (int32_t j = 0; j < keys; ++j) {
    const int32_t block = j / 256;
    p.k.row(0, j)[0] = static_cast<float>(block * 7919 % 613) - 300 + static_cast<float>(j % 256 * 31 % 97);
    for (int32_t c = 0; c < 3; ++c)
      if ((block >> c) % 2 == 0) p.v.row(0, j)[c] = 0;
  }
  const fovea_attention reference_call = p.call(isas::only());
  const std::vector<float> expected = numerics::attend(reference_call);
  isas::for_each([&](int32_t isa) {
    const fovea_attention whole = p.call(isa);
    const std::vector<float> unsplit = solve(p, whole);
    if (isas::promises_bits(isa) && isas::keeps_denormals(isa)) CHECK(data::same_bits(unsplit, expected));
    for (int32_t parts : {1, 2, 5, 83, 90}) {
      fovea_attention a = whole;
      data::guarded<unsigned char> partials(fovea_partials_size(&a));
      a.partials = partials.data(), a.partials_size = partials.size();
      p.wipe_results();
      for (int32_t index = 0; index < parts; ++index) {
        a.part = {index, parts};
        CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
      }
      CHECK(fovea_merge(&a) == FOVEA_OK);
      CHECK(data::same_bits(p.results(), unsplit));
    }
  });
}

TEST_CASE("a_part_behind_all_work_looks_at_few_fields") {
  problem p(shape("eight units").heads(4, 2).dims(2).lengths(2, 4096));
  fovea_attention a = p.call(isas::only());
  a.part = {8, 9};
  a.q.data = nullptr; // which part 0 would refuse
  CHECK(fovea_attend(&a, nullptr, 0) == FOVEA_OK);
  CHECK(p.out_memory.nothing_written());
  CHECK(fovea_check(&a) == (FOVEA_NULL | FOVEA_ARG_Q << 8));
  a.part.index = 7;
  CHECK(fovea_attend(&a, nullptr, 0) == (FOVEA_NULL | FOVEA_ARG_Q << 8));
  a.part.index = 9;
  a.q.data = p.q.data;
  CHECK(fovea_attend(&a, nullptr, 0) == (FOVEA_RANGE | FOVEA_ARG_PART << 8));
  a.part = {8, 9};
  for (int32_t heads : {0, -1, 3}) {
    a.kv_heads = 2, a.q_heads = heads;
    if (heads == 3) a.kv_heads = 4;
    CHECK(fovea_attend(&a, nullptr, 0) == (FOVEA_SIZE | FOVEA_ARG_HEADS << 8));
  }
}

#if defined(__linux__)
namespace {

// Runs all parts at once, each in a thread and a scratch of its own.
int run_together(const fovea_attention& call, int32_t parts) {
  std::vector<std::thread> threads;
  std::vector<int32_t> statuses(static_cast<size_t>(parts), -1);
  for (int32_t index = 0; index < parts; ++index)
    threads.emplace_back([&, index] {
      fovea_attention a = call;
      a.part = {index, parts};
      std::vector<unsigned char> scratch(fovea_scratch_best(&a));
      statuses[static_cast<size_t>(index)] = fovea_attend(&a, scratch.data(), scratch.size());
    });
  for (std::thread& thread : threads) thread.join();
  int failed = 0;
  for (int32_t status : statuses) failed += status != FOVEA_OK;
  return failed;
}

} // namespace

TEST_CASE("as_many_parts_as_heads_take_one_head_each") {
  problem p(shape("decode").heads(8).dims(4).lengths(1, 100));
  for (int32_t index = 0; index < 8; ++index) {
    fovea_attention a = p.call(isas::only());
    a.part = {index, 8};
    p.wipe_results();
    CHECK(attend_in(a, fovea_scratch_best(&a)) == FOVEA_OK);
    CHECK(count_written(p) == static_cast<int64_t>(p.results().size()) / 8);
  }
}

TEST_CASE("parts_run_at_the_same_time") {
  problem p(shape("two spans, so that rows are split too").heads(4, 2).dims(6).lengths(20, 4200).causal());
  isas::for_each([&](int32_t isa) {
    fovea_attention a = p.call(isa);
    const std::vector<float> expected = solve(p, a);
    p.wipe_results();
    CHECK(run_together(a, 4) == 0);
    CHECK(data::same_bits(p.results(), expected));

    data::guarded<unsigned char> partials(fovea_partials_size(&a));
    a.partials = partials.data(), a.partials_size = partials.size();
    p.wipe_results();
    CHECK(run_together(a, 4) == 0);
    CHECK(fovea_merge(&a) == FOVEA_OK);
    CHECK((p.only_results_written() && partials.guards_hold()));
    CHECK(data::same_bits(p.results(), expected));
  });
}
#endif
