// Values from rows of V that are far apart, for a few queries: a piece of the keys through all columns before
// the next piece.
#pragma once
#include "f32/kernel/lines_of_rows.hpp"
#include "f32/kernel/value_tile.hpp"

namespace fovea::f32 {

// Rows of V that are far apart, for a few queries whose sums are more than there are registers: a few keys
// go through all columns before the next ones, so that each row is read once, in the order of memory. Their
// sums wait in memory meanwhile. The chains are those of the tile.
constexpr int keys_of_piece = 8, columns_of_pieces = 128;
template <class Isa, class Shape, class Element>
constexpr bool takes_pieces = Isa::lanes == 8 && Shape::rows > 1 && Shape::rows <= 4 && Shape::lanes == 16 &&
                              std::is_same_v<typename Element::stored, float>;
template <class Element>
struct lines_in_order : whole_columns<Element> {
  lines_of_rows* lines;
  FOVEA_INLINE void fetch(const typename Element::stored*) const { lines->template fetch<1>(); }
};

// Half a piece is prefetched: two pieces would meet in one set of the first cache.
template <class Isa, class Shape, class Element>
__attribute__((noinline)) void values_in_pieces(const value_phase<Element>& shared, const key_runs& runs,
                                                const value_group<Element>& group) {
  const value_phase<Element> z = shared;
  const value_group<Element> g = group;
  alignas(64) float sums[Shape::rows * columns_of_pieces];
  for (int first = 0; first < z.width; first += columns_of_pieces) {
    const int end = z.width - first < columns_of_pieces ? z.width : first + columns_of_pieces;
    lines_of_rows lines(g.v + first + keys_of_piece / 2 * z.v.stride, z.v.stride, end - first);
    for (int key = 0, count; key < g.keys; key += count) {
      count = g.keys - key < keys_of_piece ? g.keys - key : keys_of_piece;
      int c = first;
      by_columns<Shape>([&](auto tile_shape) FOVEA_LAMBDA_INLINE {
        using whole = decltype(tile_shape);
        using vector = floats<Isa, whole::lanes>;
        constexpr int width = whole::vectors * whole::lanes;
        for (; c + width <= end; c += width) {
          const whole_columns<Element> columns = places_of<whole, Element>(z.v_dim, c);
          float* const of_tile = sums + (c - first) * Shape::rows;
          const auto sum = [&](int m, int n) FOVEA_LAMBDA_INLINE {
            return of_tile + (m * whole::vectors + n) * whole::lanes;
          };
          accumulator<Isa, whole> acc;
          if (key == 0)
            acc.clear();
          else
            acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x = vector::load(sum(m, n)); });
          tile(weights_view<Isa, whole>(g.s + key, {}),
               panels_view{g.v + key * z.v.stride + columns.at, columns.template places<whole>(), z.v.stride},
               count, lines_in_order<Element>{columns, &lines}, acc);
          if (key + count < g.keys)
            acc.each([&](int m, int n, vector& x) FOVEA_LAMBDA_INLINE { x.store(sum(m, n)); });
          else if (g.may_leak && leaked(acc))
            exact_values<Isa, whole::lanes, Element>(shared, runs, g, Shape::rows, whole::vectors, columns);
          else
            store_tile(z, g, columns, acc);
        }
      });
    }
  }
}

} // namespace fovea::f32
