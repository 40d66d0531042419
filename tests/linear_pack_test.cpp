// Packing of weights: where each number goes, in pieces and in any order, and how it is rounded.
#include <limits>

#include "linear_problem.hpp"

using namespace linear;

namespace {

using bytes = std::vector<unsigned char>;

size_t element(int32_t dtype) { return dtype == FOVEA_F32 ? 4 : 2; }

// A panel of 16 outputs after the other, [in][16] each.
size_t place(int32_t in, int32_t o, int32_t k, int32_t dtype) {
  return (count(o / 16, in) * 16 + static_cast<size_t>(k) * 16 + static_cast<size_t>(o % 16)) *
         element(dtype);
}

float read(const bytes& packed, size_t at, int32_t dtype) {
  if (dtype == FOVEA_F32) {
    float x;
    std::memcpy(&x, &packed[at], sizeof x);
    return x;
  }
  uint16_t h;
  std::memcpy(&h, &packed[at], sizeof h);
  return dtype == FOVEA_F16 ? linear_model::f16_to_float(h) : linear_model::bf16_to_float(h);
}

// Rows of any dtype: floats that all of them hold exactly, or halves drawn by lot.
struct source {
  std::vector<float> floats;
  std::vector<uint16_t> halves;
  int32_t dtype;

  source(int32_t dtype_, size_t n) : dtype(dtype_) {
    for (size_t i = 0; i < n; ++i) {
      const auto h = static_cast<uint16_t>((data::noise(5, static_cast<uint32_t>(i)) + 1) * 15000);
      halves.push_back(h);
      floats.push_back(dtype == FOVEA_F16    ? linear_model::f16_to_float(h)
                       : dtype == FOVEA_BF16 ? linear_model::bf16_to_float(h)
                                             : 3 * data::noise(6, static_cast<uint32_t>(i)));
    }
  }
  fovea_rows_in rows(size_t from, ptrdiff_t stride) const {
    return dtype == FOVEA_F32 ? rows_of(floats.data() + from, stride, dtype)
                              : rows_of(halves.data() + from, stride, dtype);
  }
};

struct piece {
  int32_t at, rows;
};

} // namespace

TEST_CASE("linear_packing_in_pieces_gives_the_same_bytes") {
  const int32_t in = 5, out = 37;
  const std::vector<std::vector<piece>> orders = {{{0, 37}},
                                                  {{0, 10}, {10, 10}, {20, 17}},
                                                  {{20, 17}, {0, 16}, {16, 4}},
                                                  {{36, 1}, {1, 35}, {0, 1}, {7, 0}}};
  for (int32_t from : {FOVEA_F32, FOVEA_F16, FOVEA_BF16})
    for (int32_t to : {FOVEA_F32, FOVEA_F16, FOVEA_BF16}) {
      const ptrdiff_t stride = in + 2;
      const source w(from, static_cast<size_t>(out * stride));
      for (const auto& order : orders) {
        const size_t size = fovea_linear_size(in, out, to);
        data::guarded<unsigned char> packed(size);
        for (const piece& p : order) {
          const fovea_rows_in rows = w.rows(static_cast<size_t>(p.at * stride), stride);
          CHECK(fovea_pack_linear(packed.data(), size, in, out, to, p.at, &rows, p.rows) == FOVEA_OK);
        }
        const bytes all(packed.data(), packed.data() + size);
        int bad = 0;
        for (int32_t o = 0; o < 48; ++o)
          for (int32_t k = 0; k < in; ++k) {
            const float given = o < out ? w.floats[static_cast<size_t>(o * stride + k)] : 0;
            bad += read(all, place(in, o, k, to), to) != linear_model::as_packed(given, to);
          }
        CHECK(bad == 0);
        CHECK(packed.guards_hold());
      }
    }
}

TEST_CASE("linear_packing_of_one_row_takes_any_stride") {
  for (const int32_t dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8, FOVEA_I4}) {
    const std::vector<float> row(40, 0.25f);
    const size_t size = fovea_linear_size(40, 3, dtype);
    bytes expected(size, 0x55), found(size, 0x55);
    for (const bool huge : {false, true}) {
      const fovea_rows_in w = {row.data(), huge ? std::numeric_limits<ptrdiff_t>::max() : 0, FOVEA_F32, 0};
      bytes& packed = huge ? found : expected;
      REQUIRE(fovea_pack_linear(packed.data(), size, 40, 3, dtype, 1, &w, 1) == FOVEA_OK);
    }
    CHECK(found == expected);
  }
}

TEST_CASE("linear_packing_leaves_other_outputs_alone") {
  for (int32_t at : {0, 3, 15, 16, 17, 30}) {
    data::guarded<float> packed(48 * 4);
    const std::vector<float> w(4 * 3, 1.0f);
    const fovea_rows_in rows = rows_of(w.data());
    CHECK(fovea_pack_linear(packed.data(), 48 * 4 * 4, 4, 40, FOVEA_F32, at, &rows, 3) == FOVEA_OK);
    int touched = 0;
    for (size_t i = 0; i < packed.size(); ++i) touched += !data::is_untouched(packed[i]);
    CHECK(touched == 12);
  }
}

