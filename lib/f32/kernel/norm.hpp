// Layer norm and RMS norm of rows: sums in four chains of sixteen lanes, joined by one fixed tree.
// docs/numerics.md, section 11.
#pragma once
#include "common/square_root.hpp"
#include "f32/kernel/dot.hpp"

namespace fovea::f32 {

// Numbers that a loop takes at once: plain floats stay in registers one by one.
template <class Isa>
constexpr int lanes_at_once = Isa::lanes > 1 ? 16 : 1;

// Visits the columns of a row by pieces: whole(column), and for the last few rest(column, count).
template <class Isa, int n = lanes_at_once<Isa>, class Whole, class Rest>
FOVEA_INLINE void each_piece(int columns, Whole whole, Rest rest) {
  int c = 0;
  for (; c + n <= columns; c += n) whole(c);
  if constexpr (n > 1)
    if (c < columns) rest(c, columns - c);
}

// A row, and a copy of its last columns that is filled up to sixteen.
struct padded_row {
  const float* row;
  int columns;
  alignas(64) float rest[16];
};
FOVEA_INLINE void pad_row(const float* row, int columns, float padding, padded_row& to) {
  to.row = row;
  to.columns = columns;
  const int whole = columns & -16;
  if (whole == columns) return;
  for (int i = 0; i < 16; ++i) to.rest[i] = whole + i < columns ? row[whole + i] : padding;
}

// Lanes at .. at + Lanes - 1 of the four chains, already joined: column c belongs to chain c / 16 mod 4.
template <class Isa, int Lanes, class Term>
FOVEA_INLINE floats<Isa, Lanes> add_terms(const padded_row& of, int at, Term term) {
  using vector = floats<Isa, Lanes>;
  const int columns = of.columns, whole = columns & -16;
  const float* row = of.row + at;
  vector chain[4] = {vector::all(0), vector::all(0), vector::all(0), vector::all(0)};
  int c = 0;
  for (; c + 64 <= whole; c += 64)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) chain[k] = term(vector::load(row + c + 16 * k), chain[k]);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k, c += 16) {
    if (c < whole)
      chain[k] = term(vector::load(row + c), chain[k]);
    else if (c < columns)
      chain[k] = term(vector::load(of.rest + at), chain[k]);
  }
  return (chain[0] + chain[2]) + (chain[1] + chain[3]);
}

// The sum over a row of what `term` adds to a chain for each of its numbers.
template <class Isa, class Term>
FOVEA_INLINE float sum_of_terms(const padded_row& of, Term term) {
  constexpr int lanes = in_little_code<Isa> ? 4 : chain_lanes<Isa>(typename Isa::shapes{});
  if constexpr (lanes == 16) return sum_tree(add_terms<Isa, 16>(of, 0, term));
  alignas(64) float sum[16];
  for (int at = 0; at < 16; at += lanes) add_terms<Isa, lanes>(of, at, term).store(sum + at);
#pragma GCC unroll 4
  for (int half = 8; half > 0; half /= 2) // the same tree
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
  return sum[0];
}

// out = a + b, by numbers.
template <class Isa>
FOVEA_INLINE void add_rows(const float* a, const float* b, int columns, float* out) {
  using piece = floats<Isa, lanes_at_once<Isa>>;
  each_piece<Isa>(
      columns, [&](int c) FOVEA_LAMBDA_INLINE { (piece::load(a + c) + piece::load(b + c)).store(out + c); },
      [&](int c, int n) FOVEA_LAMBDA_INLINE {
        store_first(out + c, load_first(a + c, n, piece{}) + load_first(b + c, n, piece{}), n);
      });
}

// out = (x - mean) * factor * weight + bias
template <class Isa>
FOVEA_INLINE void write_normed(const norm_job& job, const float* x, float mean, float factor, float* out) {
  constexpr int at_once = Isa::lanes > 1 ? 16 : 4;
  using piece = floats<Isa, at_once>;
  const float *weight = job.weight, *bias = job.bias;
  const auto middle = piece::all(mean), by = piece::all(factor), one = piece::all(1), zero = piece::all(0);
  const auto added = piece::all(job.weight_plus_one ? 1.0f : 0.0f);
  const auto normed = [&](const piece& from, const piece& w, const piece& b)
                          FOVEA_LAMBDA_INLINE { return fma((from - middle) * by, w, b); };
  each_piece<Isa, at_once>(
      job.columns,
      [&](int c) FOVEA_LAMBDA_INLINE {
        const auto w = weight ? piece::load(weight + c) + added : one;
        normed(piece::load(x + c), w, bias ? piece::load(bias + c) : zero).store(out + c);
      },
      [&](int c, int n) FOVEA_LAMBDA_INLINE {
        const auto w = weight ? load_first(weight + c, n, piece{}) + added : one;
        const auto b = bias ? load_first(bias + c, n, piece{}) : zero;
        store_first(out + c, normed(load_first(x + c, n, piece{}), w, b), n);
      });
}

template <class Isa>
void norm_rows(const norm_job& job) {
  if (job.columns == 0) return;
  const float count = static_cast<float>(job.columns);
  for (ptrdiff_t r = 0; r < job.rows; ++r) {
    const float* x = job.in + r * job.in_stride;
    float* out = job.out + r * job.out_stride;
    if (job.residual) {
      float* sum = job.sum ? job.sum + r * job.sum_stride : out;
      add_rows<Isa>(x, job.residual + r * job.residual_stride, job.columns, sum);
      x = sum;
    }
    padded_row row;
    float mean = 0;
    if (job.centred) {
      pad_row(x, job.columns, 0, row);
      mean = sum_of_terms<Isa>(row, [](auto y, auto sum) FOVEA_LAMBDA_INLINE { return sum + y; }) / count;
    }
    pad_row(x, job.columns, mean, row); // a column that is no column differs from the mean by 0
    const float squares = sum_of_terms<Isa>(row, [mean](auto y, auto sum) FOVEA_LAMBDA_INLINE {
      const auto d = y - decltype(y)::all(mean);
      return fma(d, d, sum);
    });
    write_normed<Isa>(job, x, mean, 1 / square_root(squares / count + job.epsilon), out);
  }
}

} // namespace fovea::f32
