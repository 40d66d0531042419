// Dot products and matrix times vector: against sums in double, with the same bits on every ISA; what they
// refuse.
#include "ops_table.hpp"

using namespace ops;

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
