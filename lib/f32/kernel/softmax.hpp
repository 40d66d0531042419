// The softmax step of a block: with the reference of each row raised, scores become weights, and are added
// up.
#pragma once
#include "f32/kernel/output.hpp"
#include "f32/kernel/pack.hpp"
#include "f32/kernel/references.hpp"

namespace fovea::f32 {

// What the scores of a register of rows are relative to: the reference of each row, or 0 where it has been
// subtracted from the scores.
template <class Isa>
struct levels {
  alignas(64) float shift[Isa::lanes];
  alignas(64) float floor[Isa::lanes];

  FOVEA_INLINE levels(const float* references, bool moved) {
    using rows = one_register<Isa>;
    auto x = rows::load(references);
    if (moved) x.r[0] = Isa::inside(x.r[0], 1 - exact_limit, exact_limit, x.r[0], Isa::spread(0));
    (rows::all(shift_of<Isa>) - x).store(shift);
    (x + rows::all(deepest)).store(floor);
  }
};

struct nothing_else {
  FOVEA_INLINE void operator()(int, int) const {}
};

// Weights of one row in place of its scores, and their sum by lanes. What the row does not see keeps whatever
// it holds. Each vector of keys also goes to meanwhile(first key, how many count): an exponential alone waits
// for its own chain of operations.
template <class Isa, bool Hides, same_keys Same, class Meanwhile = nothing_else>
FOVEA_INLINE f32x16<Isa> weigh_row(const key_runs& runs, float* scores, int row, float from_shift,
                                   float from_floor, Meanwhile&& meanwhile = {}) {
  float* s = scores + row * score_stride;
  const auto shift = Isa::spread(from_shift), floor = Isa::spread(from_floor);
  const auto zero = f32x16<Isa>::all(0);
  const auto weight = [&](const f32x16<Isa>& score) FOVEA_LAMBDA_INLINE {
    const auto w = exp2_from(score, shift, floor);
    if constexpr (!Hides) return w;
    return f32x16<Isa>::each([&](int i) FOVEA_LAMBDA_INLINE {
      return Isa::if_equal(score.r[i], minus_infinity, zero.r[i], w.r[i]);
    });
  };
  auto sum = zero;
  walk_runs<Same>(
      runs, row,
      [&](int j) FOVEA_LAMBDA_INLINE {
        const auto w = weight(f32x16<Isa>::load_together(s + j));
        w.store(s + j);
        sum = sum + w;
        meanwhile(j, 16);
      },
      [&](int j, int a, int b) FOVEA_LAMBDA_INLINE {
        const auto score = f32x16<Isa>::load(s + j), w = weight(score);
        inside(a, b, w, score).store(s + j);
        sum = sum + inside(a, b, w, zero);
        meanwhile(j, b);
      });
  return sum;
}

// With hidden keys. One copy of the code serves all callers.
template <class Isa>
__attribute__((noinline)) f32x16<Isa> weigh_masked_row(const key_runs& runs, float* scores, int row,
                                                       float shift, float floor) {
  return weigh_row<Isa, true, same_keys::none>(runs, scores, row, shift, floor);
}

// Computing weights reads little memory, so what comes next is prefetched meanwhile: rows of the output, and
// queries of the next tile. Not with fewer than 64 keys: then they are needed before they can arrive.
struct rows_to_prefetch {
  int from, to; // rows of the output that this block writes
  int next;     // rows of queries of the next tile
  const float* next_q;
  ptrdiff_t q_stride;
  bool any;

