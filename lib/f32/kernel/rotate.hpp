// Rotary embedding: pairs of numbers turn by the angle of their position. docs/numerics.md, section 11.
#pragma once
#include "f32/kernel/norm.hpp"

namespace fovea::f32 {

// (a, b) becomes (a cos - b sin, b cos + a sin).
template <class Isa, int N>
FOVEA_INLINE void turn(floats<Isa, N>& a, floats<Isa, N>& b, const floats<Isa, N>& cosine,
                       const floats<Isa, N>& sine) {
  const auto x = a, y = b;
  a = fma(x, cosine, floats<Isa, N>::all(0) - y * sine);
  b = fma(y, cosine, x * sine);
}

// Pairs stand `half` numbers apart.
template <class Isa>
FOVEA_INLINE void turn_halves(const float* x, int half, const float* cosine, const float* sine, float* out) {
  using piece = floats<Isa, lanes_at_once<Isa>>;
  each_piece<Isa>(
      half,
      [&](int c) FOVEA_LAMBDA_INLINE {
        auto a = piece::load(x + c), b = piece::load(x + half + c);
        turn(a, b, piece::load(cosine + c), piece::load(sine + c));
        a.store(out + c);
        b.store(out + half + c);
      },
      [&](int c, int n) FOVEA_LAMBDA_INLINE {
        auto a = load_first(x + c, n, piece{}), b = load_first(x + half + c, n, piece{});
        turn(a, b, load_first(cosine + c, n, piece{}), load_first(sine + c, n, piece{}));
        store_first(out + c, a, n);
        store_first(out + half + c, b, n);
      });
}

// Pairs stand beside each other: they are taken apart, turned, and joined again.
template <class Isa>
FOVEA_INLINE void turn_neighbours(const float* x, int half, const float* cosine, const float* sine,
                                  float* out) {
  constexpr int n = lanes_at_once<Isa>;
  using piece = floats<Isa, n>;
  for (int c = 0; c < half; c += n) {
    const int count = half - c < n ? half - c : n;
    alignas(64) float first[n] = {}, second[n] = {};
    for (int i = 0; i < count; ++i) {
      first[i] = x[2 * (c + i)];
      second[i] = x[2 * (c + i) + 1];
    }
    auto a = piece::load(first), b = piece::load(second);
    if (count == n)
      turn(a, b, piece::load(cosine + c), piece::load(sine + c));
    else
      turn(a, b, load_first(cosine + c, count, piece{}), load_first(sine + c, count, piece{}));
    a.store(first);
    b.store(second);
    for (int i = 0; i < count; ++i) {
      out[2 * (c + i)] = first[i];
      out[2 * (c + i) + 1] = second[i];
    }
  }
}

template <class Isa>
void rotate_rows(const rotate_job& job) {
  const int half = job.half;
  for (ptrdiff_t t = 0; t < job.tokens; ++t) {
    const ptrdiff_t position = job.positions ? job.positions[t] : job.first + t;
    const float *cosine = job.cosine + position * half, *sine = job.sine + position * half;
    for (ptrdiff_t h = 0; h < job.heads; ++h) {
      const float* x = job.in.data + h * job.in.head + t * job.in.token;
      float* out = job.out.data + h * job.out.head + t * job.out.token;
      if (job.neighbours)
        turn_neighbours<Isa>(x, half, cosine, sine, out);
      else
        turn_halves<Isa>(x, half, cosine, sine, out);
      if (x != out)
        for (int c = 2 * half; c < job.dim; ++c) out[c] = x[c];
    }
  }
}

} // namespace fovea::f32
