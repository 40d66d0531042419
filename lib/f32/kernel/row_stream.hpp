// Plain rows in a stream: while row r gets its weights, row r + 2 is searched for its largest score, and row
// r - 2 is divided by its sum. So the core has other work during the chain of products of an exponential, and
// between rows it does not wait for a largest score or for a sum.
#pragma once
#include "f32/kernel/row_weights.hpp"
#include "f32/row_jobs.hpp"

namespace fovea::f32 {

// Fewer rows do not fill the stream. Rows from memory arrive sooner in a search that does nothing else.
FOVEA_INLINE bool streams(const softmax_job& job) {
  return !job.modify.any && job.rows >= 6 && job.columns >= 16 && job.columns <= (1 << 20) / job.rows;
}

struct streamed_row {
  scored_row row;
  weighing by;
  bool near;
  float total;
};

// weigh_row of `now`, find_range of `next` and divide_row of `done` in one loop. All have as many columns;
// now.near.
template <class Isa>
FOVEA_INLINE score_range weigh_among(streamed_row& now, const scored_row& next, const streamed_row& done) {
  using vector = f32x16<Isa>;
  using one = one_register<Isa>; // whole vectors of everything would be more registers than there are
  const weighing by = now.by;
  const ptrdiff_t whole = now.row.whole;
  const int left = now.row.left;
  const float *in = now.row.scores, *search = next.scores;
  float *out = now.row.out, *finish = done.row.out;
  const float divisor = inverse_of_sum(done.total);
  const auto inverse = one::all(divisor);
  auto high = one::load(search), low = high;
  const auto seek = [&](const one& s) FOVEA_LAMBDA_INLINE {
    high = max(s, high);
    low = min(s, low);
  };
  alignas(64) static constexpr float counted[32] = {
      0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // of the rest, the last `left` lanes
      1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  auto sum = vector::all(0);
  for (ptrdiff_t block = 0; block < whole; block += block_keys) {
    auto of_block = vector::all(0);
    const ptrdiff_t end = whole - block < block_keys ? whole : block + block_keys;
    for (ptrdiff_t j = block; j < end; j += 16)
#pragma GCC unroll 4
      for (int i = 0; i < vector::regs; ++i) {
        const ptrdiff_t at = j + i * Isa::lanes;
        const auto w = weights_of<false>(one::load(in + at), by);
        w.store(out + at);
        of_block.r[i] = Isa::add(of_block.r[i], w.r[0]);
        seek(one::load(search + at));
        (one::load(finish + at) * inverse).store(finish + at);
      }
    sum = sum + of_block;
  }
  if (left) {
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += Isa::lanes) seek(one::load(next.rest + i));
    const auto w = weights_of<false>(vector::load(now.row.rest), by);
    w.store(now.row.rest);
    sum = fma(w, vector::load(counted + left), sum);
    store_rest(finish, static_cast<int>(whole) + left, vector::load(done.row.rest) * vector::all(divisor));
  }
  now.total = sum_tree(sum);
  return {Isa::largest(high.r[0]), 0 - Isa::largest((one::all(0) - low).r[0])};
}

// tell(r, total, peak) is called once a row.
template <class Isa, class Tell>
void stream_rows(const softmax_job& job, Tell tell) {
  streamed_row ring[5], *after = ring, *next = ring + 1, *now = ring + 2; // rows r + 2, r + 1, r
  streamed_row *before = ring + 3, *done = ring + 4;                      // rows r - 1, r - 2
  const ptrdiff_t rows = job.rows;
  const float factor = job.scale * log2_e;
  for (ptrdiff_t r = -2; r < rows + 2; ++r) {
    const bool searches = r + 2 < rows, weighs = r >= 0 && r < rows, divides = r >= 2;
    if (searches) {
      const float* in = job.in + (r + 2) * job.in_stride;
      take_row(in, job.out + (r + 2) * job.out_stride, job.columns, after->row);
      f32x16<Isa>::load(in + job.columns - 16).store(after->row.rest);
    }
    if (searches && divides && now->near) {
      after->by = weighing_of(weigh_among<Isa>(*now, after->row, *done), factor, after->near);
    } else {
      if (searches) after->by = weighing_of(find_range<Isa>(after->row), factor, after->near);
      if (weighs)
        now->total = now->near ? weigh_row<Isa, false>(now->row, now->by)
                               : weigh_row<Isa, true>(now->row, now->by);
      if (divides) divide_row<Isa>(done->row, done->total);
    }
    if (weighs) tell(r, now->total, now->by.peak);
    streamed_row* const free = done;
    done = before;
    before = now;
    now = next;
    next = after;
    after = free;
  }
}

} // namespace fovea::f32
