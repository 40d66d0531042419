// The operations of docs/numerics.md, section 11, once more: one number after the other, in plain scalar
// code. Nothing here is shared with the library.
#pragma once
#include <cmath>
#include <vector>

#include "fovea/ops.h"

namespace ops_model {

// Four chains of sixteen lanes: column c adds term(c, sum) to lane c mod 16 of chain c / 16 mod 4.
template <class Term>
float sum_of_terms(int32_t columns, Term term) {
  float chain[4][16] = {};
  for (int32_t c = 0; c < columns; ++c) {
    float& sum = chain[c / 16 % 4][c % 16];
    sum = term(c, sum);
  }
  float lane[16];
  for (int i = 0; i < 16; ++i) lane[i] = (chain[0][i] + chain[2][i]) + (chain[1][i] + chain[3][i]);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

inline float at(const float* numbers, int32_t c, float otherwise) {
  return numbers != nullptr ? numbers[c] : otherwise;
}

// One row of fovea_norm, whose x = in + residual is given.
inline std::vector<float> norm(const fovea_norm_rows& n, const std::vector<float>& x) {
  const auto columns = static_cast<int32_t>(x.size());
  const auto number = [&](int32_t c) { return x[static_cast<size_t>(c)]; };
  const float count = static_cast<float>(columns), epsilon = n.epsilon != 0 ? n.epsilon : 1e-5f;
  float mean = 0;
  if (n.kind == FOVEA_LAYER_NORM)
    mean = sum_of_terms(columns, [&](int32_t c, float sum) { return sum + number(c); }) / count;
  const float squares = sum_of_terms(
      columns, [&](int32_t c, float sum) { return std::fma(number(c) - mean, number(c) - mean, sum); });
  const float factor = 1 / std::sqrt(squares / count + epsilon);
  std::vector<float> out;
  for (int32_t c = 0; c < columns; ++c) {
    const float weight = n.weight == nullptr      ? 1.0f
                         : n.weight_plus_one != 0 ? n.weight[c] + 1.0f
                                                  : n.weight[c];
    out.push_back(std::fma((number(c) - mean) * factor, weight, at(n.bias, c, 0)));
  }
  return out;
}

// The same in double, and the bound of its error.
inline void check_norm(const fovea_norm_rows& n, const std::vector<float>& x, const float* out, int& wrong) {
  const double u = 1.0 / (1 << 24), count = static_cast<double>(x.size());
  double mean = 0, squares = 0, size = 0;
  const bool centred = n.kind == FOVEA_LAYER_NORM;
  for (float y : x) {
    mean += centred ? y / count : 0;
    size += centred ? std::fabs(y) / count : 0;
  }
  for (float y : x) squares += (y - mean) * (y - mean);
  const double variance = squares / count + static_cast<double>(n.epsilon != 0 ? n.epsilon : 1e-5f);
  const double shift = (count / 64 + 9) * u * size; // of the mean
  for (size_t c = 0; c < x.size(); ++c) {
    const double weight = static_cast<double>(at(n.weight, static_cast<int32_t>(c), 1)) + n.weight_plus_one;
    const double d = x[c] - mean, factor = 1 / std::sqrt(variance),
                 exact = d * factor * weight + at(n.bias, static_cast<int32_t>(c), 0);
    const double bound = ((count / 128 + 12) * u + shift * shift / variance) *
                             std::fabs(d * factor * weight) +
                         shift * factor * std::fabs(weight) + u * std::fabs(exact);
    wrong += !(std::fabs(out[c] - exact) <= bound * 1.01 + 1e-37);
  }
}

inline float mean(const float* x, ptrdiff_t stride, int32_t count) {
  float chain[4] = {};
  for (int32_t r = 0; r < count; ++r) chain[r % 4] += x[r * stride];
  return count == 0 ? 0 : ((chain[0] + chain[2]) + (chain[1] + chain[3])) / static_cast<float>(count);
}

inline void turn(float& a, float& b, float cosine, float sine) {
  const float x = a, y = b;
  a = std::fma(x, cosine, 0 - y * sine);
  b = std::fma(y, cosine, x * sine);
}

} // namespace ops_model
