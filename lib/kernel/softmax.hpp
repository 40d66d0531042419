// The softmax step of a block: raise the reference of each row, turn scores into weights, and add them up.
#pragma once
#include "kernel/ending.hpp"
#include "kernel/modify.hpp"
#include "kernel/pack.hpp"

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
    for (int run = z.first_run; run < 2; ++run) walk(z.from[run][row], z.to[run][row], whole, edge);
  } else {
    const int end = Runs == alike::all ? z.alike_to : z.to[1][row], rest = end & 15;
    int j = z.alike_from;
    for (; j < end - rest; j += 16) whole(j);
    if (rest) edge(j, 0, rest);
  }
}

// The largest score of a row; on the way each score becomes what the step makes of it.
template <class Isa, class Step, alike Runs = alike::nothing>
float peak_of(const visit& z, int row) {
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
  return largest(peak);
}

// Is power_magic - top exact? Not for a NaN either.
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

// top = max(top, nearest integer of the largest score), for a register of rows at a time; rescale = 2^(old top - top). Were scores moved?
template <class Isa, class Peak>
FOVEA_INLINE bool raise_tops(const visit& z, Peak peak_of_row) {
  bool moved = false;
  constexpr int lanes = Isa::lanes;
  using rows = one_register<Isa>;
  for (int from = 0; from < z.rows; from += lanes) {
    alignas(64) float peak[lanes] = {};
    const int to = z.rows - from < lanes ? z.rows : from + lanes;
    for (int r = from; r < to; ++r) peak[r - from] = peak_of_row(z, r);
    const auto old = rows::load(z.top + from), top = max(nearest(rows::load(peak)), old);
    top.store(z.top + from);
    if (!z.start) exp2_below(old - top).store(z.rescale + from);
    if (all_exact<Isa>(top)) continue;
    for (int r = from; r < to; ++r)
      if (!exact(z.top[r])) move_to_top<Isa>(z, r, z.top[r]), moved = true;
  }
  return moved;
}

// Weights of one row in place of its scores, and their sum by lanes. What the row does not see keeps whatever it holds.
template <class Isa, bool Hides, alike Runs = alike::nothing>
FOVEA_INLINE f32x16<Isa> weigh_row(const visit& z, int row, float top) {
  float* s = z.s + row * score_stride;
  const auto shift = Isa::spread(power_magic - top), floor = Isa::spread(top + deepest);
  const auto zero = f32x16<Isa>::all(0);
  const auto weight = [&](const f32x16<Isa>& score) FOVEA_LAMBDA_INLINE {
    const auto w = exp2_from(score, shift, floor);
    if constexpr (!Hides) return w;
    return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::if_equal(score.r[i], minus_infinity, zero.r[i], w.r[i]); });
  };
  auto sum = zero;
  walk_runs<Runs>(
      z, row,
      [&](int j) FOVEA_LAMBDA_INLINE {
        const auto w = weight(f32x16<Isa>::load_together(s + j));
        w.store(s + j);
        sum = sum + w;
      },
      [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
        const auto score = f32x16<Isa>::load(s + j), w = weight(score);
        inside(a, b, w, score).store(s + j);
        sum = sum + inside(a, b, w, zero);
      });
  return sum;
}

// With a mask: one copy of the code for all who need it.
template <class Isa>
__attribute__((noinline)) f32x16<Isa> weigh_masked_row(const visit& z, int row, float top) {
  return weigh_row<Isa, true>(z, row, top);
}

// Weighing is all arithmetic: a good time to fetch what comes next, rows of the output and of the next tile's queries.
template <class Isa, bool Hides, alike Runs>
__attribute__((noinline)) void weigh(const visit& shared, bool moved) {
  std::conditional_t<(Isa::lanes > 1), const visit, const visit&> z = shared; // a copy that no store of a vector can change
  const int first_to_leave = z.direct ? z.was_done : z.rows, past_to_leave = z.done < z.rows ? z.done : z.rows;
  const int next_rows = z.start ? z.next_rows : 0;
  const bool fetches = next_rows || first_to_leave < past_to_leave;
  for (int r = 0; r < z.rows; ++r) {
    if (fetches) {
      if (r >= first_to_leave && r < past_to_leave) prefetch_to_write(z.out[r], z.v_dim);
      if (r < next_rows) prefetch(z.next_q + r * z.q_stride, z.dim);
    }
    const float top = moved && !exact(z.top[r]) ? 0 : z.top[r];
    f32x16<Isa> sum;
    if constexpr (Hides)
      sum = weigh_masked_row<Isa>(shared, r, top);
    else
      sum = weigh_row<Isa, false, Runs>(z, r, top);
    if (!z.start) sum = fma_by(z.rescale[r], f32x16<Isa>::load(z.sum + r * 16), sum);
    sum.store(z.sum + r * 16);
  }
  for (int r = first_to_leave; r < past_to_leave; ++r) z.inverse[r] = sum_tree(f32x16<Isa>::load(z.sum + r * 16));
}

// The weights of one row for its final reference, for those who ask to see them.
template <class Isa>
__attribute__((noinline)) void weights_of_row(const visit& z, int row, float top) {
  const bool moves = !exact(top);
  if (moves) move_to_top<Isa>(z, row, top);
  weigh_masked_row<Isa>(z, row, moves ? 0 : top);
}

template <class Isa>
__attribute__((noinline)) bool raise_modified_tops(const visit& z, float (*peak)(const visit&, int)) {
  return raise_tops<Isa>(z, peak);
}

template <class Isa, alike Runs>
void plain_softmax_step(const visit& z) {
  const bool moved = raise_tops<Isa>(z, [](const visit& same, int row) { return peak_of<Isa, plain_step, Runs>(same, row); });
  weigh<Isa, false, Runs>(z, moved);
}

template <class Isa, class Step>
void softmax_step(const visit& z) {
  if constexpr (Step::plain) {
    if (Isa::lanes > 1 && z.runs == alike::all) return plain_softmax_step<Isa, alike::all>(z);
    if (Isa::lanes > 1 && z.runs == alike::begin) return plain_softmax_step<Isa, alike::begin>(z);
    plain_softmax_step<Isa, alike::nothing>(z);
  } else {
    const bool moved = raise_modified_tops<Isa>(z, peak_of<Isa, Step>);
    weigh<Isa, Step::biased, alike::nothing>(z, moved);
  }
}

} // namespace fovea
