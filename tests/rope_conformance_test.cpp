// The conformance cases of RotaryEmbedding: both pairings, partial rotation, both layouts, with and without
// positions.
#include <doctest/doctest.h>

#include <cmath>

#include "conformance.hpp"
#include "fovea/ops.h"
#include "isas.hpp"
#include "report.hpp"

namespace {

using conformance::test_case;

// Without positions the tables have a row for each token of each batch.
void rotate_batch(const test_case& c, int32_t batch, const std::vector<float>& x, int32_t isa,
                  std::vector<float>& y) {
  const std::vector<float> cosine = c.floats("cos_cache"), sine = c.floats("sin_cache");
  const int32_t heads = c.whole("num_heads"), tokens = c.whole("q_len"), dim = c.whole("head_dim"),
                rotary_dim = c.whole("rotary_dim"), half = rotary_dim / 2;
  const bool positions_given = c.has_tensor("position_ids");
  std::vector<int32_t> positions;
  if (positions_given) {
    const std::vector<int64_t> all = c.counts("position_ids");
    for (int32_t t = 0; t < tokens; ++t)
      positions.push_back(static_cast<int32_t>(all[static_cast<size_t>(batch * tokens + t)]));
  }
  fovea_rotation r = {};
  const ptrdiff_t skip = positions_given ? 0 : static_cast<ptrdiff_t>(batch) * tokens * half;
  const auto left = static_cast<int32_t>((static_cast<ptrdiff_t>(cosine.size()) - skip) / half);
  r.rope = {cosine.data() + skip, sine.data() + skip, left, rotary_dim, c.whole("interleaved"), 0};
  const ptrdiff_t first = static_cast<ptrdiff_t>(batch) * heads * tokens * dim;
  r.in.data = x.data() + first, r.out.data = y.data() + first;
  const bool by_token = c.text("layout") == "bsh";
  r.in.head_stride = r.out.head_stride = by_token ? dim : ptrdiff_t{tokens} * dim;
  r.in.token_stride = r.out.token_stride = by_token ? ptrdiff_t{heads} * dim : dim;
  r.positions = positions_given ? positions.data() : nullptr;
  r.heads = heads, r.tokens = tokens, r.dim = dim, r.isa = isa;
  REQUIRE(fovea_rotate(&r) == FOVEA_OK);
}

void check_case(const test_case& c, int32_t isa) {
  INFO("case ", c.text("name"));
  const std::vector<float> x = c.floats("X"), expected = c.floats("Y");
  const std::vector<double> exact = c.exact("Y");
  std::vector<float> y(x.size());
  for (int32_t b = 0; b < c.whole("batch"); ++b) rotate_batch(c, b, x, isa, y);
  REQUIRE(y.size() == expected.size());
  int wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    wrong += !(std::fabs(y[i] - expected[i]) <= c.number("atol") + c.number("rtol") * std::fabs(expected[i]));
    if (!exact.empty()) wrong += !(std::fabs(y[i] - exact[i]) <= 1e-6);
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("conformance_of_rotary_embedding") {
  if (conformance::folder().empty())
    return report::skip("no conformance cases: FOVEA_CONFORMANCE names no folder that has them");
  int found = 0;
  for (const test_case& c : conformance::all_cases()) {
    if (c.text("op") != "RotaryEmbedding") continue;
    ++found;
    isas::for_each([&](int32_t isa) { check_case(c, isa); });
  }
  CHECK(found == 20);
}
