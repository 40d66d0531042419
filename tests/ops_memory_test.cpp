// Operations on rows read and write nothing beside their arrays: each array touches a page that nobody may
// touch.
#include "fence.hpp"
#include "ops_table.hpp"
#if defined(__linux__)
#include <cstring>

using namespace ops;

namespace {

struct fenced_floats {
  fence memory;
  size_t count;

  fenced_floats(const float* from, size_t n, fence::side where) : memory(n * sizeof(float), where), count(n) {
    if (n > 0) std::memcpy(data(), from, n * sizeof(float));
  }
  float* data() const { return memory.data<float>(); }
};

} // namespace

TEST_CASE("products_read_nothing_beside_their_rows") {
  for (fence::side where : {fence::behind, fence::before})
    for (int32_t n : lengths()) {
      INFO("columns ", n);
      const int32_t rows = 3;
      table w(rows, n, 2), x(1, n, 1);
      const fenced_floats matrix(w.in.data(), w.in.size(), where), vector(x.in.data(), x.in.size(), where);
      const std::vector<float> none(static_cast<size_t>(rows), -1.0f);
      const fenced_floats out(none.data(), none.size(), where);
      isas::for_each([&](int32_t isa) {
        std::vector<float> expected(static_cast<size_t>(rows), -1.0f);
        REQUIRE(fovea_matvec(w.in.data(), 0, x.in.data(), rows, n, isa, expected.data()) == FOVEA_OK);
        REQUIRE(fovea_matvec(matrix.data(), 0, vector.data(), rows, n, isa, out.data()) == FOVEA_OK);
        CHECK(std::memcmp(out.data(), expected.data(), static_cast<size_t>(rows) * sizeof(float)) == 0);
        const fenced_floats one(none.data(), 1, where), row(w.in.data(), static_cast<size_t>(n), where);
        REQUIRE(fovea_dot(row.data(), vector.data(), n, isa, one.data()) == FOVEA_OK);
        CHECK(*one.data() == expected[0]);
      });
    }
}

TEST_CASE("softmax_reads_and_writes_nothing_beside_its_rows") {
  for (fence::side where : {fence::behind, fence::before})
    for (int32_t n : lengths())
      for (int32_t rows : {1, 3}) {
        INFO("columns ", n, ", rows ", rows);
        table t(rows, n, 4);
        const std::vector<float> none(t.in.size(), -1.0f);
        const fenced_floats in(t.in.data(), t.in.size(), where), out(none.data(), none.size(), where),
            lse(none.data(), n == 0 ? 0 : static_cast<size_t>(rows), where);
        isas::for_each([&](int32_t isa) {
          for (const bool in_place : {false, true}) {
            fovea_softmax_rows s = t.call();
            s.isa = isa;
            REQUIRE(fovea_softmax(&s) == FOVEA_OK);
            if (in.count > 0) std::memcpy(in.data(), t.in.data(), in.count * sizeof(float));
            s.in = in.data(), s.out = in_place ? in.data() : out.data(),
            s.lse = n == 0 ? nullptr : lse.data();
            REQUIRE(fovea_softmax(&s) == FOVEA_OK);
            if (n > 0) CHECK(std::memcmp(s.out, t.out.data(), in.count * sizeof(float)) == 0);
            if (n > 0)
              CHECK(std::memcmp(lse.data(), t.lse.data(), static_cast<size_t>(rows) * sizeof(float)) == 0);
          }
        });
      }
}

TEST_CASE("softmax_reads_no_mask_beside_its_columns") {
  for (fence::side where : {fence::behind, fence::before})
    for (int32_t n : {1, 2, 15, 16, 17, 31, 33, 48, 255, 256, 257})
      for (const bool is_bias : {false, true}) {
        INFO("columns ", n, is_bias ? ", bias" : ", bool mask");
        table t(2, n, 4);
        const size_t count = static_cast<size_t>(n), bytes = count * (is_bias ? sizeof(float) : 1);
        const fence mask(bytes, where);
        for (size_t c = 0; c < count; ++c) {
          if (is_bias) mask.data<float>()[c] = c % 3 == 1 ? -infinite : static_cast<float>(c % 5);
          if (!is_bias) mask.data<uint8_t>()[c] = static_cast<uint8_t>(c % 3);
        }
        fovea_softmax_rows s = t.call();
        s.mask.data = mask.data<void>(), s.mask.is_bias = is_bias ? 1 : 0;
        check_everywhere(t, s);
      }
}
#endif
