// Units whose K and V are halves, and the way of all units. Each loop prefetches what is read some kilobytes
// later: the rest of its run, then the begin of the next one.
#pragma once
#include "f32/kernel/stream_bytes.hpp"

namespace fovea::f32 {

// With eight kilobytes a cache of 4 MB takes 1 to 2 % longer.
constexpr uintptr_t stream_distance = 6144;

// Prefetches into the first cache, always `distance` bytes behind where a loop reads. Behind the end of what
// the loop reads it goes on at `next`.
class stream_ahead {
 public:
  FOVEA_INLINE stream_ahead(const void* first, const void* end, const void* next, uintptr_t distance)
      : at_(reinterpret_cast<uintptr_t>(first) + distance),
        end_(reinterpret_cast<uintptr_t>(end)),
        next_(reinterpret_cast<uintptr_t>(next)) {}
  // A line of each page early, for a turn of `step` bytes: open_pages without a loop.
  FOVEA_INLINE void open_page(ptrdiff_t step) const {
    if (at_ % page_bytes < static_cast<uintptr_t>(step))
      __builtin_prefetch(reinterpret_cast<const void*>(at_ + page_lead));
  }
  // So many lines; the loop goes on by `step` bytes.
  template <int Lines>
  FOVEA_INLINE void fetch(ptrdiff_t step) {
    if (__builtin_expect(at_ >= end_, 0)) {
      at_ = next_;
      end_ = UINTPTR_MAX;
    }
#pragma GCC unroll 4
    for (uintptr_t i = 0; i < Lines; ++i) __builtin_prefetch(reinterpret_cast<const void*>(at_ + 64 * i));
    at_ += static_cast<uintptr_t>(step);
  }

