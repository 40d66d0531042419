// Units of work, which the parts of a call are made of: some rows of one KV head, and of one piece of the
// keys where rows are split. They depend on nothing but the call. Kernels take the rows of neighbouring units
// together.
#pragma once
#include "common/validate.hpp"

namespace fovea {

// A unit is at most so many rows times keys, unless it is one row.
constexpr int unit_pairs_shift = 12;
constexpr int32_t unit_pairs = 1 << unit_pairs_shift;
constexpr int most_unit_shift = 5; // and at most 32 rows

// A unit has 1 << unit_shift(keys) rows. A power of two takes no division, which small cores do slowly.
FOVEA_ONCE constexpr int unit_shift(int32_t keys) {
  int shift = most_unit_shift;
  for (int32_t more = (keys - 1) >> (unit_pairs_shift - most_unit_shift); shift > 0 && more > 0; more >>= 1)
    --shift;
  return shift;
}
constexpr int64_t units_of(int64_t rows, int shift) { return (rows + (int64_t{1} << shift) - 1) >> shift; }

// The units of one KV head, in the order of pieces, then of rows.
struct units_of_head {
  int shift; // a unit has 1 << shift rows
  int32_t pieces;
  int64_t per_piece;
  int64_t count() const { return pieces * per_piece; }
};
constexpr units_of_head units_for(int64_t rows, int32_t keys_of_piece, int32_t pieces) {
  const int shift = unit_shift(keys_of_piece);
  return {shift, pieces, units_of(rows, shift)};
}

// Whether a part comes after the last unit, so that it has nothing to do. The part itself, heads, queries and
// keys are all that is looked at, so that such a part costs nearly nothing. No answer for part 0, nor for
// counts that a plan refuses.
template <class Call, class UnitsOf>
static inline bool comes_after_work(const Call& a, UnitsOf units_of_rows) {
  const int32_t index = a.part.index;
  if (index < 1 || index >= a.part.count) return false;
  if (a.q_heads < 1 || a.kv_heads < 0 || a.kv_heads > a.q_heads || a.queries < 0 || a.keys < 0) return false;
  const int32_t kv_heads = a.kv_heads ? a.kv_heads : a.q_heads,
                group = multiplies_slowly && kv_heads == a.q_heads ? 1 : quotient(a.q_heads, kv_heads);
  const auto units = units_of_rows(int64_t{a.queries} * group);
  const int64_t of_piece = int64_t{units.per_piece} * kv_heads;
  return of_piece <= index && of_piece * units.pieces <= index;
}

} // namespace fovea
