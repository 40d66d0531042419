// A tile of rows goes over the keys it sees: spans or pieces, blocks, and in each block scores, softmax and
// values.
#pragma once
#include "f32/kernel/dot.hpp"
#include "f32/kernel/merge.hpp"
#include "f32/kernel/returned_weights.hpp"
#include "f32/kernel/row_softmax.hpp"
#include "f32/kernel/scores_4x4.hpp"
#include "f32/kernel/scores_from_far_rows.hpp"
#include "f32/kernel/values.hpp"
#include "isa/contract.hpp"

namespace fovea::f32 {

template <class Isa, class Element>
class tile_of_rows {
 public:
  explicit tile_of_rows(const tile_job& job) : job_(job), p_(*job.p), w_(*job.w), rows_(job), panels_(job) {}

  void attend() const {
    const int64_t first = first_span();
    const bool one_span = rows_.any.to <= first + span_keys;
    if (features::partials && job_.pieces.count) {
      attend_pieces();
    } else if (one_span) {
      attend_keys(first, span_keys, true);
    } else {
      attend_spans(first);
    }
    if (features::weights && p_.modify.weights.data) write_weights(one_span);
  }

 private:
  const tile_job& job_;
  const plan& p_;
  const workspace& w_;
  const rows_of_tile<Isa> rows_;
  const panels_of_keys<Isa, Element> panels_;

  // Where the span begins that holds the first seen key.
  int64_t first_span() const {
    const int64_t first = rows_.any.head > p_.see.first_key ? p_.see.first_key : rows_.any.from;
    return first / span_keys * span_keys;
  }

  __attribute__((noinline)) void attend_spans(int64_t first) const {
    const int width = up16(p_.v_dim);
    clear(w_.all_top, w_.all_sum, w_.all_o, width);
    for (int64_t span = first; span < rows_.end(); span += span_keys) {
      if (!sees(span, span_keys))
        span = rows_.any.from / span_keys * span_keys; // between kept keys and window
      attend_keys(span, span_keys, false);
      join_span<Isa>(w_, job_.rows, width);
    }
    write_results<Isa>(job_, {w_.all_top, w_.all_sum, w_.all_o});
  }

  __attribute__((noinline)) void attend_pieces() const {
    const int32_t keys = p_.split.piece_keys;
    for (int32_t n = job_.pieces.first; n < job_.pieces.first + job_.pieces.count; ++n) {
      attend_keys((p_.split.first_piece + n) * int64_t{keys}, keys, false);
      store_partials(n);
    }
  }

  // Does any row see one of the keys at .. at + count - 1?
  bool sees(int64_t at, int count) const {
    const bool in_head = rows_.any.head > p_.see.first_key && at < rows_.any.head &&
                         at + count > p_.see.first_key;
    return in_head || (at < rows_.any.to && at + count > rows_.any.from && rows_.any.to > rows_.any.from);
  }

  void clear(float* top, float* sum, float* o, int width) const {
    for (int r = 0; r < job_.rows; ++r) top[r] = lowest;
    for (int i = 0; i < job_.rows * 16; ++i) sum[i] = 0;
    for (ptrdiff_t i = 0; i < job_.rows * static_cast<ptrdiff_t>(width); ++i) o[i] = 0;
  }

  // Leaves top, sum and o of at most one span in the workspace, or writes the output of its rows.
  void attend_keys(int64_t begin, int32_t keys, bool writes_output) const {
    for (int r = 0; r < job_.rows; r += 16) f32x16<Isa>::all(lowest).store(w_.top + r);
    const int64_t end = smaller(begin + keys, rows_.any.to);
    if constexpr (reads_streams<Isa>)
      if (job_.chosen.streams && sees(begin, keys)) {
        attend_streams(begin, end);
        if (writes_output) write_results<Isa>(job_, {w_.top, w_.sum, w_.o});
        return;
      }
    bool empty = true;
    int finished = 0; // rows
    for (int64_t first = begin; first < end; first += block_keys) {
      if (!sees(first, block_keys)) continue;
      block b = rows_.block_at(first);
      b.opens_span = empty;
      b.writes_output = writes_output;
      b.finished_before = finished;
      b.finished_after = finished = rows_.finished_after(b, finished);
      attend_block(b);
      empty = false;
    }
    if (!empty) return;
    writes_output ? write_zeros() : clear(w_.top, w_.sum, w_.o, up16(p_.v_dim));
  }