  FOVEA_INLINE rows_to_prefetch(const tile_job& job, const block& b, const float* first_q)
      : from(b.writes_output ? b.finished_before : job.rows),
        to(b.finished_after < job.rows ? b.finished_after : job.rows),
        next(0),
        next_q(first_q),
        q_stride(job.p->q.token) {
    const int64_t left = job.p->rows - job.row - job.rows;
    if (b.opens_span && first_q && job.p->group == 1 && left > 0) {
      next = static_cast<int>(smaller(left, job.rows));
      next_q += job.rows * q_stride;
    }
    any = b.runs.end - b.runs.begin >= 64 && (next || from < to);
  }
  FOVEA_INLINE void prefetch_row(const plan& p, float* const* out, int r) const {
    if (r >= from && r < to) prefetch_to_write(out[r], p.v_dim);
    if (r < next) prefetch(next_q + r * q_stride, p.dim);
  }
};

template <class Isa, bool Hides, same_keys Same>
__attribute__((noinline)) void weigh(const tile_job& job, const block& b, const float* first_q, bool moved) {
  // Copies that no store of a vector can change.
  std::conditional_t<(Isa::lanes > 1), const workspace, const workspace&> w = *job.w;
  std::conditional_t<(Isa::lanes > 1), const key_runs, const key_runs&> runs = b.runs;
  const int rows = job.rows;
  const bool opens = b.opens_span;
  const rows_to_prefetch soon(job, b, first_q);
  for (int from = 0; from < rows; from += Isa::lanes) {
    const int count = end_of_register<Isa>(rows, from) - from;
    const levels<Isa> by(w.reference + from, moved);
    for (int i = 0; i < count; ++i) {
      const int r = from + i;
      if (soon.any) soon.prefetch_row(*job.p, w.out_rows, r);
      auto sum = Hides && Same == same_keys::none
                     ? weigh_masked_row<Isa>(b.runs, w.s, r, by.shift[i], by.floor[i])
                     : weigh_row<Isa, Hides, Same>(runs, w.s, r, by.shift[i], by.floor[i]);
      if (!opens) sum = join_block(sum, w.sum + r * 16, w.of_before[r], w.of_block[r]);
      sum.store(w.sum + r * 16);
    }
  }
  total_rows<Isa>(w.sum, soon.from, soon.to, w.total);
}

// The largest scores of two rows that see the same keys, found while another one is weighed.
template <class Isa>
struct search_of_two {
  const float *first, *second;
  f32x16<Isa> highest[2];

