// Units whose K and V are bytes.
#pragma once
#include "f32/kernel/stored_value_bytes.hpp"
#include "f32/kernel/stream_batch.hpp"

namespace fovea::f32 {

// Each tile of panels prefetches the next one, and the last one the keys of the next unit.
template <class Isa>
__attribute__((noinline)) void score_units_of_bytes(const tile_job& job, const stream_batch& batch) {
  const plan& p = *job.p;
  for (int i = 0; i < batch.count; ++i) {
    const stream_unit& u = batch.at[i];
    const void* const next = i + 1 < batch.count ? batch.at[i + 1].keys : batch.at[0].values;
    const stored_panels k{u.keys, batch.from[i] & -16, up16(batch.to[i]), p.dim, p.stored.k.width,
                          next,   p.core.opens_pages};
    score_stored_group<Isa, stored_shape<Isa, 1>, panels_ahead>(
        k, job.w->q + u.row * static_cast<ptrdiff_t>(p.dim), job.w->s + i * score_stride, key_bytes{});
  }
}

using two_streams = shape<2, stream_shape::vectors>;

// Values of as many units as a tile has rows, which see the same keys of their blocks.
template <class Isa, class Shape>
struct byte_stream {
  const int8_t* at[Shape::rows]; // the first panel, at the first column
  const float* weights[Shape::rows];
  uintptr_t next[Shape::rows]; // what is read behind the last panel; may lie outside memory

  // Keys from .. to-1 of the block. Each panel prefetches the one behind it, in the order of memory.
  FOVEA_INLINE void add(const plan& p, int from, int to, accumulator<Isa, Shape>& acc) {
    const ptrdiff_t panel_bytes = 64 * static_cast<ptrdiff_t>(p.stored.v.width);
    const bool opens = p.core.opens_pages, prefetches = p.core.prefetches_bytes;
    for (int four = from & -4, end; four < to; four = end) {
      end = (four | 63) + 1 < to ? (four | 63) + 1 : to;
      ptrdiff_t line = (four & 63) * 16;
      uintptr_t ahead[Shape::rows];
#pragma GCC unroll 2
      for (int m = 0; m < Shape::rows; ++m) {
        ahead[m] = end < to ? reinterpret_cast<uintptr_t>(at[m]) + static_cast<uintptr_t>(panel_bytes)
                            : next[m];
        if (opens) open_pages(ahead[m], panel_bytes);
        ahead[m] += static_cast<uintptr_t>(line * Shape::vectors);
      }
      for (; four < end; four += 4, line += 64) {
#pragma GCC unroll 2
        for (int m = 0; m < Shape::rows; ++m) {
          if (prefetches) prefetch_lines<Shape::vectors>(ahead[m]);
          ahead[m] += 64 * Shape::vectors;
        }
        add_four_keys<Isa, 0, 1, true>(at[0] + line, weights[0] + four, 0, acc);
        if constexpr (Shape::rows == 2)
          add_four_keys<Isa, 1, 1, true>(at[1] + line, weights[1] + four, 0, acc);
      }
#pragma GCC unroll 2
      for (int m = 0; m < Shape::rows; ++m) at[m] += panel_bytes;
    }
  }
};

// Weights times values of a batch. `b`: what its units see, as the rows of a tile.
template <class Isa>
class values_of_units {
 public:
  values_of_units(const tile_job& job, const stream_batch& batch, const block& b)
      : job_(job), p_(*job.p), w_(*job.w), batch_(batch), b_(b) {}

  void add() const {
    for (int i = 0; i < batch_.count; ++i) hide_edges(i);
    int c = 0;
    if constexpr (Isa::lanes == 16)
      for (; c + 2 * stream_width <= p_.v_dim; c += 2 * stream_width) add_one_by_one<wide_stream_shape>(c);
    for (; c + stream_width <= p_.v_dim; c += stream_width)
      if constexpr (Isa::lanes == 16)
        add_in_pairs(c);
      else
        add_one_by_one<stream_shape>(c);
    for (; c < p_.v_dim; c += 16)
      for (int i = 0; i < batch_.count; ++i) add_sixteen(i, c);
  }

 private:
  const tile_job& job_;
  const plan& p_;
  const workspace w_;
  const stream_batch& batch_;
  const block& b_;

  // Keys of the first and the last line that a unit does not see get a weight of 0.
  void hide_edges(int i) const {
    float* const w = w_.s + i * score_stride;
    for (int key = batch_.from[i] & -4; key < batch_.from[i]; ++key) w[key] = 0;
    for (int key = batch_.to[i]; key % 4; ++key) w[key] = 0;
  }

