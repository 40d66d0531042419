// A row in vectors of sixteen: whole ones from the front, and where columns are left over a last one, the
// rest, that ends with the row. It overlaps the vector before it; in a row of fewer than sixteen columns its
// first lanes repeat column 0.
#pragma once
#include "f32/kernel/floats.hpp"

namespace fovea::f32 {

// Row operations on plain floats in a build for size take half the code, and up to a third more instructions.
// The bits are the same.
#if defined(__OPTIMIZE_SIZE__)
template <class Isa>
constexpr bool in_little_code = Isa::lanes == 1;
#else
template <class Isa>
constexpr bool in_little_code = false;
#endif

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
