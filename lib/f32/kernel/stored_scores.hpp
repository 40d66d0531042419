// Scores of up to four rows straight from panels of K of another type: memory is the limit, so nothing is
// written on the way. The chains are those of the tile.
#pragma once
#include "f32/kernel/scores.hpp"
#include "f32/kernel/stored_rows.hpp"
#include "f32/kernel/values.hpp"

namespace fovea::f32 {

// Lanes never mix in a product, so a tile may hold its sums in another order until it stores them. With four
// rows the products are the limit, and nothing is gained.
template <class Isa, class Shape, class Element>
struct load_stored : load_whole {
  static constexpr bool mixes = Isa::mixes_bf16 && Shape::rows == 1 && std::is_same_v<Element, bf16_element>;
  static constexpr bool pins_sums = mixes; // gcc would move some of them through memory
  static FOVEA_INLINE void fetch(const typename Element::stored*) {}
  template <class Vector>
  static FOVEA_INLINE Vector load(const typename Element::stored* p) {
    if constexpr (mixes) {
      Vector x;
      Isa::load_mixed(p, x.r);
      return x;
    } else {
      return Element::load(p, Vector{});
    }
  }
};
template <class Isa, class Shape, class Element>
FOVEA_INLINE void put_in_order(load_stored<Isa, Shape, Element>, accumulator<Isa, Shape>& acc) {
  if constexpr (load_stored<Isa, Shape, Element>::mixes)
    acc.each([](int, int, auto& x) FOVEA_LAMBDA_INLINE { Isa::unmix(x.r); });
}

// Shapes are few, so that a type takes little code: one row, and four where the ISA has such a shape.
template <int Rows>
void shape_of(shape_list<>);
template <int Rows, class Shape, class... Smaller>
auto shape_of(shape_list<Shape, Smaller...>)
    -> std::conditional_t<Shape::rows == Rows, Shape, decltype(shape_of<Rows>(shape_list<Smaller...>{}))>;
template <class Isa, int Rows>
using stored_shape = decltype(shape_of<Rows>(typename Isa::shapes{}));

// Calls use(shape, row) for all rows. Three rows alone take a shape of four: tiles of floats fill up groups,
// too.
template <class Isa, class Use>
FOVEA_INLINE void by_few_rows(int row, int rows, Use use) {
  const int end = row + rows;
  if constexpr (!std::is_void_v<stored_shape<Isa, 4>>)
    for (; end - row >= 4 || (end - row == 3 && rows == 3); row += 4) use(stored_shape<Isa, 4>{}, row);
  for (; row < end; ++row) use(stored_shape<Isa, 1>{}, row);
}

// A line of each page is prefetched early: its address is translated in time, and the hardware begins to
// prefetch there. Called once for all that stands from `at` to `at` + bytes - 1.
constexpr uintptr_t page_bytes = 4096, page_lead = 6144;
FOVEA_INLINE void open_pages(uintptr_t at, ptrdiff_t bytes) {
  for (uintptr_t left = static_cast<uintptr_t>(bytes), skipped = -at % page_bytes; skipped < left;
       skipped += page_bytes)
    __builtin_prefetch(reinterpret_cast<const void*>(at + skipped + page_lead));
}

// Panels of one piece: keys from .. to-1 of a block, multiples of sixteen. `next` is where reading goes on
// behind them; null where nothing is to be prefetched.
struct stored_panels {
  const void* at;
  int from, to, dim, depth;
  const void* next;
  bool opens_pages;
};

// A tile reads many panels at once, in streams too short for the hardware to follow. Meanwhile it prefetches
// what the next tile reads, line after line in the order of memory.
class panels_ahead {
 public:
  static constexpr bool any = true;
  // Of the tile of `panels` panels of so many bytes that begins with `key`.
  panels_ahead(const stored_panels& k, int key, int panels, ptrdiff_t bytes) {
    const int after = key + 16 * panels;
    at_ = after < k.to
              ? reinterpret_cast<uintptr_t>(k.at) + (after - k.from) / 16 * static_cast<size_t>(bytes)
              : reinterpret_cast<uintptr_t>(k.next);
    if (k.opens_pages) open_pages(at_, panels * bytes);
  }
  template <int Lines>
  FOVEA_INLINE void fetch() {
#pragma GCC unroll 8
    for (int i = 0; i < Lines; ++i, at_ += 64) __builtin_prefetch(reinterpret_cast<const void*>(at_));
  }

