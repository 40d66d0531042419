// Pieces and spans come together: two results (reference, sum, output) become one, in ascending order; and
// the final division.
#pragma once
#include "f32/kernel/output.hpp"
#include "f32/kernel/values.hpp"

namespace fovea::f32 {

struct factors { // what both sides are multiplied by when they meet at the larger reference
  float top, old, next;
};
template <class Isa>
FOVEA_INLINE factors meet(float old_top, float next_top) {
  const float top = old_top < next_top ? next_top : old_top;
  float f[Isa::lanes];
  const auto power = [&](float x) {
    exp2_below(one_register<Isa>::all(x)).store(f);
    return f[0];
  };
  const float old = power(old_top - top);
  return {top, old, power(next_top - top)};
}

template <class Isa>
FOVEA_INLINE f32x16<Isa> merged(const f32x16<Isa>& old, const f32x16<Isa>& next, const factors& f) {
  return fma_by(f.old, old, next * f32x16<Isa>::all(f.next));
}

template <class Isa>
FOVEA_INLINE void write_result(float* out, int c, int v_dim, const f32x16<Isa>& o, float factor) {
  const auto result = fma_by(factor, o, f32x16<Isa>::all(0));
  if (v_dim < 16)
    store_first(out, result, v_dim);
  else
    result.store(out + column_at(c, v_dim));
}

// What a row has gathered in some keys.
struct gathered {
  float *top, *sum, *o;
};

// Sums of later keys join those of the keys before them.
template <class Isa>
__attribute__((noinline)) void join(const gathered& all, const gathered& next, int width) {
  using vector = f32x16<Isa>;
  const factors f = meet<Isa>(*all.top, *next.top);
  merged(vector::load(all.sum), vector::load(next.sum), f).store(all.sum);
  for (int c = 0; c < width; c += 16)
    merged(vector::load(all.o + c), vector::load(next.o + c), f).store(all.o + c);
  *all.top = f.top;
}

// The span that a tile has just finished joins the spans before it.
template <class Isa>
__attribute__((noinline)) void join_span(const workspace& w, int rows, int width) {
  for (int r = 0; r < rows; ++r) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(r) * width;
    join<Isa>({w.all_top + r, w.all_sum + r * 16, w.all_o + at}, {w.top + r, w.sum + r * 16, w.o + at},
              width);
  }
}

// After the last key: what the rows have gathered becomes the output.
template <class Isa>
__attribute__((noinline)) void write_results(const tile_job& job, const gathered& all) {
  const workspace w = *job.w; // a copy that no store of a vector can change
  const int rows = job.rows, v_dim = job.p->v_dim, width = up16(v_dim);
  total_rows<Isa>(all.sum, 0, rows, w.total);
  end_rows<Isa>(job, all.top, 0, rows);
  const float* o = all.o;
  for (int r = 0; r < rows; ++r, o += width) {
    float* const out = w.out_rows[r];
    const float factor = w.factor[r];
    for (int c = 0; c < width; c += 16) write_result(out, c, v_dim, f32x16<Isa>::load(o + c), factor);
  }
}

// The partial results of one row, written by any number of parts.
template <class Isa>
struct row_of_partials {
  const plan& p;
  float* slots;

  gathered piece(int32_t n) const {
    float* s = slots + n * slot_floats(p.v_dim);
    return {s + 16, s, s + 32};
  }

  // Pieces of a span join its first piece; then the spans join the first of them.
  void join_pieces() const {
    const int width = up16(p.v_dim);
    const int32_t of_span = span_keys / p.split.piece_keys;
    int32_t opened = 0; // the first piece of a span
    for (int32_t n = 1; n <= p.split.pieces; ++n) {
      const bool ends = n == p.split.pieces || (p.split.first_piece + n) % of_span == 0;
      if (!ends) {
        join<Isa>(piece(opened), piece(n), width);
        continue;
      }
      if (opened) join<Isa>(piece(0), piece(opened), width);
      opened = n;
    }
  }

  // `out`: null where the output is of another type.
  void end(int32_t head, int64_t query, float* out) const {
    join_pieces();
    const bool any = p.split.pieces > 0; // else there is no key, and no memory of partials
    const gathered all = piece(0);
    const float total = any ? sum_tree(f32x16<Isa>::load(all.sum)) : 0, top = any ? *all.top : lowest,
                sink = p.modify.sinks ? p.modify.sinks[head] : -__builtin_inff();
    using row = one_register<Isa>;
    const auto end = end_of<Isa>(row::all(total), row::all(top), row::all(sink));
    float factor[Isa::lanes], lse[Isa::lanes];
    end.factor.store(factor);
    end.lse.store(lse);
    if (p.modify.lse) p.modify.lse[head * p.queries + static_cast<ptrdiff_t>(query)] = lse[0];
    for (int c = 0; c < up16(p.v_dim); c += 16) {
      const auto o = any ? f32x16<Isa>::load(all.o + c) : f32x16<Isa>::all(0);
      if (out)
        write_result(out, c, p.v_dim, o, factor[0]);
      else
        write_halves(head, query, c, o, factor[0]);
    }
  }
  __attribute__((noinline)) void write_halves(int32_t head, int64_t query, int c, const f32x16<Isa>& o,
                                              float factor) const {
    float result[16];
    write_result(result, 0, 16, o, factor);
    const int from = p.v_dim < 16 ? 0 : column_at(c, p.v_dim), count = p.v_dim < 16 ? p.v_dim : 16;
    const stored_out& out = p.stored.out;
    uint16_t* to = static_cast<uint16_t*>(out.data) + head * out.head +
                   static_cast<ptrdiff_t>(query) * out.token + from;
    for (int i = 0; i < count; ++i) to[i] = rounded_half(result[i], out.dtype);
  }
};

template <class Isa>
void merge_partials(const plan& p) {
  if (p.rows == 0) return; // however many heads
  for (int32_t g = 0; g < p.kv_heads; ++g)
    for (int64_t r = 0; r < p.rows; ++r)
      row_of_partials<Isa>{p, slot(p, g, r, 0)}.end(g * p.group + static_cast<int32_t>(r % p.group),
                                                    r / p.group, p.out.data ? out_row(p, g, r) : nullptr);
}

} // namespace fovea::f32
