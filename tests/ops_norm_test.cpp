// Layer norm, RMS norm and mean pooling: the bits of docs/numerics.md on each ISA, its error bounds, and what
// is refused.
#include "lib/common/square_root.hpp"
#include "ops_model.hpp"
#include "ops_table.hpp"

using namespace ops;

namespace {

struct norm_case {
  const char* why;
  int32_t kind;
  bool weight, bias, residual, sum, plus_one;
  float epsilon, size, offset;
};
constexpr norm_case norm_cases[] = {
    {"layer norm", FOVEA_LAYER_NORM, true, true, false, false, false, 0, 2, 0},
    {"without weights", FOVEA_LAYER_NORM, false, false, false, false, false, 0, 2, 0},
    {"a mean far from 0", FOVEA_LAYER_NORM, true, false, false, false, false, 1e-12f, 1, 100},
    {"with a residual", FOVEA_LAYER_NORM, true, true, true, false, false, 1e-12f, 3, 1},
    {"and its sum", FOVEA_LAYER_NORM, false, true, true, true, false, 0, 3, 0},
    {"RMS norm", FOVEA_RMS_NORM, true, false, false, false, false, 1e-6f, 2, 0},
    {"1 + weight", FOVEA_RMS_NORM, true, false, true, true, true, 1e-6f, 2, 0},
    {"tiny numbers", FOVEA_RMS_NORM, true, true, false, false, false, 1e-6f, 1e-6f, 0},
};

constexpr int32_t row_count = 3;

struct norm_data {
  ptrdiff_t stride;
  data::guarded<float> in, residual, out, sum;
  std::vector<float> weight, bias;
  fovea_norm_rows call = {};

  norm_data(const norm_case& c, int32_t columns)
      : stride(columns + 3),
        in(extent(columns)),
        residual(extent(columns)),
        out(extent(columns)),
        sum(extent(columns)),
        weight(static_cast<size_t>(columns)),
        bias(static_cast<size_t>(columns)) {
    for (int32_t r = 0; r < row_count; ++r)
      for (int32_t k = 0; k < columns; ++k) {
        const auto at = static_cast<size_t>(r * stride + k);
        in[at] = c.offset + c.size * data::noise(1, static_cast<uint32_t>(r * 5000 + k));
        residual[at] = c.size * data::noise(2, static_cast<uint32_t>(r * 5000 + k));
      }
    for (size_t k = 0; k < weight.size(); ++k) {
      weight[k] = 1 + data::noise(3, static_cast<uint32_t>(k)) / 2;
      bias[k] = data::noise(4, static_cast<uint32_t>(k));
    }
    call.in = in.data();
    call.residual = c.residual ? residual.data() : nullptr;
    call.weight = c.weight ? weight.data() : nullptr;
    call.bias = c.bias ? bias.data() : nullptr;
    call.out = out.data();
    call.sum = c.sum ? sum.data() : nullptr;
    call.in_stride = call.residual_stride = call.out_stride = call.sum_stride = stride;
    call.rows = row_count, call.columns = columns;
    call.kind = c.kind, call.weight_plus_one = c.plus_one ? 1 : 0, call.epsilon = c.epsilon;
  }
  size_t extent(int32_t columns) const { return static_cast<size_t>((row_count - 1) * stride + columns); }
  std::vector<float> x(int32_t r) const {
    std::vector<float> all;
    for (int32_t k = 0; k < call.columns; ++k) {
      const auto at = static_cast<size_t>(r * stride + k);
      all.push_back(call.residual != nullptr ? in[at] + residual[at] : in[at]);
    }
    return all;
  }
};

std::vector<float> row_of(const float* rows_at, ptrdiff_t stride, int32_t r, int32_t columns) {
  return std::vector<float>(rows_at + r * stride, rows_at + r * stride + columns);
}

} // namespace