TEST_CASE("linear_narrow_floats_are_widened_and_rounded_exactly") {
#if defined(FOVEA_SMALL)
  const uint32_t step = 101, float_step = 15485863;
#else
  const uint32_t step = 1, float_step = 8191;
#endif
  std::vector<uint16_t> halves;
  for (uint32_t h = 0; h < 0x10000; h += step) halves.push_back(static_cast<uint16_t>(h));
  std::vector<float> floats;
  for (uint64_t b = 0; b < 0x100000000; b += float_step)
    floats.push_back(numerics::float_of(static_cast<uint32_t>(b)));
  for (float x : {65503.9f, 65504.0f, 65519.996f, 65520.0f, 65536.0f, 6.1035156e-5f, 6.1035153e-5f,
                  5.9604645e-8f, 2.9802322e-8f, 2.9802326e-8f, 8.9406967e-8f, 3.4e38f, 3.3895314e38f,
                  3.3961e38f, 1.00048828125f, 1.00146484375f, 1.00390625f, 1.01171875f})
    floats.push_back(x), floats.push_back(-x);
  const auto same = [](float a, float b) {
    return std::isnan(a) ? std::isnan(b) : numerics::bits_of(a) == numerics::bits_of(b);
  };
  for (int32_t dtype : {FOVEA_F16, FOVEA_BF16}) {
    INFO("dtype ", dtype);
    const auto n = static_cast<int32_t>(halves.size()), m = static_cast<int32_t>(floats.size());
    bytes packed(fovea_linear_size(1, n, FOVEA_F32));
    fovea_rows_in rows = rows_of(halves.data(), 0, dtype);
    CHECK(fovea_pack_linear(packed.data(), packed.size(), 1, n, FOVEA_F32, 0, &rows, n) == FOVEA_OK);
    int bad = 0;
    for (size_t i = 0; i < halves.size(); ++i)
      bad += !same(read(packed, 4 * i, FOVEA_F32), dtype == FOVEA_F16
                                                       ? linear_model::f16_to_float(halves[i])
                                                       : linear_model::bf16_to_float(halves[i]));
    CHECK(bad == 0);

    bytes narrow(fovea_linear_size(1, m, dtype));
    rows = rows_of(floats.data());
    CHECK(fovea_pack_linear(narrow.data(), narrow.size(), 1, m, dtype, 0, &rows, m) == FOVEA_OK);
    for (size_t i = 0; i < floats.size(); ++i)
      bad += !same(read(narrow, 2 * i, dtype), linear_model::as_packed(floats[i], dtype));
    CHECK(bad == 0);
  }
}

TEST_CASE("linear_kernels_widen_every_narrow_float_exactly") {
#if defined(FOVEA_SMALL)
  const uint32_t step = 31;
#else
  const uint32_t step = 1;
#endif
  for (int32_t dtype : {FOVEA_F16, FOVEA_BF16}) {
    std::vector<uint16_t> halves;
    for (uint32_t h = 0; h < 0x10000; h += step) {
      const bool denormal_float = dtype == FOVEA_BF16 && (h & 0x7f80) == 0 && (h & 0x7f) != 0;
      halves.push_back(denormal_float ? uint16_t{0} : static_cast<uint16_t>(h)); // some cores flush those
    }
    const auto out = static_cast<int32_t>(halves.size());
    std::vector<float> packed(fovea_linear_size(1, out, dtype) / sizeof(float)), y(halves.size());
    const fovea_rows_in rows = rows_of(halves.data(), 0, dtype);
    CHECK(fovea_pack_linear(packed.data(), packed.size() * 4, 1, out, dtype, 0, &rows, out) == FOVEA_OK);
    const float one = 1;
    fovea_linear linear = {};
    linear.packed = packed.data();
    linear.in = 1, linear.out = out, linear.dtype = dtype;
    for (int32_t many : {1, 2, 6}) {
      const std::vector<float> x(static_cast<size_t>(many), one);
      std::vector<float> all(count(many, out));
      fovea_product p = {};
      p.w = &linear, p.x.data = x.data(), p.y.data = all.data(), p.rows = many;
      isas::for_each([&](int32_t isa) {
        p.isa = isa;
        CHECK(multiply(p) == FOVEA_OK);
        int bad = 0;
        for (size_t i = 0; i < all.size(); ++i) {
          const uint16_t h = halves[i % halves.size()];
          const float e = dtype == FOVEA_F16 ? linear_model::f16_to_float(h) : linear_model::bf16_to_float(h);
          bad += std::isnan(e) ? !std::isnan(all[i]) : all[i] != e;
        }
        CHECK(bad == 0);
      });
    }
  }
}

TEST_CASE("linear_sizes_are_constant_expressions") {
  static_assert(FOVEA_LINEAR_BYTES(384, 1536, FOVEA_F32) == 384 * 1536 * 4, "whole panels");
  static_assert(FOVEA_LINEAR_BYTES(3, 17, FOVEA_BF16) == 3 * 32 * 2, "the last panel is whole");
  for (int32_t dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16})
    for (int32_t in : {1, 31, 32, 33, 1000})
      for (int32_t out : {1, 16, 17, 1000})
        CHECK(fovea_linear_size(in, out, dtype) == FOVEA_LINEAR_BYTES(in, out, dtype));
  constexpr int32_t strays[] = {0, -1, INT32_MIN, FOVEA_LINEAR_MAX + 1, INT32_MAX};
  for (int32_t bad : strays) {
    CHECK(fovea_linear_size(bad, 1, FOVEA_F32) == 0);
    CHECK(fovea_linear_size(1, bad, FOVEA_F32) == 0);
  }
  CHECK(fovea_linear_size(1, 1, FOVEA_I16) == 0);
  CHECK(fovea_linear_size(1, 1, -1) == 0);
}