  FOVEA_INLINE search_of_two(const float* scores, int row, int rows)
      : first(scores + row * score_stride),
        second(row + 1 < rows ? first + score_stride : first),
        highest{f32x16<Isa>::all(lowest), f32x16<Isa>::all(lowest)} {}
  FOVEA_INLINE void operator()(int j, int count) {
    const auto nothing = f32x16<Isa>::all(lowest), x = f32x16<Isa>::load(first + j),
               y = f32x16<Isa>::load(second + j);
    highest[0] = max(count == 16 ? x : inside(0, count, x, nothing), highest[0]);
    highest[1] = max(count == 16 ? y : inside(0, count, y, nothing), highest[1]);
  }
};

// For rows that see the same keys. While the weights of the first half of a register of rows are computed,
// the largest scores of the next register are found, so that its references are ready in time. Gains 3 % of
// keyword spotting 2x32, 2 % of a prefill of 8x32, 1 % of 8x64 (AVX-512, Zen 4).
template <class Isa>
__attribute__((noinline)) void raise_and_weigh(const tile_job& job, const block& b, const float* first_q) {
  const workspace w = *job.w;
  const key_runs runs = b.runs;
  const int rows = job.rows;
  const bool opens = b.opens_span;
  const rows_to_prefetch soon(job, b, first_q);
  largest_of_rows<Isa> peaks;
  int end = end_of_register<Isa>(rows, 0);
  bool moved = raise_register<Isa>(w, b, 0, end, plain_peaks<Isa, same_keys::all>(job, runs, 0, end));
  for (int from = 0; from < rows; from += Isa::lanes) {
    const levels<Isa> by(w.reference + from, moved);
    const int next = end, searched = end_of_register<Isa>(rows, next) - next;
    const auto weigh = [&](int r, auto& meanwhile) FOVEA_LAMBDA_INLINE {
      if (soon.any) soon.prefetch_row(*job.p, w.out_rows, r);
      auto sum = weigh_row<Isa, false, same_keys::all>(runs, w.s, r, by.shift[r - from], by.floor[r - from],
                                                       meanwhile);
      if (!opens) sum = join_block(sum, w.sum + r * 16, w.of_before[r], w.of_block[r]);
      sum.store(w.sum + r * 16);
    };
    int i = 0;
    for (; 2 * i < searched; ++i) {
      search_of_two<Isa> search(w.s, next + 2 * i, rows);
      weigh(from + i, search);
      peaks.set(2 * i, search.highest[0]);
      peaks.set(2 * i + 1, search.highest[1]);
    }
    if (searched > 0) moved = raise_register<Isa>(w, b, next, next + searched, peaks.of_first(searched));
    for (; from + i < end; ++i) {
      nothing_else none;
      weigh(from + i, none);
    }
    end = next + searched;
  }
  total_rows<Isa>(w.sum, soon.from, soon.to, w.total);
}

// With fewer keys the wait for the references is short.
constexpr int long_row = 96;

template <class Isa>
__attribute__((noinline)) void modified_softmax_step(const tile_job& job, const block& b,
                                                     const float* first_q) {
  const bool moved = raise_tops<Isa>(job, b, [&](int from, int to) FOVEA_LAMBDA_INLINE {
    largest_of_rows<Isa> peaks;
    tree_path<block_keys> path;
    for (int r = from; r < to; ++r)
      peaks.set(r - from, modify_row<Isa>(job.p->modify, b.runs, job.w->s, r, bias_of(job, b, r, path)));
    return peaks.of_first(to - from);
  });
  if constexpr (Isa::has_masks)
    if (b.runs.same != same_keys::none) return weigh<Isa, true, same_keys::begin>(job, b, first_q, moved);
  weigh<Isa, true, same_keys::none>(job, b, first_q, moved);
}

// With a mask as the only modifier, and rows whose runs begin together: no tests in the loops over keys.
template <class Isa, class Modify>
__attribute__((noinline)) void masked_softmax_step(const tile_job& job, const block& b,
                                                   const float* first_q) {
  const key_runs runs = b.runs;
  rows_in_order rows(job);
  const bool moved = raise_tops<Isa>(job, b, [&](int from, int to) FOVEA_LAMBDA_INLINE {
    largest_of_rows<Isa> peaks;
    for (int r = from; r < to; ++r, rows.next()) {
      const row_bias bias = mask_of_row(*job.p, rows.at, b.first_key);
      peaks.set(r - from, find_peaks<Isa, same_keys::begin>(runs, job.w->s, r, Modify{bias}));
    }
    return peaks.of_first(to - from);
  });
  weigh<Isa, true, same_keys::begin>(job, b, first_q, moved);
}

template <class Isa, same_keys Same>
__attribute__((noinline)) void plain_softmax_step(const tile_job& job, const block& b, const float* first_q) {
  const key_runs runs = b.runs;
  const bool moved = raise_tops<Isa>(job, b, [&](int from, int to) FOVEA_LAMBDA_INLINE {
    return plain_peaks<Isa, Same>(job, runs, from, to);
  });
  // One copy of this much code serves rows that share all keys, and rows that share their begin.
  constexpr same_keys walked = Same == same_keys::all ? same_keys::begin : Same;
  weigh<Isa, false, walked>(job, b, first_q, moved);
}

// first_q: the query of the tile's first row.
template <class Isa>
void softmax_step(const tile_job& job, const block& b, const float* first_q) {
  const modifiers& modify = job.p->modify;
  if constexpr (Isa::has_masks)
    if (modify.cap == 0 && !modify.alibi && !b.in_tree && b.runs.same != same_keys::none) {
      if (modify.mask.shown) return masked_softmax_step<Isa, hidden_by_mask<Isa>>(job, b, first_q);
      if (modify.mask.bias) return masked_softmax_step<Isa, biased_by_mask<Isa>>(job, b, first_q);
    }
  if (modify.changes_scores() || (features::trees && b.in_tree))
    return modified_softmax_step<Isa>(job, b, first_q);
  if constexpr (Isa::lanes == 16)
    if (b.runs.same == same_keys::all && b.runs.end - b.runs.begin >= long_row)
      return raise_and_weigh<Isa>(job, b, first_q);
  if (Isa::lanes > 1 && b.runs.same == same_keys::all)
    return plain_softmax_step<Isa, same_keys::all>(job, b, first_q);
  if (Isa::lanes > 1 && b.runs.same == same_keys::begin)
    return plain_softmax_step<Isa, same_keys::begin>(job, b, first_q);
  plain_softmax_step<Isa, same_keys::none>(job, b, first_q);
}

} // namespace fovea::f32
