// The softmax step of a block: with the reference of each row raised, scores become weights, and are added up.
#pragma once
#include "kernel/ending.hpp"
#include "kernel/pack.hpp"
#include "kernel/references.hpp"

namespace fovea {

// Where the weights of a register of rows are counted from: the reference of each, or 0 where scores have been moved to it.
template <class Isa>
struct levels {
  alignas(64) float shift[Isa::lanes];
  alignas(64) float floor[Isa::lanes];

  FOVEA_INLINE levels(const visit& z, int from, bool moved) {
    using rows = one_register<Isa>;
    auto top = rows::load(z.top + from);
    if (moved) top.r[0] = Isa::inside(top.r[0], 1 - exact_limit, exact_limit, top.r[0], Isa::spread(0));
    (rows::all(shift_of<Isa>) - top).store(shift);
    (top + rows::all(deepest)).store(floor);
  }
};

// Weights of one row in place of its scores, and their sum by lanes. What the row does not see keeps whatever it holds. beside(j, a, b) is
// called with the same keys.
template <class Isa, bool Hides, alike Runs, class Beside>
FOVEA_INLINE f32x16<Isa> weigh_row(const visit& z, int row, float from_shift, float from_floor, Beside& beside) {
  float* s = z.s + row * score_stride;
  const auto shift = Isa::spread(from_shift), floor = Isa::spread(from_floor);
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
        beside(j, 0, 16);
      },
      [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
        const auto score = f32x16<Isa>::load(s + j), w = weight(score);
        inside(a, b, w, score).store(s + j);
        sum = sum + inside(a, b, w, zero);
        beside(j, a, b);
      });
  return sum;
}
struct nothing_beside {
  FOVEA_INLINE void operator()(int, int, int) const {}
};

// With a mask: one copy of the code for all who need it.
template <class Isa>
__attribute__((noinline)) f32x16<Isa> weigh_masked_row(const visit& z, int row, float shift, float floor) {
  nothing_beside nothing;
  return weigh_row<Isa, true, alike::nothing>(z, row, shift, floor, nothing);
}

// Weighing is all arithmetic: a good time to fetch what comes next, rows of the output and of the next tile's queries. And it waits for its
// own chain of products: work beside it is free.
struct rows_to_leave {
  int from, to, next; // rows of the output that this block ends, and how many rows of queries the next tile has
  bool soon;          // with so few keys they are wanted before they could come

  explicit FOVEA_INLINE rows_to_leave(const visit& z)
      : from(z.direct ? z.was_done : z.rows),
        to(z.done < z.rows ? z.done : z.rows),
        next(z.start ? z.next_rows : 0),
        soon(z.alike_to - z.alike_from < 64) {}
  FOVEA_INLINE bool any() const { return !soon && (next || from < to); }
  FOVEA_INLINE void fetch(const visit& z, int r) const {
    if (r >= from && r < to) prefetch_to_write(z.out[r], z.v_dim);
    if (r < next) prefetch(z.next_q + r * z.q_stride, z.dim);
  }
};

template <class Isa>
FOVEA_INLINE void add_to_sum(const visit& z, int r, f32x16<Isa> sum) {
  if (!z.start) sum = fma_by(z.rescale[r], f32x16<Isa>::load(z.sum + r * 16), sum);
  sum.store(z.sum + r * 16);
}
template <class Isa>
FOVEA_INLINE void leave_totals(const visit& z, const rows_to_leave& rows) {
  for (int from = rows.from; from < rows.to; from += Isa::lanes) {
    const int count = rows.to - from < Isa::lanes ? rows.to - from : Isa::lanes;
    if constexpr (Isa::joins_rows)
      if (count == Isa::lanes) {
        sums_of_rows<Isa>(z.sum + from * 16).store(z.inverse + from);
        continue;
      }
    for (int r = from; r < from + count; ++r) z.inverse[r] = sum_tree(f32x16<Isa>::load(z.sum + r * 16));
  }
}

template <class Isa, bool Hides, alike Runs>
__attribute__((noinline)) void weigh(const visit& shared, bool moved) {
  std::conditional_t<(Isa::lanes > 1), const visit, const visit&> z = shared; // a copy that no store of a vector can change
  const rows_to_leave leaving(z);
  const bool fetches = leaving.any();
  for (int from = 0; from < z.rows; from += Isa::lanes) {
    const int count = end_of_register<Isa>(z, from) - from;
    const levels<Isa> by(z, from, moved);
    nothing_beside nothing;
    for (int i = 0; i < count; ++i) {
      const int r = from + i;
      if (fetches) leaving.fetch(z, r);
      if constexpr (Hides)
        add_to_sum<Isa>(z, r, weigh_masked_row<Isa>(shared, r, by.shift[i], by.floor[i]));
      else
        add_to_sum<Isa>(z, r, weigh_row<Isa, false, Runs>(z, r, by.shift[i], by.floor[i], nothing));
    }
  }
  leave_totals<Isa>(z, leaving);
}