 private:
  uintptr_t at_; // may lie outside memory, so nothing may overflow
};
struct no_panels_ahead {
  static constexpr bool any = false;
  no_panels_ahead(const stored_panels&, int, int, ptrdiff_t) {}
  template <int>
  FOVEA_INLINE void fetch() {}
};

template <class Isa, class Shape, class Lines, class Element>
FOVEA_INLINE void score_stored_tile(const stored_panels& k, const float* q, float* s, int key, Element) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(k.dim);
  const auto* at = static_cast<const typename Element::stored*>(k.at) + (key - k.from) / 16 * panel;
  const load_stored<Isa, Shape, Element> from;
  rows_view<Isa, Shape::rows, ptrdiff_t> a(q, k.dim);
  int left = k.dim;
  if constexpr (Lines::any) {
    constexpr int steps = 4 / Element::bytes; // a line of each panel
    Lines lines(k, key, Shape::vectors, panel * Element::bytes);
    for (; left >= steps; left -= steps, at += 16 * steps, a.move(steps)) {
      lines.template fetch<Shape::vectors>();
#pragma GCC unroll 4
      for (int i = 0; i < steps; ++i) tile_step(a, i, at + 16 * i, panel, from, acc);
    }
  }
  tile(a, panels_view{at, panel, static_cast<ptrdiff_t>(16)}, left, from, acc);
  put_in_order(from, acc);
  acc.each([&](int m, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(s + m * score_stride + key + 16 * n); });
}

struct key_bytes {}; // in place of an element

// Sums of numbers that were 2^24 times too large. Their bits do not change: a byte is an integer, so each
// product and each sum is a multiple of the least denormal, and none was rounded because it is small. Only a
// sum from 2^104 on may have become infinite: false if one is, or if it has to be.
template <class Isa, class Shape>
FOVEA_INLINE bool take_from_top(accumulator<Isa, Shape>& acc) {
  using vector = typename accumulator<Isa, Shape>::vector;
  acc.each([&](int, int, vector& x) FOVEA_LAMBDA_INLINE { x = x * vector::all(0x1p-24f); });
  return !leaked(acc);
}

// One row, whose products are as many as the conversions. With four rows products are the limit, and shuffles
// would take their place.
template <class Shape>
constexpr bool is_on_top = Shape::rows == 1 && Shape::vectors > 1;

template <class Isa, class Shape, bool OnTop, class Lines>
FOVEA_INLINE void add_key_bytes(const int8_t* at, ptrdiff_t panel, const float* q, int dim, Lines lines,
                                accumulator<Isa, Shape>& acc) {
  // Step by step, so that products rarely wait for the one before them. One row with eight lanes has no
  // registers left for that.
  constexpr int together = Shape::rows > 1 || Isa::lanes == 16 ? Shape::vectors : 1;
  rows_view<Isa, Shape::rows, ptrdiff_t> a(q, dim);
  const auto add = [&](int i, int n, const f32x16<Isa>& y) FOVEA_LAMBDA_INLINE {
#pragma GCC unroll 4
    for (int m = 0; m < Shape::rows; ++m) acc.at[m][n] = fma_by(a(m, i), y, acc.at[m][n]);
  };
  int left = dim;
  for (; left >= 4; left -= 4, at += 64, a.move(4))
#pragma GCC unroll 8
    for (int first = 0; first < Shape::vectors; first += together) {
      lines.template fetch<together>();
      quad<Isa> x[together];
#pragma GCC unroll 8
      for (int n = 0; n < together; ++n) x[n] = quad<Isa>(at + (first + n) * panel);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i)
#pragma GCC unroll 8
        for (int n = 0; n < together; ++n) add(i, first + n, OnTop ? x[n].step_on_top(i) : x[n].step(i));
    }
  if constexpr (Shape::vectors == 1) // other shapes take whole fours
    for (int i = 0; i < left; ++i) add(i, 0, quad<Isa>(at).step(i));
}

// One row and one panel.
template <class Isa, class Element>
__attribute__((noinline)) void score_stored_panel(const stored_panels& k, const float* q, float* s, int key,
                                                  Element element) {
  score_stored_tile<Isa, shape<1, 1>, no_panels_ahead>(k, q, s, key, element);
}

template <class Isa, class Shape, class Lines>
FOVEA_INLINE void score_stored_tile(const stored_panels& k, const float* q, float* s, int key, key_bytes) {
  accumulator<Isa, Shape> acc;
  acc.clear();
  const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(k.depth);
  const int8_t* at = static_cast<const int8_t*>(k.at) + (key - k.from) / 16 * panel;
  constexpr bool on_top = is_on_top<Shape>;
  add_key_bytes<Isa, Shape, on_top>(at, panel, q, k.dim, Lines(k, key, Shape::vectors, panel), acc);
  if constexpr (on_top)
    if (!take_from_top(acc)) {
      for (int n = 0; n < Shape::vectors; ++n) score_stored_panel<Isa>(k, q, s, key + 16 * n, key_bytes{});
      return;
    }
  acc.each([&](int m, int n, auto& x) FOVEA_LAMBDA_INLINE { x.store(s + m * score_stride + key + 16 * n); });
}

// One row has few chains: with sixteen lanes it takes twice as many panels at once.
template <class Isa, class Shape>
using shape_of_scores = std::conditional_t<Shape::rows == 1 && Isa::lanes == 16, shape<1, 8>, Shape>;