  const int8_t* values(int i, int c) const {
    return static_cast<const int8_t*>(batch_.at[i].values) + c * 64;
  }
  const float* weights(int i) const { return w_.s + i * score_stride; }
  uintptr_t behind(int i, int c) const {
    return reinterpret_cast<uintptr_t>(i + 1 < batch_.count ? values(i + 1, c) : batch_.next);
  }
  FOVEA_INLINE void join(int i, int c, const f32x16<Isa>& x) const {
    const stream_unit& u = batch_.at[i];
    float* const o = w_.o + u.row * static_cast<ptrdiff_t>(p_.v_dim) + c;
    (u.opens_span ? x : join_block(x, o, w_.of_before[i], w_.of_block[i])).store(o);
  }

  // Columns that fill no tile, or whose sums are infinite in one.
  __attribute__((noinline)) void sum_sixteen(int i, int c, float* sums) const {
    block b = b_;
    b.first_key = batch_.at[i].first_key;
    sum_bytes<Isa>(job_, b, job_.kv_head + batch_.at[i].row, i, c, sums);
  }
  void add_sixteen(int i, int c) const {
    float sums[16];
    sum_sixteen(i, c, sums);
    join(i, c, f32x16<Isa>::load(sums));
  }

  template <class Shape>
  void add_one_by_one(int c) const {
    for (int i = 0; i < batch_.count; ++i) add_one<Shape>(i, c);
  }
  template <class Shape>
  __attribute__((noinline)) void add_one(int i, int c) const {
    accumulator<Isa, Shape> acc;
    acc.clear();
    byte_stream<Isa, Shape> stream{{values(i, c)}, {weights(i)}, {behind(i, c)}};
    stream.add(p_, batch_.from[i], batch_.to[i], acc);
    if (take_from_top(acc))
      return acc.each([&](int, int n, auto& x) FOVEA_LAMBDA_INLINE { join(i, c + 16 * n, x); });
    for (int n = 0; n < Shape::vectors; ++n) add_sixteen(i, c + 16 * n);
  }

  // With sixteen lanes 64 columns of a unit are four chains, whose latency takes longer than all else: a unit
  // of the first half of a batch and one of the second half go together, so both are read in long runs. Those
  // of the second half, which may be of the same row, join when the first half has joined.
  void add_in_pairs(int c) const {
    const int half = batch_.count / 2;
    alignas(64) float second[most_units / 2][stream_width];
    bool paired[most_units / 2];
    for (int i = 0; i < half; ++i) {
      const int other = i + half;
      paired[i] = batch_.from[i] == batch_.from[other] && batch_.to[i] == batch_.to[other];
      if (paired[i])
        add_two(i, other, c, second[i]);
      else
        add_one<stream_shape>(i, c);
    }
    for (int i = half; i < batch_.count; ++i)
      if (i < 2 * half && paired[i - half])
        for (int n = 0; n < stream_width; n += 16) join(i, c + n, f32x16<Isa>::load(second[i - half] + n));
      else
        add_one<stream_shape>(i, c);
  }
  // Sums of the other one are returned.
  __attribute__((noinline)) void add_two(int i, int other, int c, float* sums) const {
    accumulator<Isa, two_streams> acc;
    acc.clear();
    byte_stream<Isa, two_streams> stream{
        {values(i, c), values(other, c)}, {weights(i), weights(other)}, {behind(i, c), behind(other, c)}};
    stream.add(p_, batch_.from[i], batch_.to[i], acc);
    const bool exact = take_from_top(acc);
#pragma GCC unroll 4
    for (int n = 0; n < two_streams::vectors; ++n) {
      if (exact) {
        join(i, c + 16 * n, acc.at[0][n]);
        acc.at[1][n].store(sums + 16 * n);
      } else {
        add_sixteen(i, c + 16 * n);
        sum_sixteen(other, c + 16 * n, sums + 16 * n);
      }
    }
  }
};

template <class Isa>
void attend_batch_of_bytes(const tile_job& job, stream_batch& batch) {
  const stored_tensors& stored = job.p->stored;
  block b{};
  b.runs = batch.runs();
  const auto scale_units = [&](auto scale) {
    for (int i = 0; i < batch.count; ++i) {
      b.first_key = batch.at[i].first_key;
      scale(job, b, job.kv_head + batch.at[i].row, i, 1);
    }
  };
  score_units_of_bytes<Isa>(job, batch);
  if (stored.k.scales.given) scale_units(stored.as.tiles->scale_keys);
  weigh_units<Isa>(job, batch);
  if (stored.v.scales.given) scale_units(stored.as.tiles->scale_weights);
  values_of_units<Isa>(job, batch, b).add();
}

} // namespace fovea::f32
