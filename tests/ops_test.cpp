// Softmax rows, dot products and matrix times vector: against a textbook in double, and with the same bits on every ISA.
#include "fovea/ops.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "data.hpp"
#include "digest.hpp"
#include "isas.hpp"

namespace {

constexpr double u = 1.0 / (1 << 24);
constexpr float infinite = std::numeric_limits<float>::infinity();

// The textbook. `seen` tells which columns count; a row without any is zeros.
struct answer {
  std::vector<double> weight, score;
  double lse = -std::numeric_limits<double>::infinity();
  double size = 0; // of the scores before the peak is taken off: what single precision rounds
};

double bias_of(const fovea_softmax_rows& s, int32_t r, int32_t c) {
  const fovea_mask& m = s.mask;
  if (m.data == nullptr) return 0;
  if (m.keys != 0 && c >= m.keys) return -std::numeric_limits<double>::infinity();
  const ptrdiff_t at = r * m.query_stride + c;
  if (m.is_bias != 0) return static_cast<const float*>(m.data)[at];
  return static_cast<const uint8_t*>(m.data)[at] != 0 ? 0 : -std::numeric_limits<double>::infinity();
}

answer textbook(const fovea_softmax_rows& s, const float* row, int32_t r) {
  const double scale = (s.flags & FOVEA_SCALE) != 0 ? s.scale : 1.0;
  answer a;
  double peak = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int32_t c = 0; c < s.columns; ++c) {
    const double raw = scale * row[c], bias = bias_of(s, r, c);
    const bool hidden = raw < -1e300 || bias < -1e300;
    const double capped = s.softcap != 0 ? s.softcap * std::tanh(raw / s.softcap) : raw;
    const double score = hidden ? -std::numeric_limits<double>::infinity() : capped + bias;
    a.score.push_back(score);
    if (!hidden) a.size = std::fmax(a.size, std::fabs(raw) + std::fabs(bias));
    peak = std::fmax(peak, score);
  }
  for (double score : a.score) a.weight.push_back(std::isinf(score) ? 0 : std::exp(score - peak));
  for (double w : a.weight) sum += w;
  for (double& w : a.weight) w = sum > 0 ? w / sum : 0;
  if (sum > 0) a.lse = peak + std::log(sum);
  return a;
}

// docs/numerics.md, section 9: of a weight, and of the log-sum-exp.
double weight_bound(const fovea_softmax_rows& s, const answer& a, double weight) {
  const bool modified = s.mask.data != nullptr || s.softcap != 0;
  const double scores = modified ? 8 * a.size : 0, distance = std::fmin(70, -std::log(std::fmax(weight, 1e-43)));
  return (4 * distance + 4 * std::log(s.columns) + s.columns / 256 + 32 + scores) * u * weight + 3.2e-30;
}
double lse_bound(const fovea_softmax_rows& s, const answer& a) {
  return (4 * std::log(s.columns) + s.columns / 256 + 33 + 12 * a.size + 2 * std::fabs(a.lse)) * u;
}

// Rows of noise with strides, guarded by NaN.
struct table {
  int32_t rows, columns;
  ptrdiff_t in_stride, out_stride;
  data::guarded<float> in, out, lse;

  table(int32_t rows_, int32_t columns_, float size, ptrdiff_t in_gap = 0, ptrdiff_t out_gap = 0)
      : rows(rows_),
        columns(columns_),
        in_stride(columns_ + in_gap),
        out_stride(columns_ + out_gap),
        in(extent(in_stride)),
        out(extent(out_stride)),
        lse(static_cast<size_t>(rows_)) {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) at(r, c) = size * data::noise(17, static_cast<uint32_t>(r * 8192 + c));
  }
  size_t extent(ptrdiff_t stride) const { return rows == 0 ? 0 : static_cast<size_t>((rows - 1) * stride + columns); }
  float& at(int32_t r, int32_t c) { return in[static_cast<size_t>(r * in_stride + c)]; }
  float result(int32_t r, int32_t c) const { return out[static_cast<size_t>(r * out_stride + c)]; }
  std::vector<float> results() const {
    std::vector<float> all;
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c) all.push_back(result(r, c));
    for (int32_t r = 0; r < rows; ++r) all.push_back(lse[static_cast<size_t>(r)]);
    return all;
  }
  fovea_softmax_rows call() {
    fovea_softmax_rows s = {};
    s.in = in.data(), s.out = out.data(), s.lse = lse.data();
    s.rows = rows, s.columns = columns;
    s.in_stride = in_stride, s.out_stride = out_stride;
    return s;
  }
  bool gaps_untouched() const {
    for (int32_t r = 0; r + 1 < rows; ++r)
      for (ptrdiff_t c = columns; c < out_stride; ++c)
        if (!data::is_untouched(out[static_cast<size_t>(r * out_stride + c)])) return false;
    return out.guards_hold() && lse.guards_hold() && in.guards_hold();
  }
};

