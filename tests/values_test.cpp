// Rows of V of any length: each column of the output is a chain of its own, so a call with fewer columns has
// the bits of the first columns of a longer one. What stands behind a row is neither read nor written.
#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "isas.hpp"
#include "stored_problem.hpp"

namespace {

#ifdef FOVEA_SMALL
constexpr int32_t wide = 34;
#else
constexpr int32_t wide = 144;
#endif
constexpr int32_t gap = 3;
constexpr float written_by_nobody = 12345;

struct work {
  const char* why;
  int32_t q_heads, kv_heads, queries, keys, flags;
  bool masked;           // a bool mask hides some keys, whose values are NaN
  int32_t stride = wide; // from one row of V to the next
};

// Whole numbers, which every type holds: Q, K and V of one type.
class short_rows {
 public:
  short_rows(const work& w, int32_t dtype)
      : work_(w), dtype_(dtype), v_(numbers(3, w.kv_heads * w.keys, w.stride)) {
    q_ = numbers(1, w.q_heads * w.queries, dim);
    k_ = of_type(numbers(2, w.kv_heads * w.keys, dim));
    if (w.masked)
      for (int32_t j = 0; j < w.queries * w.keys; ++j) mask_.push_back(j % w.keys % 7 == 3 ? 0 : 1);
  }

  // The first v_dim columns; in V all others are NaN, or -128.
  std::vector<float> solve(int32_t v_dim, int32_t isa) const {
    std::vector<float> numbers = v_;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const size_t stride = static_cast<size_t>(work_.stride),
                   key = i / stride % static_cast<size_t>(work_.keys);
      if (static_cast<int32_t>(i % stride) >= v_dim || (work_.masked && key % 7 == 3)) numbers[i] = broken();
    }
    const std::vector<unsigned char> v = of_type(numbers);
    const int32_t step = v_dim + gap;
    std::vector<float> out(static_cast<size_t>(work_.q_heads * work_.queries * step), written_by_nobody);
    fovea_attention a = {};
    a.q.data = q_.data(), a.k.data = k_.data(), a.v.data = v.data(), a.out.data = out.data();
    a.k.dtype = a.v.dtype = dtype_;
    a.v.token_stride = work_.stride, a.v.head_stride = work_.stride * static_cast<ptrdiff_t>(work_.keys);
    a.out.token_stride = step, a.out.head_stride = step * static_cast<ptrdiff_t>(work_.queries);
    a.q_heads = work_.q_heads, a.kv_heads = work_.kv_heads, a.dim = dim, a.v_dim = v_dim;
    a.queries = work_.queries, a.keys = work_.keys, a.flags = work_.flags | FOVEA_SCALE, a.isa = isa;
    a.scale = 1.f / 64;
    if (work_.masked) a.mask.data = mask_.data(), a.mask.query_stride = work_.keys;
    std::vector<unsigned char> scratch(fovea_scratch_best(&a));
    REQUIRE(fovea_attend(&a, scratch.data(), scratch.size()) == FOVEA_OK);
    return out;
  }

 private:
  static constexpr int32_t dim = 5;

  float broken() const { return dtype_ == FOVEA_I8 ? -128 : __builtin_nanf(""); }
  static std::vector<float> numbers(uint32_t seed, int32_t rows, int32_t columns) {
    std::vector<float> x(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(static_cast<int32_t>(100 * data::noise(seed, static_cast<uint32_t>(i))));
    return x;
  }
  std::vector<unsigned char> of_type(const std::vector<float>& x) const {
    const size_t size = dtype_ == FOVEA_F32 ? 4 : dtype_ == FOVEA_I8 ? 1 : 2;
    std::vector<unsigned char> bytes(x.size() * size);
    for (size_t i = 0; i < x.size(); ++i) {
      const int8_t small = x[i] == x[i] ? static_cast<int8_t>(x[i]) : int8_t{0};
      const uint16_t half = size == 2 ? stored::nearest(x[i], dtype_) : uint16_t{0};
      const void* from = size == 4   ? static_cast<const void*>(&x[i])
                         : size == 2 ? static_cast<const void*>(&half)
                                     : &small;
      std::memcpy(&bytes[i * size], from, size);
    }
    return bytes;
  }

  work work_;
  int32_t dtype_;
  std::vector<float> q_, v_;
  std::vector<unsigned char> k_;
  std::vector<uint8_t> mask_;
};

void check_columns(const work& w, const std::vector<float>& out, const std::vector<float>& all,
                   int32_t v_dim) {
  const int32_t step = v_dim + gap, rows = w.q_heads * w.queries;
  for (int32_t r = 0; r < rows; ++r) {
    const float* row = &out[static_cast<size_t>(r * step)];
    CHECK(std::memcmp(row, &all[static_cast<size_t>(r * (wide + gap))],
                      static_cast<size_t>(v_dim) * sizeof(float)) == 0);
    for (int32_t c = v_dim; c < step; ++c) CHECK(row[c] == written_by_nobody);
  }
}

} // namespace

TEST_CASE("fewer_columns_have_the_bits_of_the_first_of_many") {
  const work table[] = {
      {"decode", 2, 2, 1, 37, 0, false},
      {"decode of a group", 5, 1, 1, 270, 0, false},
      {"decode behind a mask", 2, 2, 1, 37, 0, true},
      {"thirteen rows that see all keys", 1, 1, 13, 21, 0, false},
      {"rows that see one key more each, over two blocks", 1, 1, 7, 260, FOVEA_CAUSAL, false},
      {"twenty-nine rows behind a mask", 1, 1, 29, 18, FOVEA_CAUSAL, true},
#ifndef FOVEA_SMALL
      {"decode of four, rows far apart", 8, 2, 1, 270, 0, false, 600},
      {"decode of three, rows just as far apart as that counts", 3, 1, 1, 17, 0, false, 512},
      {"decode of two, rows far apart behind a mask", 2, 1, 1, 37, 0, true, 600},
      {"three rows that see one key more each, far apart", 1, 1, 3, 29, FOVEA_CAUSAL, false, 600},
#endif
  };
  for (const work& w : table)
    for (const int32_t dtype : {FOVEA_F32, FOVEA_F16, FOVEA_BF16, FOVEA_I8}) {
      INFO(doctest::String(w.why), ", dtype ", dtype);
      const short_rows rows(w, dtype);
      isas::for_each([&](int32_t isa) {
        const std::vector<float> all = rows.solve(wide, isa);
        for (int32_t v_dim = 1; v_dim < wide; v_dim += v_dim < 34 || v_dim % 16 > 13 ? 1 : 2) {
          INFO("v_dim ", v_dim);
          check_columns(w, rows.solve(v_dim, isa), all, v_dim);
        }
      });
    }
}
