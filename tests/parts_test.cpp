// Parts of one call: together they do all the work once, and they may run at the same time.
#include <doctest/doctest.h>

#include "isas.hpp"
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