void check_results(table& t, const fovea_softmax_rows& s) {
  int wrong = 0;
  for (int32_t r = 0; r < t.rows; ++r) {
    const answer a = textbook(s, &t.at(r, 0), r);
    for (int32_t c = 0; c < t.columns; ++c) {
      const double weight = a.weight[static_cast<size_t>(c)], error = std::fabs(t.result(r, c) - weight);
      wrong += !(error <= weight_bound(s, a, weight)) || (std::isinf(a.score[static_cast<size_t>(c)]) && t.result(r, c) != 0);
    }
    const float lse = t.lse[static_cast<size_t>(r)];
    wrong += std::isinf(a.lse) ? lse != -infinite : !(std::fabs(lse - a.lse) <= lse_bound(s, a));
  }
  CHECK(wrong == 0);
}

// Runs a call on every ISA: right everywhere, nothing else written, and one digest where bits are promised.
void check_everywhere(table& t, fovea_softmax_rows s, digest* bits = nullptr) {
  std::vector<float> promised;
  isas::for_each([&](int32_t isa) {
    s.isa = isa;
    t.out.wipe(), t.lse.wipe();
    CHECK(fovea_softmax(&s) == FOVEA_OK);
    check_results(t, s);
    CHECK(t.gaps_untouched());
    if (!isas::promises_bits(isa)) return;
    if (promised.empty()) promised = t.results();
    CHECK(data::same_bits(t.results(), promised));
  });
  if (bits != nullptr) bits->add(promised);
}

// A change of these is a change of docs/numerics.md.
void check_digest(const digest& bits, uint64_t golden) {
  if (isas::promises_bits(isas::only())) CHECK(bits.value() == golden);
}

std::vector<int32_t> lengths() {
  std::vector<int32_t> all;
  for (int32_t n = 0; n <= 70; ++n) all.push_back(n);
  for (int32_t n : {255, 256, 257, 1000, 4097}) all.push_back(n);
  return all;
}

} // namespace

TEST_CASE("softmax_of_rows_of_every_length") {
  digest bits;
  for (int32_t n : lengths()) {
    INFO("columns ", n);
    table t(3, n, 4), wide(2, n, 60, 5, 3);
    check_everywhere(t, t.call(), &bits);
    check_everywhere(wide, wide.call(), &bits); // reaches below 2^-100, with gaps between rows
  }
  table none(0, 40, 1);
  check_everywhere(none, none.call());
  check_digest(bits, 0x1c49ef32f9069cdbu);
}

TEST_CASE("softmax_in_place_gives_the_same_bits") {
  for (int32_t n : lengths()) {
    INFO("columns ", n);
    isas::for_each([&](int32_t isa) {
      table t(3, n, 9, 2, 0);
      std::vector<uint8_t> shown(static_cast<size_t>(n + 1), 1);
      if (n > 3) shown[static_cast<size_t>(n / 3)] = 0;
      for (int32_t modified = 0; modified < 2; ++modified) {
        fovea_softmax_rows s = t.call();
        s.isa = isa;
        if (modified == 1) s.softcap = 5, s.mask.data = shown.data();
        CHECK(fovea_softmax(&s) == FOVEA_OK);
        const std::vector<float> apart = t.results();
        data::guarded<float> both = t.in;
        s.in = s.out = both.data(), s.out_stride = s.in_stride;
        CHECK(fovea_softmax(&s) == FOVEA_OK);
        int different = 0;
        for (int32_t r = 0; r < 3; ++r)
          for (int32_t c = 0; c < n; ++c)
            different += both[static_cast<size_t>(r * t.in_stride + c)] != apart[static_cast<size_t>(r * n + c)];
        CHECK(different == 0);
        CHECK(both.guards_hold());
      }
    });
  }
}

