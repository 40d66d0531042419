// The reference of a row is the even number nearest to its largest score in the block. The weight of a key is
// 2^(score - reference). Sums that have different references meet at the larger one.
#pragma once
#include "f32/kernel/exp2.hpp"
#include "f32/kernel/modify.hpp"

namespace fovea::f32 {

// Walks the vectors of sixteen that hold keys from .. to-1: whole(j), or edge(j, a, b) where only lanes a ..
// b-1 are meant.
template <class Whole, class Edge>
FOVEA_INLINE void walk(int from, int to, Whole whole, Edge edge) {
  for (int j = from & -16; j < to; j += 16) {
    if (j >= from)
      for (; j + 16 <= to; j += 16) whole(j);
    if (j < to) edge(j, from - j, to - j);
  }
}

// The vectors that hold the keys a row sees, of both runs. Where all rows have one run that begins with the
// same whole vector, without a test of its begin.
template <same_keys Same, class Whole, class Edge>
FOVEA_INLINE void walk_runs(const key_runs& runs, int row, Whole whole, Edge edge) {
  if constexpr (Same == same_keys::none) {
    for (int run = runs.first; run < 2; ++run) walk(runs.from[run][row], runs.to[run][row], whole, edge);
  } else {
    const int end = Same == same_keys::all ? runs.end : runs.to[1][row], rest = end & 15;
    int j = runs.begin;
    for (; j < end - rest; j += 16) whole(j);
    if (rest) edge(j, 0, rest);
  }
}

// The largest scores of a row, by lanes. Modifiers change each score first.
template <class Isa, same_keys Same, class Modify>
FOVEA_INLINE f32x16<Isa> find_peaks(const key_runs& runs, float* scores, int row, const Modify& modify) {
  float* s = scores + row * score_stride;
  const auto nothing = f32x16<Isa>::all(lowest);
  auto peak = nothing;
  const auto whole = [&](int j) FOVEA_LAMBDA_INLINE {
    auto score = f32x16<Isa>::load_together(s + j);
    if constexpr (Modify::modifies) {
      score = modify.whole(j, score);
      score.store(s + j);
    }
    peak = max(score, peak);
  };
  const auto edge = [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
    const auto raw = f32x16<Isa>::load(s + j);
    auto score = raw;
    if constexpr (Modify::modifies) {
      score = modify.edge(j, a, b, raw);
      inside(a, b, score, raw).store(s + j);
    }
    peak = max(inside(a, b, score, nothing), peak);
  };
  if constexpr (Isa::lanes < 8 &&
                Modify::modifies) { // many short registers: one copy of so much code is enough
    for (int run = runs.first; run < 2; ++run)
      for (int from = runs.from[run][row], to = runs.to[run][row], j = from & -16; j < to; j += 16)
        edge(j, from - j, to - j);
  } else {
    walk_runs<Same>(runs, row, whole, edge);
  }
  return peak;
}

// Modifiers change the scores of a row. Returns the largest ones, by lanes.
template <class Isa>
__attribute__((noinline)) f32x16<Isa> modify_row(const modifiers& modify, const key_runs& runs, float* scores,
                                                 int row, const row_bias& bias) {
  return find_peaks<Isa, same_keys::none>(runs, scores, row, modified_by<Isa>{modify, bias});
}

// Is shift_of - reference exact? Not for a NaN either.
FOVEA_INLINE bool exact(float reference) { return reference < exact_limit && reference > -exact_limit; }

template <class Isa>
FOVEA_INLINE bool all_exact(const one_register<Isa>& reference) {
  return !Isa::any_nan(Isa::inside(reference.r[0], 1 - exact_limit, exact_limit, Isa::spread(0),
                                   Isa::spread(__builtin_nanf(""))));
}

// Where it is not exact, the reference is first subtracted from the scores, with one rounding. They are then
// weighed relative to 0.
template <class Isa>
__attribute__((noinline)) void move_to_reference(const key_runs& runs, float* scores, int row,
                                                 float reference) {
  float* s = scores + row * score_stride;
  const auto from = f32x16<Isa>::all(reference);
  for (int run = runs.first; run < 2; ++run)
    walk(
        runs.from[run][row], runs.to[run][row],
        [&](int j) FOVEA_LAMBDA_INLINE { (f32x16<Isa>::load(s + j) - from).store(s + j); },
        [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
          const auto score = f32x16<Isa>::load(s + j);
          inside(a, b, score - from, score).store(s + j);
        });
}

// For a register of rows from .. to-1: the reference of the block is the even number nearest to its largest
// score, top the larger one of it and of top so far. Were scores moved?
template <class Isa>
FOVEA_INLINE bool raise_register(const workspace& w, const block& b, int from, int to,
                                 const one_register<Isa>& peak) {
  using rows = one_register<Isa>;
  const auto reference = nearest_even(peak), old = rows::load(w.top + from), top = max(reference, old);
  reference.store(w.reference + from);
  top.store(w.top + from);
  if (!b.opens_span) {
    exp2_below(old - top).store(w.of_before + from);
    exp2_below(reference - top).store(w.of_block + from);
  }
  if (all_exact<Isa>(reference)) return false;
  bool moved = false;
  for (int r = from; r < to; ++r) {
    if (exact(w.reference[r])) continue;
    move_to_reference<Isa>(b.runs, w.s, r, w.reference[r]);
    moved = true;
  }
  return moved;
}

// What row r gathers in a block joins what its span has: both at the larger reference.
template <class Isa, int Lanes>
FOVEA_INLINE floats<Isa, Lanes> join_block(const floats<Isa, Lanes>& block, const float* span,
                                           float of_before, float of_block) {
  using vector = floats<Isa, Lanes>;
  return fma_by(of_before, vector::load(span), block * vector::all(of_block));
}

template <class Isa>
FOVEA_INLINE int end_of_register(int rows, int from) {
  return rows - from < Isa::lanes ? rows : from + Isa::lanes;
}

// peaks(from, to): the largest scores of a register of rows.
template <class Isa, class Peaks>
FOVEA_INLINE bool raise_tops(const tile_job& job, const block& b, Peaks peaks) {
  bool moved = false;
  for (int from = 0; from < job.rows; from += Isa::lanes) {
    const int to = end_of_register<Isa>(job.rows, from);
    moved |= raise_register<Isa>(*job.w, b, from, to, peaks(from, to));
  }
  return moved;
}
template <class Isa, same_keys Same>
FOVEA_INLINE one_register<Isa> plain_peaks(const tile_job& job, const key_runs& runs, int from, int to) {
  largest_of_rows<Isa> peaks;
  for (int r = from; r < to; ++r) peaks.set(r - from, find_peaks<Isa, Same>(runs, job.w->s, r, unmodified{}));
  return peaks.of_first(to - from);
}

} // namespace fovea::f32
