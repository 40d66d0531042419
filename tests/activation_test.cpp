// Activations on floats of each exponent: the bits of docs/numerics.md on each ISA, its error bounds
// against long double, and their exact ends.
#include "linear_problem.hpp"

using namespace linear;

namespace {

struct activation_case {
  const char* name;
  int32_t activation;
  long double (*exact)(long double);
  double (*bound)(double); // in u, relative to the result
};

long double silu(long double x) { return x / (1 + std::exp(-x)); }
long double gelu(long double x) { return x * std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double sigmoid_argument(long double x) {
  return 2 * std::sqrt(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715L * x * x * x);
}
long double gelu_tanh(long double x) { return x / (1 + std::exp(-sigmoid_argument(x))); }

const activation_case cases[] = {
    {"relu", FOVEA_RELU, [](long double x) { return x < 0 ? 0 : x; }, [](double) { return 0.0; }},
    {"silu", FOVEA_SILU, silu, [](double x) { return x < 0 ? 5 - x : 4; }},
    {"gelu, tanh form", FOVEA_GELU_TANH, gelu_tanh,
     [](double x) { return x < 0 ? 6 - 3 * static_cast<double>(sigmoid_argument(x)) : 4; }},
    {"gelu, erf form", FOVEA_GELU, gelu, [](double x) { return x < 0 ? 7 + 1.25 * x * x : 5; }},
};

// Activations of all numbers at once: they are the weights of one input, 1.
std::vector<float> activated(int32_t isa, int32_t activation, const std::vector<float>& numbers) {
  const auto out = static_cast<int32_t>(numbers.size());
  std::vector<float> packed(fovea_linear_size(1, out, FOVEA_F32) / sizeof(float)), y(numbers.size());
  const fovea_rows_in w = rows_of(numbers.data());
  CHECK(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), 1, out, FOVEA_F32, 0, &w, out) ==
        FOVEA_OK);
  const float one = 1;
  fovea_linear linear = {};
  linear.packed = packed.data();
  linear.in = 1, linear.out = out;
  fovea_product p = {};
  p.w = &linear;
  p.x.data = &one;
  p.y.data = y.data();
  p.rows = 1;
  p.activation = activation;
  p.isa = isa;
  CHECK(multiply(p) == FOVEA_OK);
  return y;
}

// Floats of both signs and each exponent from 2^-40 on, `each` of them, and the ends of the formulas.
std::vector<float> floats_of_each_exponent(int each) {
  std::vector<float> all = {0,   1e-30f,     -1e-30f,    12.5f, -12.5f, -12.500001f, 87,
                            -87, -87.00001f, -86.99999f, 3e38f, -3e38f, -9.9f,       1e19f};
  for (int exponent = -40; exponent < 8; ++exponent)
    for (int i = 0; i < each; ++i) {
      const float fraction = data::noise(static_cast<uint32_t>(exponent + 50), static_cast<uint32_t>(i));
      const float x = std::ldexp(1 + std::fabs(fraction), exponent);
      all.push_back(fraction < 0 ? -x : x);
    }
  return all;
}

} // namespace

TEST_CASE("activations_have_their_bits_and_bounds") {
#if defined(FOVEA_SMALL)
  const int each = 40;
#else
  const int each = 4000;
#endif
  const std::vector<float> numbers = floats_of_each_exponent(each);
  for (const activation_case& c : cases) {
    INFO(doctest::String(c.name));
    std::vector<float> model;
    for (float x : numbers) model.push_back(linear_model::activated(c.activation, x));
    int outside = 0;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const long double exact = c.exact(numbers[i]);
      const double error = static_cast<double>(std::fabs(exact - static_cast<long double>(model[i])));
      if (std::fabs(exact) > 1e-34L)
        outside += !(error <= c.bound(numbers[i]) * 0x1p-24 * static_cast<double>(std::fabs(exact)));
      else
        outside += !(error <= 1e-34);
    }
    CHECK(outside == 0);
    isas::for_each([&](int32_t isa) {
      const std::vector<float> results = activated(isa, c.activation, numbers);
      if (isas::promises_bits(isa)) {
        CHECK(data::same_bits(results, model));
      } else {
        int far = 0;
        for (size_t i = 0; i < results.size(); ++i)
          far += !(std::fabs(results[i] - model[i]) <=
                   2e-6f * std::fabs(model[i]) + 1e-12f * std::fabs(numbers[i]) + 2e-7f);
        CHECK(far == 0);
      }
    });
  }
}

TEST_CASE("activations_of_nan_and_infinity") {
  const float infinite = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const activation_case& c : cases)
    isas::for_each([&](int32_t isa) {
      INFO(doctest::String(c.name));
      const std::vector<float> y = activated(isa, c.activation, {nan, infinite, -infinite, -nan});
      CHECK(std::isnan(y[0]));
      CHECK(y[1] == infinite);
      CHECK(y[2] == 0);
      CHECK(std::isnan(y[3]));
    });
}