TEST_CASE("softmax_with_scale_softcap_and_masks") {
  struct options {
    const char* why;
    float scale, softcap;
    int mask; // 0 = none, 1 = bool, 2 = bias
    bool row_by_row;
    int32_t keys;
  };
  const options all[] = {
      {"a scale", 0.125f, 0, 0, false, 0},
      {"a negative scale", -3, 0, 0, false, 0},
      {"a scale of 0", 0, 0, 0, false, 0},
      {"softcap", 1, 3, 0, false, 0},
      {"softcap and scale", -2, 10, 0, false, 0},
      {"one bool mask", 1, 0, 1, false, 0},
      {"bool masks", 2, 0, 1, true, 0},
      {"one bias", 1, 0, 2, false, 0},
      {"biases, softcap", -1, 7, 2, true, 0},
      {"bool masks, softcap", 1, 7, 1, true, 0},
      {"a mask that ends early", 1, 0, 1, true, 9},
      {"a bias that ends early", 1, 2, 2, true, 33},
  };
  digest bits;
  for (const options& o : all)
    for (int32_t n : {1, 2, 5, 15, 16, 17, 31, 33, 64, 255, 256, 257, 300, 513}) {
      INFO(doctest::String(o.why), ", columns ", n);
      table t(4, n, 6, 1, 2);
      const ptrdiff_t stride = n + 3;
      data::guarded<float> bias(static_cast<size_t>(3 * stride + n));
      data::guarded<uint8_t> shown(static_cast<size_t>(3 * stride + n));
      for (int32_t r = 0; r < 4; ++r)
        for (int32_t c = 0; c < n; ++c) {
          const float x = data::noise(5, static_cast<uint32_t>(r * 1000 + c));
          const bool hidden = r == 3 || x > 0.4f; // row 3 sees nothing
          bias[static_cast<size_t>(r * stride + c)] = hidden ? -infinite : 4 * x;
          shown[static_cast<size_t>(r * stride + c)] = hidden ? 0 : static_cast<uint8_t>(1 + c % 255);
        }
      fovea_softmax_rows s = t.call();
      s.flags = FOVEA_SCALE, s.scale = o.scale, s.softcap = o.softcap;
      s.mask.data = o.mask == 0 ? nullptr : o.mask == 1 ? static_cast<const void*>(shown.data()) : bias.data();
      s.mask.is_bias = o.mask == 2, s.mask.query_stride = o.row_by_row ? stride : 0, s.mask.keys = o.keys;
      check_everywhere(t, s, &bits);
    }
  check_digest(bits, 0x62aa358286aa4cc0u);
}

TEST_CASE("softmax_large_and_infinite_scores") {
  for (int32_t n : {4, 16, 20, 300}) {
    INFO("columns ", n);
    table t(6, n, 1);
    for (int32_t c = 0; c < n; ++c) {
      t.at(0, c) += 1e4f, t.at(1, c) -= 1e6f;           // no accuracy is lost far from 0
      t.at(2, c) = c % 3 == 0 ? -infinite : t.at(2, c); // not seen
      t.at(3, c) = -infinite;                           // nothing seen
      t.at(4, c) = c == n - 1 ? 3e38f : -3e38f;
      t.at(5, c) = -std::numeric_limits<float>::max();
    }
    check_everywhere(t, t.call());
  }
}

TEST_CASE("softmax_shows_every_nan_and_hides_what_is_masked") {
  uint32_t patterns[] = {0x7fc00000u, 0xffffffffu, 0x7fc00001u, 0x7f800000u}; // three NaN and +infinity
  for (int32_t n : {3, 16, 37, 600})
    for (uint32_t pattern : patterns)
      for (const int32_t place : {int32_t{0}, n / 2, n - 1}) {
        INFO("columns ", n, ", place ", place);
        table t(1, n, 1);
        std::memcpy(&t.at(0, place), &pattern, sizeof pattern);
        std::vector<uint8_t> shown(static_cast<size_t>(n), 1);
        shown[static_cast<size_t>(place)] = 0;
        isas::for_each([&](int32_t isa) {
          fovea_softmax_rows s = t.call();
          s.isa = isa;
          CHECK(fovea_softmax(&s) == FOVEA_OK);
          int nans = 0;
          for (float x : t.results()) nans += std::isnan(x);
          CHECK(nans == n + 1); // and the log-sum-exp
          s.mask.data = shown.data();
          CHECK(fovea_softmax(&s) == FOVEA_OK);
          double sum = 0;
          for (int32_t c = 0; c < n; ++c) sum += t.result(0, c);
          CHECK(std::fabs(sum - 1) < 1e-5);
          CHECK(t.result(0, place) == 0);
        });
      }
}

