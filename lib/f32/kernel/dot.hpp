// Products of rows with a vector: four chains of sixteen lanes, joined by one fixed tree. docs/numerics.md,
// section 9.
#pragma once
#include "f32/kernel/rows.hpp"
#include "f32/kernel/shapes.hpp"
#include "f32/row_jobs.hpp"

namespace fovea::f32 {

// Lanes that four chains may have at once: no more registers than the accumulators of the largest tile.
template <class Isa, class Shape, class... Smaller>
constexpr int chain_lanes(shape_list<Shape, Smaller...>) {
  const int most = in_little_code<Isa> ? 2 : Shape::rows * Shape::vectors * Shape::lanes / 4;
  return most >= 16 ? 16 : most >= 8 ? 8 : most >= 4 ? 4 : 2;
}

struct rest_of_product { // the rest of both rows, 0 in the lanes that overlap
  alignas(64) float w[16], x[16];
};
template <class Isa>
FOVEA_INLINE void find_rest(const float* w, const float* x, int columns, rest_of_product& rest) {
  const int first = 16 - columns % 16;
  if constexpr (Isa::lanes == 1) { // nothing that overlaps has to be loaded
    for (int i = 0; i < 16; ++i) {
      rest.w[i] = i < first ? 0 : w[columns - 16 + i];
      rest.x[i] = i < first ? 0 : x[columns - 16 + i];
    }
  } else {
    const auto zero = f32x16<Isa>::all(0);
    inside(first, 16, load_rest<Isa>(w, columns), zero).store(rest.w);
    inside(first, 16, load_rest<Isa>(x, columns), zero).store(rest.x);
  }
}

// Lanes at .. at + Lanes - 1 of the four chains, already joined: vector v of the row belongs to chain v
// mod 4.
template <class Isa, int Lanes>
FOVEA_INLINE floats<Isa, Lanes> add_products(const float* w, const float* x, int columns,
                                             const rest_of_product& rest, int at) {
  using vector = floats<Isa, Lanes>;
  const int whole = columns & -16;
  vector chain[4] = {vector::all(0), vector::all(0), vector::all(0), vector::all(0)};
  int j = 0;
  for (; j + 64 <= whole; j += 64)
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c)
      chain[c] = fma(vector::load(w + j + 16 * c + at), vector::load(x + j + 16 * c + at), chain[c]);
  if constexpr (in_little_code<Isa>) {
    // The chains take turns at the first place. Their sum does not depend on which one stands there.
    for (; j < columns; j += 16) {
      const bool is_rest = j == whole;
      const float *w_at = is_rest ? rest.w : w + j, *x_at = is_rest ? rest.x : x + j;
      const auto next = fma(vector::load(w_at + at), vector::load(x_at + at), chain[0]);
      chain[0] = chain[1];
      chain[1] = chain[2];
      chain[2] = chain[3];
      chain[3] = next;
    }
    return (chain[0] + chain[2]) + (chain[1] + chain[3]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c, j += 16) {
    if (j < whole)
      chain[c] = fma(vector::load(w + j + at), vector::load(x + j + at), chain[c]);
    else if (j < columns)
      chain[c] = fma(vector::load(rest.w + at), vector::load(rest.x + at), chain[c]);
  }
  return (chain[0] + chain[2]) + (chain[1] + chain[3]);
}

template <class Isa>
FOVEA_INLINE float dot(const float* w, const float* x, int columns) {
  constexpr int lanes = chain_lanes<Isa>(typename Isa::shapes{});
  rest_of_product rest;
  if constexpr (Isa::lanes > 1) rest = {};
  if (columns % 16) find_rest<Isa>(w, x, columns, rest);
  if constexpr (lanes == 16) return sum_tree(add_products<Isa, 16>(w, x, columns, rest, 0));
  alignas(64) float sum[16];
  for (int at = 0; at < 16; at += lanes) add_products<Isa, lanes>(w, x, columns, rest, at).store(sum + at);
  if constexpr (!in_little_code<Isa>) return sum_tree(f32x16<Isa>::load(sum));
  for (int half = 8; half > 0; half /= 2) // the same tree
    for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

template <class Isa>
void matvec_rows(const matvec_job& job) {
  for (int32_t r = 0; r < job.rows; ++r)
    job.out[r] = dot<Isa>(job.w + r * job.row_stride, job.x, job.columns);
}

} // namespace fovea::f32