// Keys of a row that is worth it: in a short one there is not much to wait for.
template <class Isa>
constexpr int long_row = 1536 / Isa::lanes;

// Searches two rows while another one is weighed; all see the same keys.
template <class Isa>
struct search_of_two {
  const float *first, *second;
  f32x16<Isa> highest[2];

  FOVEA_INLINE search_of_two(const visit& z, int row)
      : first(z.s + row * score_stride), second(row + 1 < z.rows ? first + score_stride : first), highest{nothing(), nothing()} {}
  FOVEA_INLINE void operator()(int j, int, int b) {
    const auto x = f32x16<Isa>::load(first + j), y = f32x16<Isa>::load(second + j);
    highest[0] = max(b == 16 ? x : inside(0, b, x, nothing()), highest[0]);
    highest[1] = max(b == 16 ? y : inside(0, b, y, nothing()), highest[1]);
  }

 private:
  static FOVEA_INLINE f32x16<Isa> nothing() { return f32x16<Isa>::all(lowest); }
};

// All rows see the same keys: while the first half of a register of rows is weighed, the largest scores of the next one are found. So its
// references are there before it is its turn, and nothing waits for them.
template <class Isa>
__attribute__((noinline)) void raise_and_weigh(const visit& shared) {
  const visit z = shared;
  const rows_to_leave leaving(z);
  const bool fetches = leaving.any();
  largest_of_rows<Isa> peaks;
  int end = end_of_register<Isa>(z, 0);
  bool moved = raise_register<Isa>(z, 0, end, plain_peaks<Isa, alike::all>(z, 0, end));
  for (int from = 0; from < z.rows; from += Isa::lanes) {
    const levels<Isa> by(z, from, moved);
    const int next = end, searched = end_of_register<Isa>(z, next) - next;
    const auto weigh = [&](int r, auto& beside) FOVEA_LAMBDA_INLINE {
      if (fetches) leaving.fetch(z, r);
      add_to_sum<Isa>(z, r, weigh_row<Isa, false, alike::all>(z, r, by.shift[r - from], by.floor[r - from], beside));
    };
    int i = 0;
    for (; 2 * i < searched; ++i) {
      search_of_two<Isa> search(z, next + 2 * i);
      weigh(from + i, search);
      peaks.set(2 * i, search.highest[0]);
      peaks.set(2 * i + 1, search.highest[1]);
    }
    if (searched > 0) moved = raise_register<Isa>(z, next, next + searched, peaks.of_first(searched));
    for (; from + i < end; ++i) {
      nothing_beside search;
      weigh(from + i, search);
    }
    end = next + searched;
  }
  leave_totals<Isa>(z, leaving);
}

// The weights of one row for its final reference, for those who ask to see them.
template <class Isa>
__attribute__((noinline)) void weights_of_row(const visit& z, int row, float top) {
  const bool moves = !exact(top);
  if (moves) move_to_top<Isa>(z, row, top);
  const float from = moves ? 0 : top;
  weigh_masked_row<Isa>(z, row, shift_of<Isa> - from, from + deepest);
}

template <class Isa>
__attribute__((noinline)) bool raise_modified_tops(const visit& z, float (*peak_of_row)(const visit&, int)) {
  return raise_tops<Isa>(z, [&](int from, int to) FOVEA_LAMBDA_INLINE {
    alignas(64) float peak[Isa::lanes] = {};
    for (int r = from; r < to; ++r) peak[r - from] = peak_of_row(z, r);
    return one_register<Isa>::load(peak);
  });
}

template <class Isa, alike Runs>
void plain_softmax_step(const visit& z) {
  const bool moved = raise_tops<Isa>(z, [&](int from, int to) FOVEA_LAMBDA_INLINE { return plain_peaks<Isa, Runs>(z, from, to); });
  weigh<Isa, false, Runs>(z, moved);
}

template <class Isa, class Step>
void softmax_step(const visit& z) {
  if constexpr (Step::plain) {
    if constexpr (Isa::lanes >= 8)
      if (z.runs == alike::all && z.alike_to - z.alike_from >= long_row<Isa>) return raise_and_weigh<Isa>(z);
    if (Isa::lanes > 1 && z.runs == alike::all) return plain_softmax_step<Isa, alike::all>(z);
    if (Isa::lanes > 1 && z.runs == alike::begin) return plain_softmax_step<Isa, alike::begin>(z);
    plain_softmax_step<Isa, alike::nothing>(z);
  } else {
    const bool moved = raise_modified_tops<Isa>(z, peak_of<Isa, Step>);
    weigh<Isa, Step::biased, alike::nothing>(z, moved);
  }
}

} // namespace fovea