TEST_CASE("dot_and_matvec_of_every_length") {
  digest bits;
  for (int32_t n : lengths()) {
    INFO("columns ", n);
    const int32_t rows = 3;
    table w(rows, n, 2, 7), x(1, n, 1);
    std::vector<float> promised;
    isas::for_each([&](int32_t isa) {
      data::guarded<float> out(static_cast<size_t>(rows));
      CHECK(fovea_matvec(w.in.data(), w.in_stride, x.in.data(), rows, n, isa, out.data()) == FOVEA_OK);
      std::vector<float> results;
      for (int32_t r = 0; r < rows; ++r) {
        double exact = 0, size = 0;
        for (int32_t c = 0; c < n; ++c) {
          const double product = static_cast<double>(w.at(r, c)) * x.at(0, c);
          exact += product, size += std::fabs(product);
        }
        const float result = out[static_cast<size_t>(r)];
        CHECK(std::fabs(result - exact) <= (n / 64 + 9) * 2 * u * size); // twice: SSE4.1 rounds products too
        float alone = -1;
        CHECK(fovea_dot(&w.at(r, 0), x.in.data(), n, isa, &alone) == FOVEA_OK);
        CHECK(alone == result);
        results.push_back(result);
      }
      CHECK(out.guards_hold());
      if (!isas::promises_bits(isa)) return;
      if (promised.empty()) promised = results;
      CHECK(data::same_bits(results, promised));
    });
    bits.add(promised);
  }
  check_digest(bits, 0x1ff1f008e828b459u);
}

