// A row in vectors of sixteen: whole ones from the front, and where columns are left over a last one, the
// rest, that ends with the row. It overlaps the vector before it; in a row of fewer than sixteen columns its
// first lanes repeat column 0.
#pragma once
#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

template <class Isa>
FOVEA_INLINE f32x16<Isa> load_rest(const float* row, int columns) {
  if (columns >= 16) return f32x16<Isa>::load(row + columns - 16);
  alignas(64) float t[16];
  for (int i = 0; i < 16; ++i) t[i] = row[i + columns < 16 ? 0 : i + columns - 16];
  return f32x16<Isa>::load(t);
}

template <class Isa>
FOVEA_INLINE void store_rest(float* row, int columns, const f32x16<Isa>& x) {
  if (columns >= 16) return x.store(row + columns - 16);
  alignas(64) float t[16];
  x.store(t);
  for (int i = 0; i < columns; ++i) row[i] = t[16 - columns + i];
}

} // namespace fovea::f32
