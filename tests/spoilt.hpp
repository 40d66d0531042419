// Spoiling a problem with NaN and infinity of any bits, and judging which rows it reached.
#pragma once
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "isas.hpp"
#include "problem.hpp"
#include "reference.hpp"

namespace spoilt {

// A quiet NaN with a payload, a signalling one, the one with all bits set; minus and plus infinity.
constexpr uint32_t nan_patterns[] = {0x7fc00001u, 0x7f800001u, 0xffffffffu};
constexpr uint32_t infinity_patterns[] = {0xff800000u, 0x7f800000u};
constexpr uint32_t all_patterns[] = {0x7fc00001u, 0x7f800001u, 0xffffffffu, 0xff800000u, 0x7f800000u};

// Bits are copied as bits: a float that passes through a register may become quiet.
inline void put_bits(float& place, uint32_t bits) { std::memcpy(&place, &bits, sizeof bits); }
inline void fill_row(const data::tensor& t, int32_t head, int32_t token, uint32_t bits) {
  for (int32_t c = 0; c < t.dim; ++c) put_bits(t.at(head, token, c), bits);
}
// One row of K and of V in every kv head.
inline void fill_key(const problem& p, int32_t row, uint32_t bits) {
  for (int32_t g = 0; g < p.k.heads; ++g) fill_row(p.k, g, row, bits), fill_row(p.v, g, row, bits);
}

inline bool sees(const fovea_attention& a, int32_t i, int32_t row) {
  return reference::sees(a, i, int64_t{a.first_key} + row);
}

// Does a row of this kv head see it?
inline bool anybody_attends(const fovea_attention& a, int32_t kv_head, int32_t row) {
  const int32_t group = a.q_heads / reference::kv_heads(a);
  for (int32_t h = kv_head * group; h < (kv_head + 1) * group; ++h)
    for (int32_t i = 0; i < a.queries; ++i)
      if (reference::attends(a, h, i, row)) return true;
  return false;
}

// Keys and values that are hidden from all rows.
inline void fill_hidden(problem& p, const fovea_attention& a, uint32_t bits) {
  for (int32_t row = 0; row < a.keys; ++row)
    for (int32_t g = 0; g < p.k.heads; ++g)
      if (!anybody_attends(a, g, row)) fill_row(p.k, g, row, bits), fill_row(p.v, g, row, bits);
}

inline bool same_row(const problem& p, int32_t h, int32_t i, const std::vector<float>& all) {
  const auto dim = static_cast<size_t>(p.out.dim), at = static_cast<size_t>(h * p.out.tokens + i) * dim;
  return std::memcmp(p.out.row(h, i), &all[at], dim * sizeof(float)) == 0;
}

inline bool all_nan(const problem& p, int32_t h, int32_t i) {
  for (int32_t c = 0; c < p.out.dim; ++c)
    if (!std::isnan(p.out.at(h, i, c))) return false;
  return true;
}

// The log-sum-exp, if there is one, stands behind the results.
inline bool wrong_lse(const problem& p, int32_t h, int32_t i, const std::vector<float>& all, bool spoilt) {
  const auto row = static_cast<size_t>(h * p.out.tokens + i),
             first = static_cast<size_t>(p.out.heads * p.out.tokens * p.out.dim);
  if (p.modifiers.lse.size() == 0) return false;
  const float lse = p.modifiers.lse[row];
  return spoilt ? !std::isnan(lse) : std::memcmp(&lse, &all[first + row], sizeof lse) != 0;
}

// Rows for which `spoilt` is true are NaN, all others have their clean bits.
template <class Spoilt>
void check_rows(const problem& p, const std::vector<float>& clean, const Spoilt& spoilt) {
  int wrong = 0;
  for (int32_t h = 0; h < p.out.heads; ++h)
    for (int32_t i = 0; i < p.out.tokens; ++i) {
      wrong += spoilt(h, i) ? !all_nan(p, h, i) : !same_row(p, h, i, clean);
      wrong += wrong_lse(p, h, i, clean, spoilt(h, i));
    }
  CHECK(wrong == 0);
}

} // namespace spoilt
