// The reference of a row: the even number nearest to the largest score so far. Weights are powers of two of what a score is above it.
#pragma once
#include "kernel/exp2.hpp"
#include "kernel/modify.hpp"

namespace fovea {

// Walks the vectors of sixteen that hold keys from .. to-1: whole(j), or edge(j, a, b) where only lanes a .. b-1 are meant.
template <class Whole, class Edge>
FOVEA_INLINE void walk(int from, int to, Whole whole, Edge edge) {
  for (int j = from & -16; j < to; j += 16) {
    if (j >= from)
      for (; j + 16 <= to; j += 16) whole(j);
    if (j < to) edge(j, from - j, to - j);
  }
}

// The vectors that hold what a row sees, of both runs; or of one that begins with a whole vector, without asking again.
template <alike Runs, class Whole, class Edge>
FOVEA_INLINE void walk_runs(const visit& z, int row, Whole whole, Edge edge) {
  if constexpr (Runs == alike::nothing) {
    for (int run = z.first_run; run < 2; ++run) walk(z.shared->from[run][row], z.shared->to[run][row], whole, edge);
  } else {
    const int end = Runs == alike::all ? z.alike_to : z.to[1][row], rest = end & 15;
    int j = z.alike_from;
    for (; j < end - rest; j += 16) whole(j);
    if (rest) edge(j, 0, rest);
  }
}

// The largest scores of a row, by lanes; on the way each score becomes what the step makes of it.
template <class Isa, class Step, alike Runs>
FOVEA_INLINE f32x16<Isa> find_peaks(const visit& z, int row) {
  float* s = z.s + row * score_stride;
  const auto nothing = f32x16<Isa>::all(lowest);
  const row_bias bias = Step::biased ? bias_of(z, row) : row_bias{};
  auto peak = nothing;
  const auto whole = [&](int j) FOVEA_LAMBDA_INLINE {
    const auto score = modified<Step>(z.job->p->modify, bias, j, 0, 16, f32x16<Isa>::load_together(s + j));
    if constexpr (!Step::plain) score.store(s + j);
    peak = max(score, peak);
  };
  const auto edge = [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
    const auto raw = f32x16<Isa>::load(s + j), score = modified<Step>(z.job->p->modify, bias, j, a, b, raw);
    if constexpr (!Step::plain) inside(a, b, score, raw).store(s + j);
    peak = max(inside(a, b, score, nothing), peak);
  };
  if constexpr (Isa::lanes < 8 && !Step::plain) { // many short registers: one copy of so much code is enough
    for (int run = z.first_run; run < 2; ++run)
      for (int from = z.from[run][row], to = z.to[run][row], j = from & -16; j < to; j += 16) edge(j, from - j, to - j);
  } else {
    walk_runs<Runs>(z, row, whole, edge);
  }
  return peak;
}
template <class Isa, class Step>
float peak_of(const visit& z, int row) {
  return largest(find_peaks<Isa, Step, alike::nothing>(z, row));
}

// Is shift_of - top exact? Not for a NaN either.
FOVEA_INLINE bool exact(float top) { return top < exact_limit && top > -exact_limit; }

template <class Isa>
FOVEA_INLINE bool all_exact(const one_register<Isa>& top) {
  return !Isa::any_nan(Isa::inside(top.r[0], 1 - exact_limit, exact_limit, Isa::spread(0), Isa::spread(__builtin_nanf(""))));
}

// Scores so large that it is not are first moved to top, with one rounding, and weighed from 0.
template <class Isa>
__attribute__((noinline)) void move_to_top(const visit& z, int row, float reference) {
  float* s = z.s + row * score_stride;
  const auto top = f32x16<Isa>::all(reference);
  for (int run = z.first_run; run < 2; ++run)
    walk(
        z.from[run][row], z.to[run][row], [&](int j) FOVEA_LAMBDA_INLINE { (f32x16<Isa>::load(s + j) - top).store(s + j); },
        [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
          const auto score = f32x16<Isa>::load(s + j);
          inside(a, b, score - top, score).store(s + j);
        });
}

// For a register of rows from .. to-1: top = max(top, nearest even number of the largest score), rescale = 2^(old top - top).
// Were scores moved?
template <class Isa>
FOVEA_INLINE bool raise_register(const visit& z, int from, int to, const one_register<Isa>& peak) {
  using rows = one_register<Isa>;
  const auto old = rows::load(z.top + from), top = max(nearest_even(peak), old);
  top.store(z.top + from);
  if (!z.start) exp2_below(old - top).store(z.rescale + from);
  if (all_exact<Isa>(top)) return false;
  bool moved = false;
  for (int r = from; r < to; ++r)
    if (!exact(z.top[r])) move_to_top<Isa>(*z.shared, r, z.top[r]), moved = true;
  return moved;
}
template <class Isa>
FOVEA_INLINE int end_of_register(const visit& z, int from) {
  return z.rows - from < Isa::lanes ? z.rows : from + Isa::lanes;
}

// peaks(from, to): the largest scores of a register of rows.
template <class Isa, class Peaks>
FOVEA_INLINE bool raise_tops(const visit& z, Peaks peaks) {
  bool moved = false;
  for (int from = 0; from < z.rows; from += Isa::lanes) {
    const int to = end_of_register<Isa>(z, from);
    moved |= raise_register<Isa>(z, from, to, peaks(from, to));
  }
  return moved;
}
template <class Isa, alike Runs>
FOVEA_INLINE one_register<Isa> plain_peaks(const visit& z, int from, int to) {
  largest_of_rows<Isa> peaks;
  for (int r = from; r < to; ++r) peaks.set(r - from, find_peaks<Isa, plain_step, Runs>(z, r));
  return peaks.of_first(to - from);
}

} // namespace fovea
