// A tile of query rows visits one block of keys: what the phases scores, softmax and values share.
#pragma once
#include <type_traits>

#include "kernel.hpp"
#include "kernel/tile.hpp"

namespace fovea {

// What is the same for all rows of what they see in a block: one run begins with the same whole vector, and it ends with the same key.
enum class alike { nothing, begin, all };

struct visit {
  const visit* shared;   // itself: what a copy hands on to functions
  int dim, v_dim, width; // width = v_dim in whole vectors: of a row of o
  int rows;              // of queries; the last group of a tile may compute a few rows more, which are never stored
  const float* q;        // [rows][dim], scaled
  float *s, *o, *sum, *top, *rescale, *inverse;
  const float* v; // row of key `v_first` of the block
  ptrdiff_t v_stride;
  int v_first;
  int32_t *from[2], *to[2]; // what each row sees: two runs of keys within the block, growing with the row
  int first_run;            // 1 when run 0 is empty for all rows
  alike runs;               // of all rows, and from where to where
  int alike_from, alike_to;
  bool unbiased;       // scores are told before biases
  bool masked;         // a mask may hide keys within the runs
  bool start;          // first block of the span: nothing to rescale
  bool direct;         // results go out from the last block; else they stay in o
  int was_done, done;  // rows that needed no block from here on, and those that need none after this one
  float* const* out;   // [rows]
  const tile_job* job; // for modifiers
  int64_t block;       // absolute key that the block begins with
  const float* next_q; // rows that the next tile will want, for prefetching
  ptrdiff_t q_stride;
  int next_rows;

  const float* v_row(int key) const { return v + (key - v_first) * v_stride; }
};

// Where vector c of o stands in a row of V and of the output: a last vector that would end behind v_dim begins earlier and overlaps
// the one before it. Lanes never mix, so both compute the same.
FOVEA_INLINE int column_at(int c, int v_dim) { return v_dim < 16 || c + 16 <= v_dim ? c : v_dim - 16; }

template <class... Shapes>
struct shape_list {};

template <class Shape, class... Smaller>
constexpr int largest_rows(shape_list<Shape, Smaller...>) {
  return Shape::rows;
}

// Where heads have four rows, or three, an ISA may have shapes for just that, of narrow vectors: they ask for memory ahead.
template <class Isa, class Shape>
constexpr bool of_few = Isa::shapes_for_few && Shape::rows == 4 && Shape::lanes == 8;

template <class Shape>
using fewer_vectors = shape<Shape::rows, (Shape::vectors + 1) / 2, Shape::lanes>;

// Calls phase(shape) for a shape and then for narrower ones, each with half as many vectors, for what is left.
template <class Shape, class Phase>
FOVEA_INLINE void by_columns(Phase phase) {
  phase(Shape{});
  if constexpr (Shape::vectors > 1) by_columns<fewer_vectors<Shape>>(phase);
}

// Calls phase(Shape) for the shape that takes `rest` rows: the last in the list that holds them.
template <class Shape, class... Smaller, class Phase>
FOVEA_INLINE void with_shape(shape_list<Shape, Smaller...>, int rest, Phase phase) {
  if constexpr (sizeof...(Smaller) > 0) {
    if (largest_rows(shape_list<Smaller...>{}) >= rest) return with_shape(shape_list<Smaller...>{}, rest, phase);
  }
  phase(Shape{}, Shape::rows);
}

// Rows of a tile that go into the largest groups. What is left is one smaller group, or two, where one would leave registers
// empty: 16 rows are 8 + 8 rather than 12 + 4.
template <class Shape, class Second, class... Smaller>
constexpr int rows_in_largest(shape_list<Shape, Second, Smaller...>, int rows) {
  const int whole = rows / Shape::rows * Shape::rows;
  constexpr int more = 2 * Second::rows - Shape::rows; // rows than a largest group
  return more > 0 && whole && rows - whole == more ? whole - Shape::rows : whole;
}
template <class Shape>
constexpr int rows_in_largest(shape_list<Shape>, int rows) {
  return rows / Shape::rows * Shape::rows;
}

// Where rows see different keys, a large group computes more scores that nobody sees: there an ISA may begin with its second shape.
template <class Shape, class... Smaller>
auto stairs_of(shape_list<Shape, Smaller...>) -> shape_list<Smaller...>;
template <class Isa>
using stair_shapes = std::conditional_t<Isa::smaller_stairs, decltype(stairs_of(typename Isa::shapes{})), typename Isa::shapes>;

template <class Isa, class Shape>
constexpr bool takes_no_stairs = Shape::rows > largest_rows(stair_shapes<Isa>{}); // all its rows see the same keys

// How many groups of a shape one phase may see: all of a tile, or what is left.
template <class Isa, class Shape>
constexpr int most_groups = Shape::rows < largest_rows(stair_shapes<Isa>{}) ? 2 : (Isa::rows + Shape::rows - 1) / Shape::rows;

// The rows of one head, for one phase.
struct rows_of_head {
  int from, count;
  bool alike; // they see the same keys
  bool few;   // they take the shapes that are of_few
};

// Where all rows see the same keys of a block, an ISA may have a wide shape for most of them: it spreads fewer numbers of a for as many
// products. It takes rows 24 at a time: whole groups of any shape, so that the rows behind them keep the groups they have in other blocks.
constexpr int wide_rows = 24;
template <class Isa>
constexpr bool has_wide = !std::is_void_v<typename Isa::wide>;
template <class Isa>
FOVEA_INLINE int rows_in_wide(const visit& z, const rows_of_head& rows) {
  if constexpr (has_wide<Isa>) {
    static_assert(wide_rows % Isa::wide::rows == 0);
    if (z.runs == alike::all && z.alike_from < z.alike_to) return rows.count / wide_rows * wide_rows;
  }
  return 0;
}

// Runs a phase over all rows in groups: phase(shape, first row, row after the last).
template <class Shapes, class Phase>
FOVEA_INLINE void by_groups_of(Shapes shapes, int rows, Phase phase) {
  constexpr int most = largest_rows(Shapes{});
  const int whole = rows_in_largest(shapes, rows), rest = rows - whole;
  const auto call = [&](auto shape, int from, int to) { phase(shape, from, to); };
  if (whole) with_shape(shapes, most, [&](auto shape, int) { call(shape, 0, whole); });
  if (rest)
    with_shape(shapes, rest < most ? rest : rest / 2, [&](auto shape, int n) { call(shape, whole, whole + (rest + n - 1) / n * n); });
}
template <class Isa, class Phase>
FOVEA_INLINE void by_groups(int rows, bool alike, Phase phase) {
  if constexpr (Isa::smaller_stairs)
    if (!alike) return by_groups_of(stair_shapes<Isa>{}, rows, phase);
  by_groups_of(typename Isa::shapes{}, rows, phase);
}

} // namespace fovea