TEST_CASE("row_operations_refuse_bad_arguments") {
  struct bad_argument {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_softmax_rows&);
  };
  constexpr ptrdiff_t huge = std::numeric_limits<ptrdiff_t>::max();
  static uint8_t mask[64];
  const bad_argument bad[] = {
      {"no input", FOVEA_NULL, FOVEA_ARG_IN, [](fovea_softmax_rows& s) { s.in = nullptr; }},
      {"no output", FOVEA_NULL, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out = nullptr; }},
      {"negative rows", FOVEA_SIZE, FOVEA_ARG_ROWS, [](fovea_softmax_rows& s) { s.rows = -1; }},
      {"negative columns", FOVEA_SIZE, FOVEA_ARG_COLUMNS, [](fovea_softmax_rows& s) { s.columns = -1; }},
      {"too many columns", FOVEA_SIZE, FOVEA_ARG_COLUMNS, [](fovea_softmax_rows& s) { s.columns = FOVEA_COLUMNS_MAX + 1; }},
      {"rows backwards", FOVEA_STRIDE, FOVEA_ARG_IN, [](fovea_softmax_rows& s) { s.in_stride = -20; }},
      {"results backwards", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out_stride = -20; }},
      {"results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out_stride = 19; }},
      {"rows beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_IN, [](fovea_softmax_rows& s) { s.in_stride = huge; }},
      {"results beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.out_stride = huge / 4; }},
      {"in is no address of a float", FOVEA_ALIGN, FOVEA_ARG_IN,
       [](fovea_softmax_rows& s) { s.in = reinterpret_cast<const float*>(reinterpret_cast<const char*>(s.in) + 1); }},
      {"in place with other strides", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.in = s.out, s.in_stride = 30; }},
      {"one behind in place", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.in = s.out + 1; }},
      {"the mask stands in the output", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_softmax_rows& s) { s.mask.data = s.out; }},
      {"lse stands in the output", FOVEA_OVERLAP, FOVEA_ARG_LSE, [](fovea_softmax_rows& s) { s.lse = s.out + 59; }},
      {"a scale that is no number", FOVEA_NOT_FINITE, FOVEA_ARG_SCALE,
       [](fovea_softmax_rows& s) { s.flags = FOVEA_SCALE, s.scale = std::numeric_limits<float>::quiet_NaN(); }},
      {"a scale that overflows", FOVEA_RANGE, FOVEA_ARG_SCALE, [](fovea_softmax_rows& s) { s.flags = FOVEA_SCALE, s.scale = 3e38f; }},
      {"a negative softcap", FOVEA_RANGE, FOVEA_ARG_SOFTCAP, [](fovea_softmax_rows& s) { s.softcap = -1; }},
      {"an infinite softcap", FOVEA_NOT_FINITE, FOVEA_ARG_SOFTCAP, [](fovea_softmax_rows& s) { s.softcap = infinite; }},
      {"a flag of attention", FOVEA_UNSUPPORTED, FOVEA_ARG_FLAGS, [](fovea_softmax_rows& s) { s.flags = FOVEA_CAUSAL; }},
      {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](fovea_softmax_rows& s) { s.isa = FOVEA_ISA_END; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED, [](fovea_softmax_rows& s) { s.reserved[3] = 1; }},
      {"a mask with heads", FOVEA_STRIDE, FOVEA_ARG_MASK, [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.head_stride = 1; }},
      {"a mask backwards", FOVEA_STRIDE, FOVEA_ARG_MASK, [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.query_stride = -1; }},
      {"a mask of negative length", FOVEA_RANGE, FOVEA_ARG_MASK, [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.keys = -1; }},
      {"a mask of a third kind", FOVEA_RANGE, FOVEA_ARG_MASK, [](fovea_softmax_rows& s) { s.mask.data = mask, s.mask.is_bias = 2; }},
      {"a bias that is no float", FOVEA_ALIGN, FOVEA_ARG_MASK,
       [](fovea_softmax_rows& s) { s.mask.data = reinterpret_cast<const char*>(s.in) + 2, s.mask.is_bias = 1; }},
  };
  for (const bad_argument& b : bad) {
    INFO(doctest::String(b.why));
    table t(3, 20, 1);
    fovea_softmax_rows s = t.call();
    b.spoil(s);
    const int32_t status = fovea_softmax(&s);
    CHECK(FOVEA_REASON(status) == b.reason);
    CHECK(FOVEA_ARGUMENT(status) == b.argument);
    CHECK((t.out.nothing_written() && t.lse.nothing_written()));
  }
  CHECK(fovea_softmax(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}

TEST_CASE("products_refuse_bad_arguments") {
  float w[8] = {}, x[4] = {}, out[2] = {-1, -1};
  const auto refused = [&](int32_t status, int32_t reason, int32_t argument) {
    CHECK(status == (reason | argument << 8));
    CHECK((out[0] == -1 && out[1] == -1));
  };
  refused(fovea_matvec(nullptr, 0, x, 2, 4, 0, out), FOVEA_NULL, FOVEA_ARG_W);
  refused(fovea_matvec(w, 0, nullptr, 2, 4, 0, out), FOVEA_NULL, FOVEA_ARG_X);
  refused(fovea_matvec(w, 0, x, 2, 4, 0, nullptr), FOVEA_NULL, FOVEA_ARG_OUT);
  refused(fovea_matvec(w, -4, x, 2, 4, 0, out), FOVEA_STRIDE, FOVEA_ARG_W);
  refused(fovea_matvec(w, 0, x, -2, 4, 0, out), FOVEA_SIZE, FOVEA_ARG_ROWS);
  refused(fovea_matvec(w, 0, x, 2, -4, 0, out), FOVEA_SIZE, FOVEA_ARG_COLUMNS);
  refused(fovea_matvec(w, 0, out, 2, 2, 0, out), FOVEA_OVERLAP, FOVEA_ARG_OUT);
  refused(fovea_matvec(w, 0, x, 2, 4, -1, out), FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  refused(fovea_dot(out, x, 2, 0, out + 1), FOVEA_OVERLAP, FOVEA_ARG_OUT);
  CHECK(fovea_dot(nullptr, nullptr, 0, 0, out) == FOVEA_OK);
  CHECK(out[0] == 0);
}