  // All blocks of a span together, for tiles of one row of each head whose K and V are halves or bytes. A
  // block of which a row sees two runs, or of which a tree hides keys, goes alone. Results stay in the
  // workspace.
  __attribute__((noinline)) void attend_streams(int64_t begin, int64_t end) const {
    stream_blocks blocks;
    blocks.count = 0;
    blocks.opens_span = true;
    const auto attend = [&] {
      if (blocks.count == 0) return;
      p_.stored.as.tiles->attend_streams(job_, blocks);
      blocks.opens_span = false;
      blocks.count = 0;
    };
    for (int64_t first = begin; first < end; first += block_keys) {
      if (!sees(first, block_keys)) continue;
      block b = rows_.block_at(first);
      if (b.runs.first == 0 || b.in_tree || rows_.stretched) {
        attend();
        b.opens_span = blocks.opens_span;
        attend_block(b);
        blocks.opens_span = false;
        continue;
      }
      blocks.first_key[blocks.count] = first;
      blocks.from[blocks.count] = b.runs.from[1][0];
      blocks.to[blocks.count++] = b.runs.to[1][0];
    }
    attend();
  }

  void attend_block(const block& b) const {
    score(b);
    if (p_.stored.k.scales.given)
      each_head([&](int h, int row, int rows) {
        p_.stored.as.tiles->scale_keys(job_, b, job_.kv_head + h, row, rows);
      });
    if (rows_.stretched) stretch_scores(b);
    softmax_step<Isa>(job_, b, rows_.first_q);
    if (b.writes_output && b.finished_after > b.finished_before)
      end_rows<Isa>(job_, w_.top, b.finished_before,
                    b.finished_after < job_.rows ? b.finished_after : job_.rows);
    if (job_.chosen.values != value_source::rows) return add_stored_values(b);
    for (int h = 0; h < heads_of<Isa>(job_); ++h) add_values_of(b, h, head(h).values(b.first_key));
  }
  void add_values_of(const block& b, int h, const value_rows<Element>& v) const {
    const value_phase<Element> values(job_, b, v);
    add_values<Isa>(values, b, rows_of(h), job_.chosen.four_row_tiles);
  }

  template <class Use>
  void each_head(Use use) const {
    for (int h = 0; h < heads_of<Isa>(job_); ++h) use(h, h * rows_.per_head, rows_.per_head);
  }
  __attribute__((noinline)) void add_stored_values(const block& b) const {
    const stored_tiles& stored = *p_.stored.as.tiles;
    each_head([&](int h, int row, int rows) {
      const int32_t kv_head = job_.kv_head + h;
      if (p_.stored.v.scales.given) stored.scale_weights(job_, b, kv_head, row, rows);
      if (job_.chosen.values == value_source::stored) return;
      const int first = stored.copy_values(job_, b, kv_head, row, rows);
      add_values_of(b, h, {w_.values, up16(p_.v_dim), first, nullptr, b.first_key, kv_head});
    });
    if (job_.chosen.values == value_source::stored)
      stored.add_values(job_, b, heads_of<Isa>(job_), rows_.per_head);
  }

  kv_view<Element> head(int h) const { return {p_, job_.kv_head + h}; }
  rows_of_head rows_of(int h) const { return {h * rows_.per_head, rows_.per_head, rows_.same_keys}; }

  void score(const block& b) const {
    if (job_.chosen.keys == key_source::stored)
      return p_.stored.as.tiles->score(job_, b, heads_of<Isa>(job_), rows_.per_head);
    if constexpr (Isa::scores_4x4)
      if (job_.chosen.keys == key_source::rows_4x4 && score_heads_4x4(b)) return;
    for (int h = 0; h < heads_of<Isa>(job_); ++h)
      for (int run = b.runs.first; run < 2; ++run) score_run(b, run, h);
  }

