// Rows times packed weights: the tile on panels of weights, for each strip of columns over all rows, so that
// weights come from memory once and from the nearest cache afterwards. docs/numerics.md, section 10.
#pragma once
#include "f32/kernel/elements.hpp"
#include "f32/kernel/finish.hpp"
#include "f32/kernel/shapes.hpp"
#include "isa/contract.hpp"

namespace fovea::f32 {

// Outputs that all rows take before the next ones: a multiple of the columns of each shape.
constexpr int strip_columns = 64;
// Floats of x that rows take along from strip to strip.
constexpr int32_t held_floats = 1 << 16;

// Where few streams of memory are read at once, what comes a page later is prefetched: there the hardware
// begins anew. Four streams of floats are fast by themselves. Of 16-bit weights one row or two prefetch into
// L2 on wide cores: a first cache that waits for memory takes no more prefetches.
enum class prefetch_to { nothing, l2 = 2, l1 = 3 }; // as __builtin_prefetch counts them
template <class Element, prefetch_to To>
struct load_weights : load_whole {
  template <class Vector>
  static FOVEA_INLINE Vector load(const typename Element::stored* p) {
    return Element::load(p, Vector{});
  }
  static FOVEA_INLINE void fetch(const typename Element::stored* p) {
    if constexpr (To != prefetch_to::nothing)
      __builtin_prefetch(p + 4096 / Element::bytes, 0, static_cast<int>(To));
  }
};
template <class Isa, class Shape, class Element>
constexpr prefetch_to prefetch_of = Isa::lanes >= 8 && Shape::rows <= 2 && Element::bytes == 2
                                        ? prefetch_to::l2
                                    : Isa::lanes > 1 && Shape::vectors < 4 ? prefetch_to::l1
                                                                           : prefetch_to::nothing;
template <class Isa, class Shape, class Element>
using load_for = load_weights<Element, prefetch_of<Isa, Shape, Element>>;

// Rows of a small group: where fewer are left, the last one stands in for the others.
template <int Rows>
class last_row_repeated {
 public:
  FOVEA_INLINE last_row_repeated(const float* a, ptrdiff_t step, int count) {
#pragma GCC unroll 4
    for (int m = 0; m < Rows; ++m) at_[m] = m == 0 ? a : m < count ? at_[m - 1] + step : at_[m - 1];
  }
  FOVEA_INLINE const float* row(int m) const { return at_[m]; }
  FOVEA_INLINE float operator()(int m, int k) const { return at_[m][k]; }
  FOVEA_INLINE void move(ptrdiff_t count) {
#pragma GCC unroll 4
    for (auto& p : at_) p += count;
  }

