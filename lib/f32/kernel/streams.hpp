// One row of queries for each KV head, as in a decode with one query per head: K and V are read once, and
// reading is the limit. Each loop prefetches what is read some kilobytes later: the rest of its block, then
// the same block of the next head, then what the next phase begins with. The chains are those of the tile.
#pragma once
#include "f32/kernel/stored_scores.hpp"
#include "f32/kernel/values.hpp"

namespace fovea::f32 {

// With eight kilobytes a cache of 17 MB takes as long, and one of 4 MB 1 to 2 % longer.
constexpr uintptr_t stream_distance = 6144;

// Prefetches into the first cache, always `distance` bytes behind where a loop reads. Behind the end of what
// the loop reads it goes on at `next`.
class stream_ahead {
 public:
  FOVEA_INLINE stream_ahead(const void* first, const void* end, const void* next, uintptr_t distance)
      : at_(reinterpret_cast<uintptr_t>(first) + distance),
        end_(reinterpret_cast<uintptr_t>(end)),
        next_(reinterpret_cast<uintptr_t>(next)) {}
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

// The keys or values of a block that all heads of a tile see.
template <class Element>
struct head_streams {
  const typename Element::stored* at; // of the first head
  ptrdiff_t head;                     // how far the next head is
  ptrdiff_t step;                     // from panel to panel, or from row to row
  const void* next;                   // what is read behind the last head
};

// A step of one row, whose number stands in all lanes of w. (As `tile_step` on b.at + i * b.step, gcc's code
// takes 16 % more time with AVX2, 5 % with AVX-512.)
template <class Isa, class Shape, class Element, class Places>
FOVEA_INLINE void add_step(typename Isa::reg w, const typename Element::stored* b, Places next,
                           accumulator<Isa, Shape>& acc) {
#pragma GCC unroll 4
  for (int n = 0; n < Shape::vectors; ++n) {
    const auto y = load_stored<Isa, Shape, Element>::template load<f32x16<Isa>>(b + place_of(n, next));
#pragma GCC unroll 2
    for (int i = 0; i < y.regs; ++i) acc.at[0][n].r[i] = Isa::fma(w, y.r[i], acc.at[0][n].r[i]);
  }
}

// All steps of one row; the next step reads `bytes` further on. Steps that fill no turn prefetch nothing.
template <class Isa, class Shape, class Element, class Places>
FOVEA_INLINE void add_stream(const float* a, panels_view<typename Element::stored, Places> b, int depth,
                             ptrdiff_t bytes, stream_ahead ahead, accumulator<Isa, Shape>& acc) {
  constexpr int turn = 4, lines = Shape::vectors * Element::bytes / 4;
  for (; depth >= turn; depth -= turn, a += turn)
#pragma GCC unroll 4
    for (int i = 0; i < turn; ++i, b.at += b.step) {
      ahead.template fetch<lines>(bytes);
      add_step<Isa, Shape, Element>(Isa::spread(a[i]), b.at, b.next, acc);
    }
  for (; depth > 0; --depth, ++a, b.at += b.step)
    add_step<Isa, Shape, Element>(Isa::spread(*a), b.at, b.next, acc);
  load_stored<Isa, Shape, Element>::put_in_order(acc);
}

// Four panels at once, or 64 columns: enough chains to hide the latency of a product.
using stream_shape = shape<1, 4>;
constexpr int stream_width = 16 * stream_shape::vectors;

// Scores of one row of the tile.
template <class Isa, class Element>
FOVEA_INLINE void score_stream(const tile_job& job, const block& b, const head_streams<Element>& k, int row) {
  const int dim = job.p->dim, panels = (b.runs.end - b.runs.begin + 15) / 16;
  const typename Element::stored* at = k.at + row * k.head;
  const typename Element::stored* const end = at + panels * k.step;
  const void* const next = row + 1 < job.rows ? k.at + (row + 1) * k.head : k.next;
  const float* const q = job.w->q + row * static_cast<ptrdiff_t>(dim);
  float* s = job.w->s + row * score_stride + b.runs.begin;
  int left = panels;
  for (; left >= stream_shape::vectors; left -= stream_shape::vectors) {
    accumulator<Isa, stream_shape> acc;
    acc.clear();
    add_stream<Isa, stream_shape, Element>(q, panels_view{at, k.step, ptrdiff_t{16}}, dim,
                                           stream_width * Element::bytes, {at, end, next, stream_distance},
                                           acc);
    acc.each([&](int, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(s + 16 * n); });
    at += stream_shape::vectors * k.step;
    s += stream_width;
  }
  for (int key = 0; key < 16 * left; key += 16)
    score_stored_panel<Isa>({at, 0, 16 * left, dim, dim, nullptr}, q, s, key, Element{});
}

template <class Isa, class Element>
__attribute__((noinline)) void score_streams(const tile_job& job, const block& b,
                                             const head_streams<Element>& keys) {
  const head_streams<Element> k = keys;
  for (int row = 0; row < job.rows; ++row) score_stream<Isa>(job, b, k, row);
}

template <class Isa, class Element>
__attribute__((noinline)) void add_value_streams(const tile_job& job, const block& b,
                                                 const head_streams<Element>& values) {
  const head_streams<Element> v = values;
  const value_phase<Element> z(job, b, {v.at, v.step, b.runs.begin, nullptr, b.first_key, job.kv_head});
  const int keys = b.runs.end - b.runs.begin;
  const ptrdiff_t bytes = v.step * Element::bytes;
  const uintptr_t distance = stream_distance / (stream_width * Element::bytes) *
                             static_cast<uintptr_t>(bytes);
  for (int row = 0; row < job.rows; ++row) {
    value_group<Element> g{};
    g.row = row;
    g.finishes = b.writes_output && row < b.finished_after;
    const typename Element::stored* const first = v.at + row * v.head;
    const void* const next_head = row + 1 < job.rows ? first + v.head : v.next;
    for (int c = 0; c < z.v_dim; c += stream_width) {
      const typename Element::stored* const at = first + c;
      const void* const next = c + stream_width < z.v_dim ? at + stream_width : next_head;
      accumulator<Isa, stream_shape> acc;
      acc.clear();
      add_stream<Isa, stream_shape, Element>(z.s + row * score_stride + b.runs.begin,
                                             panels_view{at, ptrdiff_t{16}, v.step}, keys, bytes,
                                             {at, at + keys * v.step, next, distance}, acc);
      store_tile(z, g, places_of<stream_shape, Element>(z.v_dim, c), acc);
    }
  }
}

// Do all rows see the same keys of the block?
inline bool reads_streams(const tile_job& job, const block& b) {
  return job.chosen.streams && b.runs.same == same_keys::all && b.runs.end > b.runs.begin && !b.in_tree;
}

// Values of the block are read after its keys, and then the keys of the next block.
template <class Isa>
void score_stored_streams(const tile_job& job, const block& b) {
  const plan& p = *job.p;
  const int64_t first = b.first_key + b.runs.begin;
  with_halves(p.stored.k.dtype, [&](auto element) {
    using type = decltype(element);
    score_streams<Isa, type>(
        job, b,
        {static_cast<const uint16_t*>(stored_keys(p, job.kv_head, first).at), p.stored.k.head,
         16 * static_cast<ptrdiff_t>(p.dim), stored_values(p, job.kv_head, first).at});
  });
}
template <class Isa>
void add_stored_streams(const tile_job& job, const block& b) {
  const plan& p = *job.p;
  const int64_t next_block = smaller(b.first_key + block_keys, p.keys_end - 1);
  with_halves(p.stored.v.dtype, [&](auto element) {
    using type = decltype(element);
    add_value_streams<Isa, type>(
        job, b,
        {static_cast<const uint16_t*>(stored_values(p, job.kv_head, b.first_key + b.runs.begin).at),
         p.stored.v.head, p.stored.v.token, stored_keys(p, job.kv_head, next_block).at});
  });
}

} // namespace fovea::f32