  // The last group of rows may write scores of the next head, too, whose turn comes later.
  void score_run(const block& b, int run, int h) const {
    const rows_of_head rows = rows_of(h);
    const int begin = b.runs.from[run][rows.from], end = b.runs.to[run][rows.from + rows.count - 1];
    if (begin >= end) return;
    const kv_view<Element> view = head(h);
    if constexpr (most_far_rows<Isa> > 0)
      if (job_.chosen.keys == key_source::far_rows &&
          score_far_rows<Isa>(scores(), view.keys(b.first_key, begin, end), rows.from,
                              rows_.per_head_in_groups))
        return;
    const bool takes_rows = job_.chosen.keys == key_source::rows || job_.chosen.keys == key_source::rows_4x4;
    if (takes_rows && score_key_rows<Isa>(scores(), view.keys(b.first_key, begin, end), rows.from, rows.count,
                                          rows_.per_head_in_groups))
      return;
    panels_.each(view, b.first_key, begin & -16, up16(end), [&](const key_panels& k) FOVEA_LAMBDA_INLINE {
      score_panels<Isa>(job_, b.runs, k, run, rows);
    });
  }
  score_rows scores() const { return {w_.q, p_.dim, w_.s}; }

  // All heads at once, which see the same keys. False where there are two runs, or keys do not fill a step.
  bool score_heads_4x4(const block& b) const {
    const int begin = b.runs.from[1][0], end = b.runs.to[1][rows_.per_head - 1], heads = heads_of<Isa>(job_);
    if (b.runs.first == 0 || begin >= end) return false;
    return score_4x4<Isa>(scores(), head(0).keys(b.first_key, begin, end),
                          {heads, head(0).head_stride(), rows_.per_head}, w_.panels);
  }

  __attribute__((noinline)) void stretch_scores(const block& b) const {
    for (int r = 0; r < job_.rows; ++r)
      for (int run = b.runs.first; run < 2; ++run)
        rows_.stretch_scores(r, w_.s + r * score_stride, b.runs.from[run][r], b.runs.to[run][r]);
  }

  // No row sees a key.
  __attribute__((noinline)) void write_zeros() const {
    for (int r = 0; r < job_.rows; ++r) {
      w_.total[r] = 0;
      for (int c = 0; c < p_.v_dim; ++c) w_.out_rows[r][c] = 0;
    }
    end_rows<Isa>(job_, w_.top, 0, job_.rows);
  }

  __attribute__((noinline)) void write_weights(bool one_span) const {
    weights_of_rows<Isa, Element>(job_, rows_, one_span ? w_.top : w_.all_top, one_span ? w_.sum : w_.all_sum)
        .write();
  }

  __attribute__((noinline)) void store_partials(int32_t piece) const {
    const int width = up16(p_.v_dim);
    for (int r = 0; r < job_.rows; ++r) {
      float* out = slot(p_, job_.kv_head, job_.row + r, piece);
      f32x16<Isa>::load(w_.sum + r * 16).store(out);
      f32x16<Isa>::all(w_.top[r]).store(out + 16);
      for (int c = 0; c < width; c += 16)
        f32x16<Isa>::load(w_.o + static_cast<ptrdiff_t>(r) * width + c).store(out + 32 + c);
    }
  }
};

template <class Isa>
void attend_tile(const tile_job& job) {
  tile_of_rows<Isa, f32_element>(job).attend();
}

template <class Isa>
void pack_one_panel(const pack_job& job) {
  pack_panel<Isa>(job.rows, job.stride, 0, 0, 16, job.dim, job.panel);
}

template <class Isa, class... Shapes>
constexpr tile_kernel tiles_with(shape_list<Shapes...>) {
  static_assert(keeps_contract<Isa>());
  return {{Shapes::rows...}, Isa::rows,          Isa::batched_rows,  Isa::scores_4x4,    Isa::four_row_shapes,
          Isa::lanes > 1,    reads_streams<Isa>, most_far_rows<Isa>, most_key_rows<Isa>, attend_tile<Isa>};
}
template <class Isa>
constexpr tile_kernel tiles_of() {
  if constexpr (Isa::by_row)
    return {};
  else
    return tiles_with<Isa>(typename Isa::shapes{});
}

} // namespace fovea::f32
