// Which strides of the output are enough: its rows may touch, but not share an element. And where there is
// one row no stride counts, of inputs and of the output.
#include <doctest/doctest.h>

#include <cstring>

#include "isas.hpp"
#include "problem.hpp"

namespace {

struct placed_output {
  const char* why;
  int32_t heads, queries;
  ptrdiff_t head_stride, token_stride;
  bool good;
};

constexpr ptrdiff_t row = 6; // elements of a row of the output

} // namespace

TEST_CASE("rows_of_the_output_may_touch_but_not_overlap") {
  const placed_output table[] = {
      {"one query of one head: no stride counts", 1, 1, 1, 1, true},
      {"one query of each head: the stride of queries does not count", 3, 1, row, 1, true},
      {"one head: its stride does not count", 1, 3, 1, row, true},
      {"heads of one query one element too near", 3, 1, row - 1, 1, false},
      {"queries of one head one element too near", 1, 3, 1, row - 1, false},
      {"heads behind each other", 3, 4, 4 * row, row, true},
      {"heads behind each other, one element too near", 3, 4, 4 * row - 1, row, false},
      {"heads behind each other, rows with gaps", 3, 4, 3 * (row + 2) + row, row + 2, true},
      {"heads behind each other, rows with gaps, one element too near", 3, 4, 3 * (row + 2) + row - 1,
       row + 2, false},
      {"queries behind each other", 3, 4, row, 3 * row, true},
      {"queries behind each other, one element too near", 3, 4, row, 3 * row - 1, false},
      {"queries behind each other, rows with gaps", 3, 4, row + 1, 2 * (row + 1) + row, true},
      {"queries behind each other, rows with gaps, one element too near", 3, 4, row + 1,
       2 * (row + 1) + row - 1, false},
      {"two heads, two queries, rows side by side", 2, 2, row, 2 * row, true},
      {"no query at all", 3, 0, 1, 1, true},
  };
  for (const placed_output& t : table) {
    INFO(doctest::String(t.why));
    problem p(shape("strides").heads(t.heads, 1).dims(8, row).lengths(t.queries, 20));
    isas::for_each([&](int32_t isa) {
      fovea_attention a = p.call(isa);
      const std::vector<float> expected = solve(p, a);
      data::guarded<float> out(1000);
      a.out.data = out.data(), a.out.head_stride = t.head_stride, a.out.token_stride = t.token_stride;
      data::guarded<unsigned char> scratch(FOVEA_SCRATCH(8, row));
      const int32_t status = fovea_attend(&a, scratch.data(), scratch.size());
      CHECK(status == (t.good ? int32_t{FOVEA_OK} : FOVEA_STRIDE | FOVEA_ARG_OUT << 8));
      if (!t.good) CHECK(out.nothing_written());
      if (!t.good) return;
      for (int32_t h = 0; h < t.heads; ++h)
        for (int32_t i = 0; i < t.queries; ++i) {
          const float* got = out.data() + h * t.head_stride + i * t.token_stride;
          CHECK(std::memcmp(got, &expected[static_cast<size_t>((h * t.queries + i) * row)],
                            row * sizeof(float)) == 0);
        }
    });
  }
}

TEST_CASE("a_stride_without_use_may_be_any_number") {
  struct one_row {
    const char* why;
    int32_t queries, keys;
  };
  const one_row table[] = {
      {"one query, one key", 1, 1},
      {"one query, many keys", 1, 40},
      {"three queries share a key", 3, 1},
      {"six queries share a key", 6, 1},
      {"no key", 3, 0},
  };
  for (const one_row& t : table)
    for (const int32_t v_dim : {8, 40}) {
      INFO(doctest::String(t.why));
      problem p(shape("strides").dims(8, v_dim).lengths(t.queries, t.keys));
      isas::for_each([&](int32_t isa) {
        fovea_attention a = p.call(isa);
        const std::vector<float> expected = solve(p, a);
        a.q.head_stride = a.k.head_stride = a.v.head_stride = a.out.head_stride = PTRDIFF_MAX;
        if (t.queries == 1) a.q.token_stride = a.out.token_stride = PTRDIFF_MAX;
        if (t.keys < 2) a.k.token_stride = a.v.token_stride = PTRDIFF_MAX;
        CHECK(data::same_bits(solve(p, a), expected));
      });
    }
}
