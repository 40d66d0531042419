// The conformance cases, grouped by what they ask for: each on every ISA, against the given result, its
// tolerance and the exact answer.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "conformance_call.hpp"
#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"
#include "report.hpp"

namespace {

using conformance::test_case;

// What a case needs beyond plain attention; the first that applies.
enum class group { attention, masks, softcap, scores, elsewhere };

group group_of(const test_case& c) {
  if (c.text("op") != "Attention") return group::elsewhere;
  if (c.whole("qk_mode") != -1) return group::scores;
  if (c.text("mask") != "none") return group::masks;
  return c.number("softcap") != 0 ? group::softcap : group::attention;
}

// One output of a case: what came out, what was given, what is exact, and how far off it may be.
struct output {
  std::vector<float> got, given;
  reference::answer exact;

  output(const test_case& c, const char* name)
      : given(c.has_tensor(name) ? c.floats(name) : std::vector<float>()) {
    got.assign(given.size(), -12345.0f);
    if (!given.empty()) exact.out = c.exact(name);
    exact.bound.assign(given.size(), 0);
  }
  double largest_error() const {
    double worst = 0;
    for (size_t n = 0; n < exact.out.size(); ++n)
      if (static_cast<double>(got[n]) != exact.out[n])
        worst = std::max(worst, std::fabs(static_cast<double>(got[n]) - exact.out[n]));
    return worst;
  }
};

// The derived bounds of a sequence, in the place of its results; those of scores stand in order.
void place_bounds(const fovea_attention& a, output& y, output& scores) {
  const std::vector<double> bounds = reference::attend(a).bound;
  const float* out = static_cast<const float*>(a.out.data);
  size_t n = 0;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i)
      for (int32_t x = 0; x < a.v_dim; ++x)
        y.exact.bound[static_cast<size_t>(out + h * a.out.head_stride + i * a.out.token_stride + x -
                                          y.got.data())] = bounds[n++];
  for (float* at = a.weights.data; n < bounds.size(); ++at)
    scores.exact.bound[static_cast<size_t>(at - scores.got.data())] = bounds[n++];
}

// The reference of a softmax is a whole number, so even a row with one key returns its value to 2 units in
// the last place only: docs/numerics.md, section 4. One case (own.one_hot) has no tolerance at all.
constexpr double two_units = 1.0 / (1 << 22);

// What an ISA makes zero of.
double flushed_by(int32_t isa) {
  return isas::keeps_denormals(isa) ? 0 : static_cast<double>(std::numeric_limits<float>::min());
}

void check_output(const test_case& c, output& o, int32_t isa) {
  const double relative = std::max(c.number("rtol"), two_units);
  const double flushed = flushed_by(isa);
  for (double& bound : o.exact.bound) bound += flushed;
  int wrong = 0;
  for (size_t n = 0; n < o.got.size(); ++n) {
    const double got = static_cast<double>(o.got[n]), given = static_cast<double>(o.given[n]);
    wrong += got != given &&
             !(std::fabs(got - given) <= c.number("atol") + relative * std::fabs(given) + flushed);
  }
  CHECK(wrong == 0);
  REQUIRE(o.exact.out.size() == o.got.size());
  reference::check_results(o.exact, o.got);
}

// The largest number that is one: masked values may be anything.
template <class T>
double largest(const std::vector<T>& numbers) {
  double most = 0;
  for (T x : numbers)
    if (std::isfinite(x)) most = std::max(most, std::fabs(static_cast<double>(x)));
  return most;
}

// Errors are told as a share of the largest value, those of scores of the largest score or 1.
constexpr double greatest_error = 2e-6;

void check_accuracy(const test_case& c, int32_t isa, const output& y, const output& scores) {
  const double size = std::max(largest(c.floats("V")),
                               c.has_tensor("past_value") ? largest(c.floats("past_value")) : 0);
  const double lost = std::max(0.0, y.largest_error() - flushed_by(isa)),
               error = size > 0 ? lost / size : lost;
  const double error_of_scores = scores.largest_error() / std::max(1.0, largest(scores.exact.out));
  CHECK(error <= greatest_error);
  CHECK(error_of_scores <= greatest_error);
  if (report::accuracy_wanted())
    std::printf("accuracy: %s %s error=%.2g scores=%.2g\n", c.text("name").c_str(), fovea_isa_name(isa),
                error, error_of_scores);
}

void check_case(const test_case& c, int32_t isa) {
  INFO("case ", c.text("name"));
  output y(c, "Y"), scores(c, "qk_matmul_output");
  for (int32_t batch = 0; batch < c.whole("batch"); ++batch) {
    conformance::batch_call b(c, batch, y.got, scores.got);
    b.call.isa = isa;
    CHECK(attend_in(b.call, fovea_scratch_best(&b.call)) == FOVEA_OK);
    place_bounds(b.call, y, scores);
  }
  check_output(c, y, isa);
  check_output(c, scores, isa);
  check_accuracy(c, isa, y, scores);
}

constexpr const char* no_folder = "no conformance cases: FOVEA_CONFORMANCE names no folder that has them";

void run_group(group wanted) {
  if (conformance::folder().empty()) return report::skip(no_folder);
  int count = 0;
  for (const test_case& c : conformance::all_cases()) {
    if (group_of(c) != wanted) continue;
    ++count;
    isas::for_each([&](int32_t isa) { check_case(c, isa); });
  }
  CHECK(count > 0);
}

} // namespace

TEST_CASE("conformance_attention") { run_group(group::attention); }
TEST_CASE("conformance_masks") { run_group(group::masks); }
TEST_CASE("conformance_softcap") { run_group(group::softcap); }
TEST_CASE("conformance_scores") { run_group(group::scores); }

TEST_CASE("conformance_rotary") {
  if (conformance::folder().empty()) return report::skip(no_folder);
  static std::string reason;
  int count = 0;
  for (const test_case& c : conformance::all_cases()) count += c.text("op") == "RotaryEmbedding";
  reason = std::to_string(count) +
           " conformance cases of rotary embedding run in conformance_of_rotary_embedding";
  report::skip(reason.c_str());
}
