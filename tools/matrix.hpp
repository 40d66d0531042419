// Small matrices in plain loops, and numbers that are the same on every machine for the same seed.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace demo {

struct matrix {
  int rows = 0, columns = 0;
  std::vector<float> values;

  matrix() = default;
  matrix(int r, int c) : rows(r), columns(c), values(static_cast<size_t>(r) * static_cast<size_t>(c)) {}
  matrix(int r, int c, std::vector<float> v) : rows(r), columns(c), values(std::move(v)) {}

  float& at(int r, int c) {
    return values[static_cast<size_t>(r) * static_cast<size_t>(columns) + static_cast<size_t>(c)];
  }
  float at(int r, int c) const {
    return values[static_cast<size_t>(r) * static_cast<size_t>(columns) + static_cast<size_t>(c)];
  }
  const float* row(int r) const {
    return values.data() + static_cast<size_t>(r) * static_cast<size_t>(columns);
  }
};

// A product of two floats is exact in double, so a compiler may fuse here without changing a bit.
inline double dot(const float* a, const float* b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

inline matrix transposed(const matrix& x) {
  matrix y(x.columns, x.rows);
  for (int r = 0; r < x.rows; ++r)
    for (int c = 0; c < x.columns; ++c) y.at(c, r) = x.at(r, c);
  return y;
}

// x * w: a row is a token, a column of w is a feature.
inline matrix product(const matrix& x, const matrix& w) {
  const matrix features = transposed(w);
  matrix y(x.rows, w.columns);
  for (int r = 0; r < y.rows; ++r)
    for (int c = 0; c < y.columns; ++c)
      y.at(r, c) = static_cast<float>(dot(x.row(r), features.row(c), x.columns));
  return y;
}

inline matrix scaled(matrix x, double factor) {
  for (float& value : x.values) value = static_cast<float>(value * factor);
  return x;
}

inline matrix identity(int size) {
  matrix one(size, size);
  for (int i = 0; i < size; ++i) one.at(i, i) = 1;
  return one;
}

// The columns first .. first + count - 1: one head of many.
inline matrix some_columns(const matrix& x, int first, int count) {
  matrix y(x.rows, count);
  for (int r = 0; r < x.rows; ++r)
    for (int c = 0; c < count; ++c) y.at(r, c) = x.at(r, first + c);
  return y;
}

inline uint64_t random_bits(uint64_t& state) { // splitmix64
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

// Nearly normal, mean 0, variance 1: twelve uniform numbers, added exactly.
inline float random_normal(uint64_t& state) {
  int64_t sum = 0;
  for (int i = 0; i < 12; ++i) sum += static_cast<int64_t>(random_bits(state) >> 44);
  return static_cast<float>(static_cast<double>(sum - 6 * (int64_t{1} << 20)) / static_cast<double>(1 << 20));
}

inline matrix random_matrix(int rows, int columns, double spread, uint64_t seed) {
  matrix x(rows, columns);
  for (float& value : x.values) value = static_cast<float>(random_normal(seed) * spread);
  return x;
}

inline uint64_t fnv1a(std::string_view bytes, uint64_t hash = 0xCBF29CE484222325u) {
  for (char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  return hash;
}

} // namespace demo