TEST_CASE("norms_have_the_specified_bits_and_error") {
  for (const norm_case& c : norm_cases)
    for (int32_t columns : {1, 2, 15, 16, 17, 31, 63, 64, 65, 100, 128, 384, 1000}) {
      INFO(doctest::String(c.why), ", columns ", columns);
      norm_data d(c, columns);
      isas::for_each([&](int32_t isa) {
        d.call.isa = isa;
        d.out.wipe(), d.sum.wipe();
        REQUIRE(fovea_norm(&d.call) == FOVEA_OK);
        int wrong = 0;
        for (int32_t r = 0; r < row_count; ++r) {
          const std::vector<float> x = d.x(r), out = row_of(d.out.data(), d.stride, r, columns);
          ops_model::check_norm(d.call, x, out.data(), wrong);
          if (isas::promises_bits(isa)) CHECK(data::same_bits(out, ops_model::norm(d.call, x)));
          if (c.sum) CHECK(data::same_bits(row_of(d.sum.data(), d.stride, r, columns), x));
        }
        CHECK(wrong == 0);
        CHECK((d.out.guards_hold() && d.sum.guards_hold()));
        for (int32_t r = 0; r + 1 < row_count; ++r)
          for (int32_t k = columns; k < d.stride; ++k)
            CHECK(data::is_untouched(d.out[static_cast<size_t>(r * d.stride + k)]));
      });
    }
}

TEST_CASE("norms_in_place_give_the_same_bits") {
  for (const norm_case& c : norm_cases)
    for (int32_t columns : {5, 16, 37, 384})
      isas::for_each([&](int32_t isa) {
        INFO(doctest::String(c.why), ", columns ", columns);
        norm_data apart(c, columns), in(c, columns), residual(c, columns);
        apart.call.isa = in.call.isa = residual.call.isa = isa;
        REQUIRE(fovea_norm(&apart.call) == FOVEA_OK);
        in.call.out = in.in.data();
        REQUIRE(fovea_norm(&in.call) == FOVEA_OK);
        for (int32_t r = 0; r < row_count; ++r)
          CHECK(data::same_bits(row_of(in.in.data(), in.stride, r, columns),
                                row_of(apart.out.data(), apart.stride, r, columns)));
        if (!c.residual) return;
        residual.call.sum = residual.residual.data(); // x = x + y, and its norm
        REQUIRE(fovea_norm(&residual.call) == FOVEA_OK);
        for (int32_t r = 0; r < row_count; ++r) {
          CHECK(data::same_bits(row_of(residual.residual.data(), residual.stride, r, columns), apart.x(r)));
          CHECK(data::same_bits(row_of(residual.out.data(), residual.stride, r, columns),
                                row_of(apart.out.data(), apart.stride, r, columns)));
        }
      });
}

TEST_CASE("norms_of_zeros_are_the_bias_and_a_nan_stays_in_its_row") {
  isas::for_each([&](int32_t isa) {
    norm_data d(norm_cases[0], 20);
    d.call.isa = isa, d.call.kind = FOVEA_RMS_NORM, d.call.epsilon = 1e-38f;
    for (size_t k = 0; k < 20; ++k) d.in[k] = 0;
    d.in[static_cast<size_t>(d.stride) + 7] = std::numeric_limits<float>::quiet_NaN();
    REQUIRE(fovea_norm(&d.call) == FOVEA_OK);
    for (size_t k = 0; k < 20; ++k) {
      CHECK(d.out[k] == d.bias[k]);
      CHECK(std::isnan(d.out[static_cast<size_t>(d.stride) + k]));
      CHECK(std::isfinite(d.out[static_cast<size_t>(2 * d.stride) + k]));
    }
  });
}

