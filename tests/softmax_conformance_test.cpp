// The conformance cases of Softmax: any axis, before opset 13 flattened to two dimensions.
#include <doctest/doctest.h>

#include <cmath>

#include "conformance.hpp"
#include "fovea/ops.h"
#include "isas.hpp"
#include "report.hpp"

namespace {

using conformance::test_case;

std::vector<int32_t> dims_of(const test_case& c) {
  std::istringstream words(c.text("tensor.X"));
  std::string word;
  words >> word >> word >> word;
  std::vector<int32_t> dims;
  std::istringstream numbers(word);
  for (std::string number; std::getline(numbers, number, ',');)
    dims.push_back(static_cast<int32_t>(std::strtol(number.c_str(), nullptr, 10)));
  return dims;
}

int32_t product(const std::vector<int32_t>& dims, size_t from, size_t to) {
  int32_t all = 1;
  for (size_t i = from; i < to; ++i) all *= dims[i];
  return all;
}

// Softmax over the middle of [before][over][behind].
struct walk {
  int32_t before, over, behind;
};
walk walk_of(const test_case& c) {
  const std::vector<int32_t> dims = dims_of(c);
  const auto rank = static_cast<int32_t>(dims.size());
  const auto axis = static_cast<size_t>(c.whole("axis") < 0 ? c.whole("axis") + rank : c.whole("axis"));
  if (c.text("softmax_semantics") == "flatten_2d")
    return {product(dims, 0, axis), product(dims, axis, dims.size()), 1};
  return {product(dims, 0, axis), dims[axis], product(dims, axis + 1, dims.size())};
}

std::vector<float> softmax_of(const std::vector<float>& x, const walk& w, int32_t isa) {
  std::vector<float> y(x.size());
  fovea_softmax_rows s = {};
  s.isa = isa;
  if (w.behind == 1) {
    s.in = x.data(), s.out = y.data(), s.rows = w.before, s.columns = w.over;
    CHECK(fovea_softmax(&s) == FOVEA_OK);
    return y;
  }
  std::vector<float> row(static_cast<size_t>(w.over));
  s.in = s.out = row.data(), s.rows = 1, s.columns = w.over;
  for (int32_t i = 0; i < w.before; ++i)
    for (int32_t k = 0; k < w.behind; ++k) {
      const auto place = [&](int32_t j) { return static_cast<size_t>((i * w.over + j) * w.behind + k); };
      for (int32_t j = 0; j < w.over; ++j) row[static_cast<size_t>(j)] = x[place(j)];
      CHECK(fovea_softmax(&s) == FOVEA_OK);
      for (int32_t j = 0; j < w.over; ++j) y[place(j)] = row[static_cast<size_t>(j)];
    }
  return y;
}

void check_case(const test_case& c, int32_t isa) {
  INFO("case ", c.text("name"));
  const std::vector<float> expected = c.floats("Y"), y = softmax_of(c.floats("X"), walk_of(c), isa);
  const std::vector<double> exact = c.exact("Y");
  REQUIRE(y.size() == expected.size());
  int wrong = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    wrong += !(std::fabs(y[i] - expected[i]) <= c.number("atol") + c.number("rtol") * std::fabs(expected[i]));
    if (!exact.empty()) wrong += !(std::fabs(y[i] - exact[i]) <= 5e-7); // of weights that add up to 1
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("conformance_of_softmax_rows") {
  if (conformance::folder().empty())
    return report::skip("no conformance cases: FOVEA_CONFORMANCE names no folder that has them");
  int found = 0;
  for (const test_case& c : conformance::all_cases()) {
    if (c.text("op") != "Softmax") continue;
    ++found;
    isas::for_each([&](int32_t isa) { check_case(c, isa); });
  }
  CHECK(found > 0);
}
