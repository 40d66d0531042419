// Activations of rows have the bits that they have behind a product, whose tests hold them to their formulas.
#include "ops_table.hpp"

using namespace ops;

TEST_CASE("activations_of_rows_have_the_bits_of_those_behind_products") {
  constexpr int32_t width = 19, rows = 5;
  std::vector<float> identity(width * width),
      packed(FOVEA_LINEAR_BYTES(width, width, FOVEA_F32) / sizeof(float));
  for (size_t i = 0; i < width; ++i) identity[i * width + i] = 1;
  const fovea_rows_in w = {identity.data(), 0, FOVEA_F32, 0};
  REQUIRE(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), width, width, FOVEA_F32, 0, &w,
                            width) == FOVEA_OK);
  const fovea_linear linear = {packed.data(), nullptr, width, width, FOVEA_F32, {}, 0};
  data::guarded<float> x(rows * width), y(rows * width);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = (i < 30 ? 4.f : 40.f) * data::noise(3, static_cast<uint32_t>(i));
  for (const int32_t activation : {FOVEA_RELU, FOVEA_GELU, FOVEA_GELU_TANH, FOVEA_SILU})
    isas::for_each([&](int32_t isa) {
      INFO("activation ", activation);
      std::vector<float> expected(rows * width);
      fovea_product p = {};
      p.w = &linear, p.x.data = x.data(), p.y.data = expected.data(), p.rows = rows,
      p.activation = activation;
      p.isa = isa;
      REQUIRE(fovea_multiply(&p, nullptr, 0) == FOVEA_OK);
      fovea_activation_rows a = {};
      a.in = x.data(), a.out = y.data(), a.rows = rows, a.columns = width, a.activation = activation,
      a.isa = isa;
      REQUIRE(fovea_activate(&a) == FOVEA_OK);
      CHECK(data::same_bits(std::vector<float>(y.data(), y.data() + y.size()), expected));
      data::guarded<float> in_place = x;
      a.in = a.out = in_place.data();
      REQUIRE(fovea_activate(&a) == FOVEA_OK);
      CHECK(data::same_bits(std::vector<float>(in_place.data(), in_place.data() + y.size()), expected));
      CHECK((y.guards_hold() && in_place.guards_hold()));
    });
}

TEST_CASE("activations_refuse_bad_arguments") {
  float x[8] = {}, y[8] = {-2};
  fovea_activation_rows good = {};
  good.in = x, good.out = y, good.rows = 2, good.columns = 4, good.activation = FOVEA_GELU;
  const auto status = [&](void (*spoil)(fovea_activation_rows&)) {
    fovea_activation_rows a = good;
    spoil(a);
    const int32_t found = fovea_activate(&a);
    CHECK(y[0] == -2);
    return found;
  };
  using rows = fovea_activation_rows;
  CHECK(status([](rows& a) { a.activation = 0; }) == (FOVEA_UNSUPPORTED | FOVEA_ARG_ACTIVATION << 8));
  CHECK(status([](rows& a) { a.activation = FOVEA_SILU_TIMES; }) ==
        (FOVEA_UNSUPPORTED | FOVEA_ARG_ACTIVATION << 8));
  CHECK(status([](rows& a) { a.in = nullptr; }) == (FOVEA_NULL | FOVEA_ARG_IN << 8));
  CHECK(status([](rows& a) { a.in = a.out + 1; }) == (FOVEA_OVERLAP | FOVEA_ARG_OUT << 8));
  CHECK(status([](rows& a) { a.out_stride = 3; }) == (FOVEA_STRIDE | FOVEA_ARG_OUT << 8));
  CHECK(status([](rows& a) { a.rows = -1; }) == (FOVEA_SIZE | FOVEA_ARG_ROWS << 8));
  CHECK(status([](rows& a) { a.isa = 99; }) == (FOVEA_UNSUPPORTED | FOVEA_ARG_ISA << 8));
  CHECK(status([](rows& a) { a.reserved[0] = 1; }) == (FOVEA_UNSUPPORTED | FOVEA_ARG_RESERVED << 8));
  CHECK(fovea_activate(nullptr) == (FOVEA_NULL | FOVEA_ARG_CALL << 8));
}