TEST_CASE("norms_refuse_bad_arguments") {
  struct bad_argument {
    const char* why;
    int32_t reason, argument;
    void (*spoil)(fovea_norm_rows&);
  };
  constexpr ptrdiff_t huge = std::numeric_limits<ptrdiff_t>::max();
  const bad_argument bad[] = {
      {"no input", FOVEA_NULL, FOVEA_ARG_IN, [](fovea_norm_rows& n) { n.in = nullptr; }},
      {"no output", FOVEA_NULL, FOVEA_ARG_OUT, [](fovea_norm_rows& n) { n.out = nullptr; }},
      {"negative rows", FOVEA_SIZE, FOVEA_ARG_ROWS, [](fovea_norm_rows& n) { n.rows = -1; }},
      {"negative columns", FOVEA_SIZE, FOVEA_ARG_COLUMNS, [](fovea_norm_rows& n) { n.columns = -1; }},
      {"rows backwards", FOVEA_STRIDE, FOVEA_ARG_IN, [](fovea_norm_rows& n) { n.in_stride = -24; }},
      {"results overlap", FOVEA_STRIDE, FOVEA_ARG_OUT, [](fovea_norm_rows& n) { n.out_stride = 19; }},
      {"beyond all memory", FOVEA_OVERFLOW, FOVEA_ARG_RESIDUAL,
       [](fovea_norm_rows& n) { n.residual_stride = huge; }},
      {"a sum of nothing", FOVEA_NULL, FOVEA_ARG_RESIDUAL, [](fovea_norm_rows& n) { n.residual = nullptr; }},
      {"sum and result in one place, with other strides", FOVEA_OVERLAP, FOVEA_ARG_SUM,
       [](fovea_norm_rows& n) { n.sum = n.out, n.sum_stride = 20; }},
      {"the weights stand in the result", FOVEA_OVERLAP, FOVEA_ARG_OUT,
       [](fovea_norm_rows& n) { n.weight = n.out + 8; }},
      {"one behind in place", FOVEA_OVERLAP, FOVEA_ARG_OUT, [](fovea_norm_rows& n) { n.in = n.out + 1; }},
      {"a bias at no address of a float", FOVEA_ALIGN, FOVEA_ARG_BIAS,
       [](fovea_norm_rows& n) {
         n.bias = reinterpret_cast<const float*>(reinterpret_cast<const char*>(n.in) + 2);
       }},
      {"an epsilon that is none", FOVEA_NOT_FINITE, FOVEA_ARG_EPSILON,
       [](fovea_norm_rows& n) { n.epsilon = infinite; }},
      {"a negative epsilon", FOVEA_RANGE, FOVEA_ARG_EPSILON, [](fovea_norm_rows& n) { n.epsilon = -1e-5f; }},
      {"another norm", FOVEA_UNSUPPORTED, FOVEA_ARG_KIND, [](fovea_norm_rows& n) { n.kind = 2; }},
      {"2 + weight", FOVEA_RANGE, FOVEA_ARG_W, [](fovea_norm_rows& n) { n.weight_plus_one = 2; }},
      {"an unknown ISA", FOVEA_UNSUPPORTED, FOVEA_ARG_ISA, [](fovea_norm_rows& n) { n.isa = 99; }},
      {"a reserved word", FOVEA_UNSUPPORTED, FOVEA_ARG_RESERVED,
       [](fovea_norm_rows& n) { n.reserved[0] = 1; }},
  };
  for (const bad_argument& b : bad) {
    INFO(doctest::String(b.why));
    norm_data d(norm_cases[4], 20);
    b.spoil(d.call);
    const int32_t status = fovea_norm(&d.call);
    CHECK(FOVEA_REASON(status) == b.reason);
    CHECK(FOVEA_ARGUMENT(status) == b.argument);
    CHECK((d.out.nothing_written() && d.sum.nothing_written()));
  }
  CHECK(fovea_norm(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  fovea_norm_rows none = {};
  CHECK(fovea_norm(&none) == FOVEA_OK);
}

TEST_CASE("pooling_is_the_mean_of_the_tokens_that_count") {
  const int32_t starts[] = {1, 1, 4, 4, 12, 13}, lengths[] = {0, 2, 0, 8, 1};
  for (int32_t columns : {1, 7, 16, 33, 64}) {
    data::guarded<float> in(static_cast<size_t>(14 * columns)), out(static_cast<size_t>(5 * columns));
    for (size_t i = 0; i < in.size(); ++i) in[i] = data::noise(8, static_cast<uint32_t>(i));
    for (int32_t c = 0; c < columns; ++c) { // tokens that do not count
      in[static_cast<size_t>(c)] = in[static_cast<size_t>(3 * columns + c)] = infinite;
      in[static_cast<size_t>(13 * columns + c)] = std::numeric_limits<float>::quiet_NaN();
    }
    isas::for_each([&](int32_t isa) {
      fovea_pool_rows p = {};
      p.in = in.data(), p.out = out.data(), p.starts = starts, p.lengths = lengths;
      p.sequences = 5, p.columns = columns, p.isa = isa;
      out.wipe();
      REQUIRE(fovea_pool(&p) == FOVEA_OK);
      for (int32_t s = 0; s < 5; ++s)
        for (int32_t c = 0; c < columns; ++c) // additions and a division: the same bits without fma
          CHECK(out[static_cast<size_t>(s * columns + c)] ==
                ops_model::mean(in.data() + starts[s] * columns + c, columns, lengths[s]));
      CHECK(out.guards_hold());
      p.starts = nullptr, p.lengths = nullptr, p.sequences = 2, p.tokens = 3, p.in = in.data() + 4 * columns;
      out.wipe();
      REQUIRE(fovea_pool(&p) == FOVEA_OK);
      for (int32_t c = 0; c < columns; ++c)
        CHECK(out[static_cast<size_t>(columns + c)] == ops_model::mean(p.in + 3 * columns + c, columns, 3));
    });
  }
}

TEST_CASE("pooling_refuses_sequences_that_are_none") {
  struct bad_argument {
    int32_t starts[3], lengths[2], reason, argument;
  };
  const bad_argument bad[] = {
      {{0, 2, 1}, {0, 0}, FOVEA_RANGE, FOVEA_ARG_STARTS},
      {{-1, 2, 3}, {0, 0}, FOVEA_RANGE, FOVEA_ARG_STARTS},
      {{0, 2, 3}, {3, 0}, FOVEA_RANGE, FOVEA_ARG_LENGTHS},
      {{0, 2, 3}, {0, -1}, FOVEA_RANGE, FOVEA_ARG_LENGTHS},
  };
  for (const bad_argument& b : bad) {
    float in[12] = {}, out[8] = {-1};
    fovea_pool_rows p = {};
    p.in = in, p.out = out, p.starts = b.starts, p.lengths = b.lengths, p.sequences = 2, p.columns = 4;
    CHECK(fovea_pool(&p) == (b.reason | b.argument << 8));
    CHECK(out[0] == -1);
  }
  fovea_pool_rows p = {};
  CHECK(fovea_pool(&p) == FOVEA_OK);
  CHECK(fovea_pool(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
  p.sequences = 0x7fffffff, p.tokens = 2;
  CHECK(FOVEA_REASON(fovea_pool(&p)) == FOVEA_SIZE);
}

TEST_CASE("square_roots_in_integers_are_rounded_to_nearest") {
  int wrong = 0;
  for (uint32_t bits = 0; bits <= 0x7f800000u; bits += 104729) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    wrong += fovea::square_root_in_integers(x) != std::sqrt(x);
  }
  CHECK(wrong == 0);
  CHECK(std::isnan(fovea::square_root_in_integers(-1)));
  CHECK(std::isnan(fovea::square_root_in_integers(std::numeric_limits<float>::quiet_NaN())));
  CHECK(fovea::square_root_in_integers(infinite) == infinite);
}
