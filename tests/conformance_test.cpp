// The conformance cases, grouped by what they ask for. A group that this version cannot express counts as one skipped test.
#include "conformance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"
#include "report.hpp"

namespace {

using conformance::test_case;

// What a case needs beyond plain attention; the first that applies.
enum class group { attention, masks, softcap, scores, rotary, softmax };

group group_of(const test_case& c) {
  if (c.text("op") == "RotaryEmbedding") return group::rotary;
  if (c.text("op") == "Softmax") return group::softmax;
  if (c.whole("qk_mode") != -1) return group::scores;
  if (c.text("mask") != "none") return group::masks;
  return c.number("softcap") != 0 ? group::softcap : group::attention;
}

// Strides of [batch][head][token][dim] or of [batch][token][head * dim].
data::tensor place(std::vector<float>& memory, const test_case& c, int32_t batch, int32_t heads, int32_t tokens, int32_t dim) {
  data::tensor t{memory.data() + ptrdiff_t{batch} * heads * tokens * dim, ptrdiff_t{tokens} * dim, dim, heads, tokens, dim};
  if (c.text("layout") == "bsh") t.head_stride = dim, t.token_stride = ptrdiff_t{heads} * dim;
  return t;
}

void copy_rows(const data::tensor& from, const data::tensor& to, int32_t first_token) {
  for (int32_t h = 0; h < from.heads; ++h)
    for (int32_t j = 0; j < from.tokens; ++j)
      std::memcpy(to.row(h, first_token + j), from.row(h, j), static_cast<size_t>(from.dim) * sizeof(float));
}

// The keys or values of one batch: the cache first, then the new ones.
class cached {
 public:
  cached(const test_case& c, const char* now, const char* past, int32_t batch, int32_t dim) : now_(c.floats(now)) {
    const int32_t heads = c.whole("kv_heads"), past_len = c.whole("past_len"), now_len = c.whole("kv_len");
    rows = place(now_, c, batch, heads, now_len, dim);
    if (past_len == 0) return;
    std::vector<float> cache = c.floats(past);
    const ptrdiff_t before = ptrdiff_t{batch} * heads * past_len * dim, total = past_len + now_len;
    all_.resize(static_cast<size_t>(heads * total * dim));
    const data::tensor both{all_.data(), total * dim, dim, heads, past_len + now_len, dim};
    copy_rows({cache.data() + before, ptrdiff_t{past_len} * dim, dim, heads, past_len, dim}, both, 0);
    copy_rows(rows, both, past_len);
    rows = both;
  }
  cached(const cached&) = delete;
  cached& operator=(const cached&) = delete;

  data::tensor rows;

 private:
  std::vector<float> now_, all_;
};

void give(const data::tensor& t, fovea_in& in) { in.data = t.data, in.head_stride = t.head_stride, in.token_stride = t.token_stride; }

// One batch of a case as a call.
class batch_call {
 public:
  batch_call(const test_case& c, int32_t batch, std::vector<float>& results)
      : k_(c, "K", "past_key", batch, c.whole("head_dim")), v_(c, "V", "past_value", batch, c.whole("v_head_dim")), q_(c.floats("Q")) {
    call.q_heads = c.whole("q_heads"), call.kv_heads = c.whole("kv_heads");
    call.dim = c.whole("head_dim"), call.v_dim = c.whole("v_head_dim");
    call.queries = c.whole("q_len"), call.keys = k_.rows.tokens;
    if (c.whole("nonpad") == 1) call.keys = static_cast<int32_t>(c.counts("nonpad_kv_seqlen")[static_cast<size_t>(batch)]);
    give(place(q_, c, batch, call.q_heads, call.queries, call.dim), call.q);
    give(k_.rows, call.k);
    give(v_.rows, call.v);
    const data::tensor out = place(results, c, batch, call.q_heads, call.queries, call.v_dim);
    call.out.data = out.data, call.out.head_stride = out.head_stride, call.out.token_stride = out.token_stride;
    set_options(c);
  }

