// One row of queries for each KV head, as in a decode with one query per head: K and V of halves are read
// once, and reading is the limit. A head reads the keys of several blocks, then their values, so memory is
// read in long runs. Each loop prefetches what is read some kilobytes later: the rest of its run, then the
// begin of the next one. The chains are those of the tile.
#pragma once
#include "f32/kernel/softmax.hpp"
#include "f32/kernel/stored_scores.hpp"

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

// Four panels at once, or 64 columns. With sixteen lanes these are four chains, whose latency takes as long as
// reading: so 128 columns go together, in registers that only AVX-512 has. More panels gain nothing.
using stream_shape = shape<1, 4>;
using wide_stream_shape = shape<1, 8>;
constexpr int stream_width = 16 * stream_shape::vectors;

// A block of a head. Those of a batch are scored before the first of them reads its values: as many as
// scratch has rows of scores, head by head. Unit i has row i of the scores, of the references and of the
// factors.
struct stream_unit {
  int row;                   // of the tile: each head has one
  bool opens_span;           // nothing has been gathered before it
  int64_t first_key;         // of the block
  const void *keys, *values; // of the run; keys begin with a panel
};
constexpr int most_units = 16;
struct stream_batch {
  int count;
  stream_unit at[most_units];
  int32_t from[most_units], to[most_units]; // the run of keys that each unit sees
  const void* next;                         // what is read behind the last value

  key_runs runs() {
    bool begins = from[0] % 16 == 0, all = true;
    for (int i = 1; i < count; ++i) {
      begins &= from[i] == from[0];
      all &= to[i] == to[0];
    }
    const same_keys same = !begins ? same_keys::none : all ? same_keys::all : same_keys::begin;
    return {{nullptr, from}, {nullptr, to}, 1, same, from[count - 1], to[count - 1]};
  }
};

// Sums of units, each at its own reference, join those of the rows in order, and become the factors by which
// their outputs will.
template <class Isa>
FOVEA_INLINE void join_units(const workspace& w, const stream_batch& batch, const float* sums) {
  using registers = one_register<Isa>;
  const int count = batch.count;
  for (int i = 0; i < count; ++i) {
    float& top = w.top[batch.at[i].row];
    w.of_before[i] = top;
    if (!(top > w.reference[i])) top = w.reference[i];
    w.of_block[i] = top;
  }
  for (int i = 0; i < count; i += Isa::lanes) {
    const auto old = registers::load(w.of_before + i), top = registers::load(w.of_block + i);
    exp2_below(old - top).store(w.of_before + i);
    exp2_below(registers::load(w.reference + i) - top).store(w.of_block + i);
  }
  for (int i = 0; i < count; ++i) {
    float* const of_row = w.sum + batch.at[i].row * 16;
    auto sum = f32x16<Isa>::load(sums + 16 * i);
    if (!batch.at[i].opens_span) sum = join_block(sum, of_row, w.of_before[i], w.of_block[i]);
    sum.store(of_row);
  }
}

// Softmax of all units: that of a tile whose rows are the units, for each of which this block is the first.
template <class Isa>
__attribute__((noinline)) void weigh_units(const tile_job& job, stream_batch& batch) {
  const workspace w = *job.w; // a copy that no store of a vector can change
  const modifiers& modify = job.p->modify;
  alignas(64) float tops[most_units], sums[16 * most_units];
  f32x16<Isa>::all(lowest).store(tops);
  workspace of_units = w;
  of_units.top = tops;
  of_units.sum = sums;
  tile_job units = job;
  units.w = &of_units;
  units.rows = batch.count;
  block b{};
  b.runs = batch.runs();
  b.opens_span = true;
  if (modify.changes_scores()) { // by the head and the keys of a unit, which no tile of units could tell
    const bool moved = raise_tops<Isa>(units, b, [&](int from, int to) FOVEA_LAMBDA_INLINE {
      largest_of_rows<Isa> peaks;
      for (int i = from; i < to; ++i) {
        const stream_unit& u = batch.at[i];
        peaks.set(i - from, modify_row<Isa>(modify, b.runs, w.s, i,
                                            bias_of(*job.p, place_of(job, u.row), u.first_key)));
      }
      return peaks.of_first(to - from);
    });
    weigh<Isa, true, same_keys::none>(units, b, nullptr, moved);
  } else {
    softmax_step<Isa>(units, b, nullptr);
  }
  join_units<Isa>(w, batch, sums);
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

inline const void* halves_at(const void* first, ptrdiff_t place) {
  return static_cast<const uint16_t*>(first) + place;
}

template <class Isa>
void attend_batch(const tile_job& job, stream_batch& batch) {
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
    values[n] = stored_values(p, job.kv_head, blocks.first_key[n] + blocks.from[n]).at;
  }
  stream_batch batch;
  batch.count = 0;
  for (int row = 0; row < job.rows; ++row)
    for (int n = 0; n < blocks.count; ++n) {
      const void* const at = halves_at(keys[n], row * p.stored.k.head);
      if (batch.count == room) {
        batch.next = at;
        attend_batch<Isa>(job, batch);
        batch.count = 0;
      }
      batch.from[batch.count] = blocks.from[n];
      batch.to[batch.count] = blocks.to[n];
      batch.at[batch.count++] = {row, blocks.opens_span && n == 0, blocks.first_key[n], at,
                                 halves_at(values[n], row * p.stored.v.head)};
    }
  const int64_t next_block = smaller(blocks.first_key[blocks.count - 1] + block_keys, p.keys_end - 1);
  batch.next = stored_keys(p, job.kv_head, next_block).at;
  attend_batch<Isa>(job, batch);
}

} // namespace fovea::f32