// All panels for the rows of a group: q and s are those of its first row.
template <class Isa, class Shape, class Lines, class Element>
FOVEA_INLINE void score_stored_group(const stored_panels& k, const float* q, float* s, Element element) {
  using whole = shape_of_scores<Isa, Shape>;
  using lines = std::conditional_t<whole::rows == 1, Lines, no_panels_ahead>;
  int key = k.from;
  const int to = std::is_same_v<Element, key_bytes> && k.dim % 4 ? key : k.to;
  for (; key <= to - 16 * whole::vectors; key += 16 * whole::vectors)
    score_stored_tile<Isa, whole, lines>(k, q, s, key, element);
  if constexpr (whole::vectors > 1 || whole::rows > 1)
    for (; key < k.to; key += 16)
      for (int r = 0; r < whole::rows; ++r)
        score_stored_panel<Isa>(k, q + r * static_cast<ptrdiff_t>(k.dim), s + r * score_stride, key, element);
}

template <class Isa, class Element>
__attribute__((noinline)) void score_stored_panels(const stored_panels& panels, const float* q, float* s,
                                                   int row, int rows) {
  const stored_panels k = panels;
  using lines = std::conditional_t<std::is_same_v<Element, key_bytes>, panels_ahead, no_panels_ahead>;
  by_few_rows<Isa>(row, rows, [&](auto shape_of_rows, int first) FOVEA_LAMBDA_INLINE {
    score_stored_group<Isa, decltype(shape_of_rows), lines>(k, q + first * static_cast<ptrdiff_t>(k.dim),
                                                            s + first * score_stride, Element{});
  });
}

// One row, or two one by one, on cores where halves are prefetched. Those take registers of eight lanes for
// halves.
template <class Isa>
constexpr bool may_prefetch_halves = Isa::lanes == 8;
template <class Isa, class Element>
__attribute__((noinline)) void score_halves_ahead(const stored_panels& panels, const float* q, float* s,
                                                  int row, int rows) {
  const stored_panels k = panels;
  for (int r = row; r < row + rows; ++r)
    score_stored_group<Isa, stored_shape<Isa, 1>, panels_ahead>(k, q + r * static_cast<ptrdiff_t>(k.dim),
                                                                s + r * score_stride, Element{});
}

// Where reading goes on behind the panels of a head: with the same keys of the next head, or with values.
template <class Isa>
const void* read_after_keys(const tile_job& job, int32_t kv_head, int64_t key) {
  const plan& p = *job.p;
  if (kv_head + 1 < job.kv_head + heads_of<Isa>(job)) return stored_keys(p, kv_head + 1, key).at;
  if (job.chosen.values != value_source::stored) return nullptr;
  return stored_values(p, job.kv_head, p.stored.v.panels ? key & -64 : larger(key, p.see.first_key)).at;
}

// Panels from key .. to-1 of a block: as they stand, or packed from rows, as many as one pass takes.
template <class Isa>
FOVEA_INLINE stored_panels panels_from(const tile_job& job, const block& b, int32_t kv_head, int key,
                                       int to) {
  const plan& p = *job.p;
  const stored_tensor& k = p.stored.k;
  if (k.panels) {
    const stored_place place = stored_keys(p, kv_head, b.first_key + key);
    const int end = static_cast<int>(smaller(to, place.end - b.first_key)) & -16;
    const void* const next = read_after_keys<Isa>(job, kv_head, b.first_key + key);
    return {place.at, key, end, p.dim, k.width, next, p.core.opens_pages};
  }
  const int64_t room = smaller(job.w->panel_room * int64_t{4} / k.bytes, stored_row_panels);
  const int end = static_cast<int>(smaller(to, key + 16 * room));
  const ptrdiff_t panel_bytes = 16 * static_cast<ptrdiff_t>(p.dim) * k.bytes;
  char* panel = reinterpret_cast<char*>(job.w->panels);
  for (int at = key; at < end; at += 16, panel += panel_bytes)
    pack_words<Isa>(p, kv_head, b.first_key + at, panel);
  return {job.w->panels, key, end, p.dim, p.dim, nullptr, false};
}

template <class Isa>
void score_stored(const tile_job& job, const block& b, int32_t kv_head, int row, int rows) {
  const plan& p = *job.p;
  each_run(b.runs, row, rows, [&](int from, int to) {
    for (int key = from & -16; key < to;) {
      const stored_panels k = panels_from<Isa>(job, b, kv_head, key, up16(to));
      if (p.stored.k.bytes == 1)
        score_stored_panels<Isa, key_bytes>(k, job.w->q, job.w->s, row, rows);
      else
        with_halves(p.stored.k.dtype, [&](auto element) {
          if constexpr (may_prefetch_halves<Isa>)
            if (p.core.prefetches_halves && rows <= 2)
              return score_halves_ahead<Isa, decltype(element)>(k, job.w->q, job.w->s, row, rows);
          score_stored_panels<Isa, decltype(element)>(k, job.w->q, job.w->s, row, rows);
        });
      key = k.to;
    }
  });
}

} // namespace fovea::f32
