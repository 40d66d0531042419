// Softmax of rows: against a textbook in double, and with the same bits on every ISA.
#include "ops_table.hpp"

using namespace ops;

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
            different += both[static_cast<size_t>(r * t.in_stride + c)] !=
                         apart[static_cast<size_t>(r * n + c)];
        CHECK(different == 0);
        CHECK(both.guards_hold());
      }
    });
  }
}

// Many rows flow through the kernel together; easy ones, and those that need care, in every order.
static table mixed_rows(int32_t rows, int32_t columns, uint32_t order) {
  table t(rows, columns, 3, 2, 2);
  for (int32_t r = 0; r < rows; ++r)
    for (int32_t c = 0; c < columns; ++c) {
      float& x = t.at(r, c);
      switch (data::noise(29 + order, static_cast<uint32_t>(r)) > 0 ? 0 : r % 7) {
        case 1:
          x *= 100;
          break; // below 2^-100
        case 2:
          x = c % 3 == 0 ? -infinite : x;
          break; // not seen
        case 3:
          x = -infinite;
          break; // nothing seen
        case 4:
          x = c == columns / 2 ? std::numeric_limits<float>::quiet_NaN() : x;
          break;
        case 5:
          x = c == columns - 1 ? infinite : x;
          break;
        default:
          break;
      }
    }
  return t;
}

// Which NaN it is, nobody promises.
static bool same_numbers(std::vector<float> a, std::vector<float> b) {
  for (std::vector<float>* all : {&a, &b})
    for (float& x : *all) x = std::isnan(x) ? 2 : x;
  return data::same_bits(a, b);
}

TEST_CASE("softmax_of_many_rows_has_the_bits_of_each_alone") {
  for (int32_t rows : {5, 6, 7, 13, 40})
    for (int32_t n : {15, 16, 17, 64, 197, 256, 257, 300, 600})
      for (float scale : {1.f, -0.5f, 0.f}) {
        INFO("rows ", rows, ", columns ", n, ", scale ", scale);
        table t = mixed_rows(rows, n, static_cast<uint32_t>(n));
        isas::for_each([&](int32_t isa) {
          fovea_softmax_rows s = t.call();
          s.isa = isa, s.flags = FOVEA_SCALE, s.scale = scale;
          t.out.wipe(), t.lse.wipe();
          for (int32_t r = 0; r < rows; ++r) {
            fovea_softmax_rows one = s;
            one.rows = 1, one.in = s.in + r * t.in_stride, one.out = s.out + r * t.out_stride,
            one.lse = s.lse + r;
            CHECK(fovea_softmax(&one) == FOVEA_OK);
          }
          const std::vector<float> alone = t.results();
          t.out.wipe(), t.lse.wipe();
          CHECK(fovea_softmax(&s) == FOVEA_OK);
          CHECK(same_numbers(t.results(), alone));
          CHECK(t.gaps_untouched());
          data::guarded<float> both = t.in;
          s.in = s.out = both.data();
          CHECK(fovea_softmax(&s) == FOVEA_OK);
          std::vector<float> in_place;
          for (int32_t r = 0; r < rows; ++r) {
            const float* row = both.data() + r * t.in_stride;
            in_place.insert(in_place.end(), row, row + n);
          }
          CHECK(same_numbers(in_place, std::vector<float>(alone.begin(), alone.end() - rows)));
          CHECK(both.guards_hold());
        });
      }
}

TEST_CASE("softmax_of_many_rows_counts_each_column_behind_the_last_sixteen_once") {
  for (int32_t n = 16; n <= 32; ++n) {
    INFO("columns ", n);
    table t(7, n, 1);
    check_everywhere(t, t.call());
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
      s.mask.data = o.mask == 0   ? nullptr
                    : o.mask == 1 ? static_cast<const void*>(shown.data())
                                  : bias.data();
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

TEST_CASE("softmax_of_infinities_times_a_scale_of_0_is_nan_with_and_without_softcap") {
  for (int32_t n : {3, 16, 37, 600})
    for (float softcap : {0.f, 1000.f})
      isas::for_each([&](int32_t isa) {
        INFO("columns ", n, ", softcap ", softcap);
        table t(1, n, 1);
        t.at(0, n / 2) = -infinite;
        fovea_softmax_rows s = t.call();
        s.isa = isa, s.flags = FOVEA_SCALE, s.scale = 0, s.softcap = softcap;
        CHECK(fovea_softmax(&s) == FOVEA_OK);
        for (int32_t c = 0; c < n; ++c) CHECK(std::isnan(t.result(0, c)));
      });
}
