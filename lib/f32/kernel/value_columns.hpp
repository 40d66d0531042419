// Which columns of V and of the output a tile of sums has, and how they are loaded, stored and prefetched.
#pragma once
#include "f32/kernel/value_group.hpp"

namespace fovea::f32 {

// Where vector c of o stands in a row of V and of the output: a last vector that would end behind v_dim
// begins earlier and overlaps the one before it. Lanes never mix, so both compute the same.
FOVEA_INLINE int column_at(int c, int v_dim) { return v_dim < 16 || c + 16 <= v_dim ? c : v_dim - 16; }

// Columns of one accumulator tile: where they stand in o, in V and out, and how many of a vector exist, at
// least `Whole`.
template <class Element, int Whole = 0>
struct columns {
  static constexpr bool whole = false, pins_sums = false;
  int in_o, at, count;

  template <class Vector>
  FOVEA_INLINE Vector load(const typename Element::stored* p) const {
    return Element::template load_first<Whole>(p, count, Vector{});
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    store_first<Whole>(p, x, count);
  }
  FOVEA_INLINE columns without_fetching() const { return *this; }
  template <class Shape>
  FOVEA_INLINE last_at<Shape> places() const {
    return {0};
  }
  FOVEA_INLINE columns vector(int, int, int) const { return *this; }
};

// Vectors side by side. The last of several may overlap the one before it, to end with the row.
template <class Element>
struct whole_columns : columns<Element> {
  static constexpr bool whole = true;
  int last; // where it stands, from `at` on

  template <class Shape>
  FOVEA_INLINE last_at<Shape> places() const {
    return {last};
  }
  // One of these vectors.
  FOVEA_INLINE whole_columns vector(int n, int vectors, int lanes) const {
    return {{this->in_o + n * lanes, this->at + (n < vectors - 1 ? n * lanes : last), lanes}, 0};
  }
  static FOVEA_INLINE void fetch(const typename Element::stored*) {}
  template <class Vector>
  FOVEA_INLINE Vector load(const typename Element::stored* p) const {
    return Element::load(p, Vector{});
  }
  template <class Vector>
  FOVEA_INLINE void store(float* p, const Vector& x) const {
    x.store(p);
  }
  FOVEA_INLINE whole_columns without_fetching() const { return *this; }
};

// Prefetches from the row that comes `rows` after p. It may lie outside memory, so nothing may overflow.
template <int Cache, class Stored>
FOVEA_INLINE void prefetch_row(const Stored* p, int rows, ptrdiff_t stride) {
  const uintptr_t ahead = static_cast<uintptr_t>(rows) * static_cast<uintptr_t>(stride) * sizeof(Stored);
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(p) + ahead), 0, Cache);
}

// The same where memory is the limit, as for a few rows in several passes over V: each pass prefetches its
// part of the next block, or of the rows that it comes to soon.
constexpr int first_cache = 3, second_cache = 2;
template <class Element, int Rows, int Cache>
struct fetching_columns : whole_columns<Element> {
  ptrdiff_t stride;
  FOVEA_INLINE void fetch(const typename Element::stored* p) const { prefetch_row<Cache>(p, Rows, stride); }
};
template <class Shape, class Element>
FOVEA_INLINE whole_columns<Element> places_of(int v_dim, int c) {
  constexpr int lanes = Shape::lanes, last = (Shape::vectors - 1) * lanes;
  const int at = column_at(c & -16, v_dim) + c % 16;
  return {{c, at, lanes}, lanes == 16 ? column_at(c + last, v_dim) - at : last};
}
template <class Isa, class Shape, class Element>
FOVEA_INLINE auto columns_for(ptrdiff_t v_stride, int v_dim, int c) {
  const auto columns = places_of<Shape, Element>(v_dim, c);
  if constexpr (is_four_row_shape<Isa, Shape>)
    return fetching_columns<Element, 16, first_cache>{columns, v_stride};
  else if constexpr (!Isa::by_lane && Shape::rows > 1 && Shape::rows <= 4 && Shape::vectors < 4)
    return fetching_columns<Element, block_keys, second_cache>{columns, v_stride};
  else
    return columns;
}

// Calls use(lanes, columns) for all columns of rows that are shorter than a vector of sixteen, in the fewest
// registers.
template <class Isa, class Element, int Lanes = Isa::lanes, class Use>
FOVEA_INLINE void with_short_columns(int v_dim, Use use) {
  if constexpr (Lanes < 16)
    if (v_dim > Lanes) return with_short_columns<Isa, Element, Lanes + Isa::lanes>(v_dim, use);
  use(std::integral_constant<int, Lanes>{}, columns<Element, Lanes - Isa::lanes>{0, 0, v_dim});
}

} // namespace fovea::f32