  fovea_attention call = {};

 private:
  void set_options(const test_case& c) {
    call.flags = FOVEA_SCALE | FOVEA_POSITION;
    call.scale = static_cast<float>(c.number("scale"));
    const std::string align = c.text("causal_align");
    const bool top_left = align == "square" || align == "topleft";
    call.position = c.whole("nonpad") == 1 ? call.keys - call.queries : top_left ? 0 : c.whole("past_len");
    if (c.whole("causal") == 1) call.flags |= FOVEA_CAUSAL;
    call.window_left = c.whole("window_left"), call.window_right = c.whole("window_right");
    if (call.window_left >= 0 || call.window_right >= 0) call.flags |= FOVEA_WINDOW;
  }

  cached k_, v_;
  std::vector<float> q_;
};

// The error bounds of a batch, in the place of its results.
void place_bounds(const fovea_attention& a, const std::vector<float>& results, std::vector<double>& bounds) {
  const std::vector<double> of_batch = reference::attend(a).bound;
  const float* out = static_cast<const float*>(a.out.data);
  size_t n = 0;
  for (int32_t h = 0; h < a.q_heads; ++h)
    for (int32_t i = 0; i < a.queries; ++i)
      for (int32_t x = 0; x < a.v_dim; ++x)
        bounds[static_cast<size_t>(out + h * a.out.head_stride + i * a.out.token_stride + x - results.data())] = of_batch[n++];
}

void check_case(const test_case& c, int32_t isa) {
  INFO("case ", c.text("name"));
  const std::vector<float> expected = c.floats("Y");
  reference::answer exact{c.exact("Y"), std::vector<double>(expected.size())};
  std::vector<float> results(expected.size(), -12345.0f);
  for (int32_t batch = 0; batch < c.whole("batch"); ++batch) {
    batch_call b(c, batch, results);
    b.call.isa = isa;
    CHECK(attend_in(b.call, fovea_scratch_best(&b.call)) == FOVEA_OK);
    place_bounds(b.call, results, exact.bound);
  }
  const double flushed = isas::keeps_denormals(isa) ? 0 : std::numeric_limits<float>::min();
  for (double& bound : exact.bound) bound += flushed;
  int wrong = 0;
  for (size_t n = 0; n < results.size(); ++n)
    wrong += !(std::fabs(results[n] - expected[n]) <= c.number("atol") + c.number("rtol") * std::fabs(expected[n]) + flushed);
  CHECK(wrong == 0);
  if (exact.out.size() == results.size()) reference::check_results(exact, results);
}

int count_cases(group wanted) {
  int count = 0;
  for (const test_case& c : conformance::all_cases()) count += group_of(c) == wanted;
  return count;
}

constexpr const char* no_folder = "no conformance cases: FOVEA_CONFORMANCE names no folder that has them";

void run_group(group wanted) {
  if (conformance::folder().empty()) return report::skip(no_folder);
  CHECK(count_cases(wanted) > 0);
  for (const test_case& c : conformance::all_cases())
    if (group_of(c) == wanted) isas::for_each([&](int32_t isa) { check_case(c, isa); });
}

// A group that waits for a later version.
void skip_group(group wanted, const char* why) {
  if (conformance::folder().empty()) return report::skip(no_folder);
  static std::map<group, std::string> reasons;
  std::string& reason = reasons[wanted];
  reason = std::to_string(count_cases(wanted)) + " conformance cases need " + why;
  report::skip(reason.c_str());
}

} // namespace

TEST_CASE("conformance_attention") { run_group(group::attention); }
TEST_CASE("conformance_masks") { skip_group(group::masks, "masks"); }
TEST_CASE("conformance_softcap") { skip_group(group::softcap, "softcap"); }
TEST_CASE("conformance_scores") { skip_group(group::scores, "scores or weights as an output"); }
TEST_CASE("conformance_rotary") { skip_group(group::rotary, "rotary embedding"); }
TEST_CASE("conformance_softmax") { skip_group(group::softmax, "softmax as an operation"); }