 private:
  const float* at_[Rows];
};
// A larger group begins earlier instead, and computes some rows again: it needs as many rows as it has.
template <class Shape>
constexpr bool repeats_last_row = Shape::rows <= 4;

// Outputs from .. to-1 of the product.
struct strip {
  int32_t from, to;
  int32_t shift; // what an output has to lose to be a column of y
  activation last_step;
  bool plain; // nothing happens to sums on their way to y
};

// Sums of a tile: of `count` rows from `row` on, by `width` outputs from `c` on.
struct tile_sums {
  float* z;
  int32_t row, count, c, width;
};

template <class Isa>
__attribute__((noinline)) void finish_tile(const product_job& job, const strip& s, const tile_sums& t) {
  const finish_job& all = *job.finish;
  const int32_t from = t.c < s.from ? s.from : t.c, to = t.c + t.width < s.to ? t.c + t.width : s.to;
  const ptrdiff_t row = t.row, column = from - s.shift;
  finish_job f;
  f.z = t.z + (from - t.c);
  f.z_stride = t.width;
  f.bias = all.bias ? all.bias + from : nullptr;
  f.residual = all.residual ? all.residual + row * all.residual_stride + column : nullptr;
  f.residual_stride = all.residual_stride;
  f.y = all.y + row * all.y_stride + column;
  f.y_stride = all.y_stride;
  f.rows = t.count;
  f.count = to - from;
  f.last_step = s.last_step;
  finish_rows<Isa>(f);
}

// A tile of rows by the columns from output `c` on. Of its rows those from `fresh` on are wanted: `count`,
// which are row, row + 1, ...
template <class Isa, class Shape, class Element, class Rows>
FOVEA_INLINE void product_tile(const product_job& job, const strip& s, int32_t c, const Rows& rows, int fresh,
                               int32_t row, int count) {
  constexpr int width = Shape::vectors * Shape::lanes;
  const auto* w = static_cast<const typename Element::stored*>(job.packed) +
                  static_cast<ptrdiff_t>(static_cast<uint32_t>(c) / 16) * 16 * job.in + (c & 15);
  const ptrdiff_t next = Shape::lanes < 16 ? Shape::lanes : static_cast<ptrdiff_t>(16) * job.in;
  accumulator<Isa, Shape> acc;
  acc.clear();
  tile(rows, panels_view{w, next, static_cast<ptrdiff_t>(16)}, job.in, load_for<Isa, Shape, Element>{}, acc);
  if (s.plain && count == Shape::rows && c >= s.from && c + width <= s.to) {
    const ptrdiff_t stride = job.finish->y_stride;
    float* y = job.finish->y + row * stride + c;
    return acc.each([&](int m, int n, auto& x)
                        FOVEA_LAMBDA_INLINE { x.store(y + m * stride + n * Shape::lanes); });
  }
  // finish_with loads whole vectors, also the last one: of sixteen, or of four plain floats.
  alignas(Isa::lanes * sizeof(float)) float z[Shape::rows * width + (Isa::lanes > 1 ? 16 : 3)];
  acc.each([&](int m, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(z + m * width + n * Shape::lanes); });
  finish_tile<Isa>(job, s, {z + fresh * width, row, count, c, width});
}

// Rows row .. end-1 in groups of one shape, by columns from output c on: as many whole ones as a strip has,
// then what is left by narrower shapes.
template <class Isa, class Shape, class Element>
FOVEA_INLINE void product_columns(const product_job& job, const strip& s, int32_t c, int32_t row,
                                  int32_t end) {
  constexpr int width = Shape::vectors * Shape::lanes, step = width < 16 ? width : 16;
  for (; c + width < s.to + step; c += width)
    for (int32_t r = row; r < end; r += Shape::rows) {
      const int count = end - r < Shape::rows ? end - r : Shape::rows;
      if constexpr (repeats_last_row<Shape>) {
        const last_row_repeated<Shape::rows> rows(job.x + r * job.x_stride, job.x_stride, count);
        product_tile<Isa, Shape, Element>(job, s, c, rows, 0, r, count);
      } else {
        const int32_t first = r + count - Shape::rows;
        const rows_view<Isa, Shape::rows, ptrdiff_t> rows(job.x + first * job.x_stride, job.x_stride);
        product_tile<Isa, Shape, Element>(job, s, c, rows, r - first, r, count);
      }
    }
  if constexpr (width > 16) product_columns<Isa, fewer_vectors<Shape>, Element>(job, s, c, row, end);
}

template <class Isa, class Shape, class Element>
FOVEA_FOR_SPEED __attribute__((noinline)) void product_groups(const product_job& job, const strip& s,
                                                              int32_t row, int32_t end) {
  constexpr int lanes = Shape::vectors * Shape::lanes < 16 ? Shape::lanes : 16;
  product_columns<Isa, Shape, Element>(job, s, s.from & -lanes, row, end);
}

// Rows row .. end-1 in as few groups as possible: phase(shape, row, end) for each shape that is needed.
template <class Shape, class... Smaller, class Phase>
FOVEA_INLINE void by_rows(shape_list<Shape, Smaller...> shapes, int32_t row, int32_t end, Phase phase) {
  if constexpr (sizeof...(Smaller) == 0) {
    if (row < end) phase(Shape{}, row, end);
  } else {
    int32_t stop = row + rows_in_largest(shapes, end - row);
    const int32_t left = end - stop; // one group more is worth it where it is nearly full
    if (left < Shape::rows && 4 * left >= 3 * Shape::rows && (repeats_last_row<Shape> || end >= Shape::rows))
      stop = end;
    if (row < stop) phase(Shape{}, row, stop);
    by_rows(shape_list<Smaller...>{}, stop, end, phase);
  }
}

template <class Isa, class Element>
FOVEA_INLINE void multiply_strip(const product_job& job, const strip& s, int32_t row, int32_t end) {
  by_rows(typename Isa::product_shapes{}, row, end, [&](auto shape, int32_t from, int32_t to) {
    product_groups<Isa, decltype(shape), Element>(job, s, from, to);
  });
}

template <class Isa, class Element>
__attribute__((noinline)) void multiply_with(const product_job& job) {
  constexpr int unit = Isa::rows;
  int32_t step = unit; // rows at a time
  if (job.rows > unit && held_floats / job.in > unit) step = held_floats / job.in / unit * unit;
  const finish_job& f = *job.finish;
  const bool plain = !f.bias && !f.residual && f.last_step == activation::none;
  for (int32_t row = 0; row < job.rows; row += step) {
    const int32_t end = job.rows - row < step ? job.rows : row + step;
    const int32_t columns = end - row == 1 ? job.to - job.from
                                           : strip_columns; // one row meets no weight again
    for (int32_t c = job.from; c < job.to; c += columns) {
      const int32_t to = job.to - c < columns ? job.to : c + columns;
      multiply_strip<Isa, Element>(job, {c, to, 0, f.last_step, plain}, row, end);
      if (const int32_t n = job.gate_width)
        multiply_strip<Isa, Element>(job, {c + n, to + n, n, activation::times, false}, row, end);
    }
  }
}

template <class Isa>
void multiply_rows(const product_job& job) {
  if (job.dtype == FOVEA_F16) return multiply_with<Isa, f16_element>(job);
  if (job.dtype == FOVEA_BF16) return multiply_with<Isa, bf16_element>(job);
  multiply_with<Isa, f32_element>(job);
}

} // namespace fovea::f32
