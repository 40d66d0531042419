// A product with packed weights in guarded memory, the numbers it must give, and what else it may not touch.
#pragma once
#include <doctest/doctest.h>

#include <vector>

#include "data.hpp"
#include "isas.hpp"
#include "linear_model.hpp"

namespace linear {

struct shape {
  const char* why;
  int32_t rows, in, out, dtype, activation;
  bool bias, residual;
  int32_t gap; // between rows
};

inline fovea_rows_in rows_of(const void* data, ptrdiff_t stride = 0, int32_t dtype = FOVEA_F32) {
  fovea_rows_in rows = {};
  rows.data = data;
  rows.stride = stride;
  rows.dtype = dtype;
  return rows;
}

inline size_t count(int32_t a, int32_t b) { return static_cast<size_t>(a) * static_cast<size_t>(b); }

struct problem {
  int32_t columns;
  ptrdiff_t x_stride, y_stride;
  std::vector<float> weights; // as they are after packing
  data::guarded<float> packed, bias, x, residual, y;
  fovea_linear linear = {};
  fovea_product call = {};

  explicit problem(const shape& s)
      : columns(s.activation == FOVEA_SILU_TIMES ? s.out / 2 : s.out),
        x_stride(s.in + s.gap),
        y_stride(columns + s.gap),
        packed(fovea_linear_size(s.in, s.out, s.dtype) / sizeof(float)),
        bias(static_cast<size_t>(s.out)),
        x(extent(s.rows, x_stride, s.in)),
        residual(extent(s.rows, y_stride, columns)),
        y(extent(s.rows, y_stride, columns)) {
    const float size = 2 / std::sqrt(static_cast<float>(s.in));
    for (size_t i = 0; i < count(s.in, s.out); ++i)
      weights.push_back(size * data::noise(1, static_cast<uint32_t>(i)));
    const fovea_rows_in w = rows_of(weights.data());
    CHECK(fovea_pack_linear(packed.data(), packed.size() * sizeof(float), s.in, s.out, s.dtype, 0, &w,
                            s.out) == FOVEA_OK);
    for (float& v : weights) v = linear_model::as_packed(v, s.dtype);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = data::noise(2, static_cast<uint32_t>(i));
    fill(x, s.rows, x_stride, s.in, 3);
    fill(residual, s.rows, y_stride, columns, 4);
    linear.packed = packed.data();
    linear.bias = s.bias ? bias.data() : nullptr;
    linear.in = s.in, linear.out = s.out, linear.dtype = s.dtype;
    call.w = &linear;
    call.x = rows_of(x.data(), s.gap ? x_stride : 0);
    call.y.data = y.data();
    call.y.stride = s.gap ? y_stride : 0;
    if (s.residual) call.residual = rows_of(residual.data(), s.gap ? y_stride : 0);
    call.rows = s.rows;
    call.activation = s.activation;
  }

  static size_t extent(int32_t rows, ptrdiff_t stride, int32_t columns) {
    return rows == 0 ? 0 : static_cast<size_t>((rows - 1) * stride + columns);
  }
  static void fill(data::guarded<float>& to, int32_t rows, ptrdiff_t stride, int32_t columns, uint32_t seed) {
    for (int32_t r = 0; r < rows; ++r)
      for (int32_t c = 0; c < columns; ++c)
        to[static_cast<size_t>(r * stride + c)] = data::noise(seed, static_cast<uint32_t>(r * 4096 + c));
  }
  float expected(int32_t r, int32_t c) const {
    const float* other = call.residual.data == nullptr ? nullptr : residual.data() + r * y_stride;
    return linear_model::result(call, weights, x.data() + r * x_stride, other, c);
  }
  std::vector<float> all_expected() const {
    std::vector<float> all;
    for (int32_t r = 0; r < call.rows; ++r)
      for (int32_t c = 0; c < columns; ++c) all.push_back(expected(r, c));
    return all;
  }
  std::vector<float> results() const {
    std::vector<float> all;
    for (int32_t r = 0; r < call.rows; ++r)
      for (int32_t c = 0; c < columns; ++c) all.push_back(y[static_cast<size_t>(r * y_stride + c)]);
    return all;
  }
  bool nothing_else_written() const {
    for (int32_t r = 0; r + 1 < call.rows; ++r)
      for (ptrdiff_t c = columns; c < y_stride; ++c)
        if (!data::is_untouched(y[static_cast<size_t>(r * y_stride + c)])) return false;
    return y.guards_hold() && x.guards_hold() && packed.guards_hold();
  }
};

inline int32_t multiply(const fovea_product& p) { return fovea_multiply(&p, nullptr, 0); }

} // namespace linear