 private:
  uintptr_t at_, end_, next_; // may lie outside memory, so nothing may overflow
};

// All steps of one row; the next step reads `bytes` further on. Steps that fill no turn prefetch nothing.
template <class Isa, class Shape, class Element, class Places>
FOVEA_INLINE void add_stream(const float* a, panels_view<typename Element::stored, Places> b, int depth,
                             ptrdiff_t bytes, stream_ahead ahead, accumulator<Isa, Shape>& acc) {
  constexpr int turn = 4, lines = Shape::vectors * Element::bytes / 4;
  const load_stored<Isa, Shape, Element> from;
  rows_view<Isa, 1, ptrdiff_t> row(a, 0);
  for (; depth >= turn; depth -= turn, row.move(turn)) {
    ahead.open_page(turn * bytes);
#pragma GCC unroll 4
    for (int i = 0; i < turn; ++i, b.at += b.step) {
      ahead.template fetch<lines>(bytes);
      tile_step(row, i, b.at, b.next, from, acc);
    }
  }
  for (; depth > 0; --depth, row.move(1), b.at += b.step) tile_step(row, 0, b.at, b.next, from, acc);
  put_in_order(from, acc);
}

template <class Isa, class Element>
__attribute__((noinline)) void score_units(const tile_job& job, const stream_batch& batch) {
  using stored = typename Element::stored;
  const workspace w = *job.w;
  const int32_t dim = job.p->dim;
  const ptrdiff_t step = 16 * static_cast<ptrdiff_t>(dim);
  for (int i = 0; i < batch.count; ++i) {
    const stream_unit& u = batch.at[i];
    const int from = batch.from[i] & -16;
    const float* const q = w.q + u.row * static_cast<ptrdiff_t>(dim);
    float* s = w.s + i * score_stride + from;
    int left = (batch.to[i] - from + 15) / 16;
    const stored *at = static_cast<const stored*>(u.keys), *const end = at + left * step;
    const void* const next = i + 1 < batch.count ? batch.at[i + 1].keys : batch.at[0].values;
    for (; left >= stream_shape::vectors; left -= stream_shape::vectors) {
      accumulator<Isa, stream_shape> acc;
      acc.clear();
      add_stream<Isa, stream_shape, Element>(q, panels_view{at, step, ptrdiff_t{16}}, dim,
                                             stream_width * Element::bytes, {at, end, next, stream_distance},
                                             acc);
      acc.each([&](int, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(s + 16 * n); });
      at += stream_shape::vectors * step;
      s += stream_width;
    }
    for (int key = 0; key < 16 * left; key += 16)
      score_stored_panel<Isa>({at, 0, 16 * left, dim, dim, nullptr, false}, q, s, key, Element{});
  }
}

template <class Isa, class Element>
__attribute__((noinline)) void add_values_of_units(const tile_job& job, const stream_batch& batch) {
  using stored = typename Element::stored;
  const plan& p = *job.p;
  const workspace w = *job.w;
  const int v_dim = p.v_dim, count = batch.count;
  const ptrdiff_t step = p.stored.v.token, bytes = step * Element::bytes;
  for (int i = 0; i < count; ++i) {
    const stream_unit& u = batch.at[i];
    const bool opens = u.opens_span;
    const int keys = batch.to[i] - batch.from[i];
    const float of_before = w.of_before[i], of_block = w.of_block[i];
    float* const o = w.o + u.row * static_cast<ptrdiff_t>(v_dim);
    const void* const next_unit = i + 1 < count ? batch.at[i + 1].values : batch.next;
    int c = 0;
    const auto add_columns = [&](auto shape) FOVEA_LAMBDA_INLINE {
      using columns = decltype(shape);
      constexpr int width = 16 * columns::vectors;
      const uintptr_t distance = stream_distance / (width * Element::bytes) * static_cast<uintptr_t>(bytes);
      const stored* const at = static_cast<const stored*>(u.values) + c;
      const void* const next = c + width < v_dim ? at + width : next_unit;
      accumulator<Isa, columns> acc;
      acc.clear();
      add_stream<Isa, columns, Element>(w.s + i * score_stride + batch.from[i],
                                        panels_view{at, ptrdiff_t{16}, step}, keys, bytes,
                                        {at, at + keys * step, next, distance}, acc);
      acc.each([&](int, int n, auto& x) FOVEA_LAMBDA_INLINE {
        float* const to = o + c + 16 * n;
        (opens ? x : join_block(x, to, of_before, of_block)).store(to);
      });
      c += width;
    };
    if constexpr (Isa::lanes == 16)
      while (c + 2 * stream_width <= v_dim) add_columns(wide_stream_shape{});
    while (c < v_dim) add_columns(stream_shape{});
  }
}

inline const void* element_at(const void* first, ptrdiff_t place, int32_t bytes) {
  return static_cast<const char*>(first) + place * bytes;
}

template <class Isa>
void attend_batch(const tile_job& job, stream_batch& batch) {
  if (job.p->stored.k.bytes == 1) return attend_batch_of_bytes<Isa>(job, batch);
  with_halves(job.p->stored.k.dtype, [&](auto element) { score_units<Isa, decltype(element)>(job, batch); });
  weigh_units<Isa>(job, batch);
  with_halves(job.p->stored.v.dtype,
              [&](auto element) { add_values_of_units<Isa, decltype(element)>(job, batch); });
}

// Scores, softmax and values of some blocks for all heads of a tile. What they give joins what the span has.
template <class Isa>
void attend_streams(const tile_job& job, const stream_blocks& blocks) {
  const plan& p = *job.p;
  const int room = job.w->rows < most_units ? job.w->rows : most_units;
  const void *keys[blocks_of_span], *values[blocks_of_span]; // of the first head
  for (int n = 0; n < blocks.count; ++n) {
    keys[n] = stored_keys(p, job.kv_head, blocks.first_key[n] + (blocks.from[n] & -16)).at;
    const int value = p.stored.v.panels ? blocks.from[n] & -64 : blocks.from[n];
    values[n] = stored_values(p, job.kv_head, blocks.first_key[n] + value).at;
  }
  stream_batch batch;
  batch.count = 0;
  for (int row = 0; row < job.rows; ++row)
    for (int n = 0; n < blocks.count; ++n) {
      const void* const at = element_at(keys[n], row * p.stored.k.head, p.stored.k.bytes);
      if (batch.count == room) {
        batch.next = at;
        attend_batch<Isa>(job, batch);
        batch.count = 0;
      }
      batch.from[batch.count] = blocks.from[n];
      batch.to[batch.count] = blocks.to[n];
      batch.at[batch.count++] = {row, blocks.opens_span && n == 0, blocks.first_key[n], at,
                                 element_at(values[n], row * p.stored.v.head, p.stored.v.bytes)};
    }
  const int64_t next_block = smaller(blocks.first_key[blocks.count - 1] + block_keys, p.keys_end - 1);
  batch.next = stored_keys(p, job.kv_head, next_block).at;
  attend_batch<Isa>(job, batch);
}

} // namespace fovea::f32
