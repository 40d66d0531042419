// The keys and values of a KV head, for attention row by row: rows, panels or segments of floats, or numbers
// of another type that become floats.
#pragma once
#include "f32/kernel/row_run.hpp"
#include "f32/kernel/stored_by_row.hpp"
#include "f32/segments.hpp"

namespace fovea::f32 {

constexpr int loaded_keys = 16; // of another type, that become floats at a time, and columns of their values

// What a row sees of a block: two runs of keys, counted from its first one. Run 0 are kept keys.
struct block_of_row {
  int32_t first;
  int first_run; // 1 where run 0 is empty
  int from[2], to[2];
};

template <class Isa>
class row_of_head : protected row_of_run<Isa> {
  using of_run = row_of_run<Isa>;
  using steps = steps_of<Isa>;

 public:
  // Floats of scratch: q times the scale, scores, the outputs of a span and of all spans, and what is loaded.
  static size_t floats_of(const plan& p) {
    const size_t dim = static_cast<size_t>(p.dim);
    return dim + block_keys + 2 * static_cast<size_t>(p.v_dim) +
           (p.stored.any() ? loaded_keys * (dim > loaded_keys ? dim : loaded_keys) : 0);
  }
  // Floats of K and V of another type for so many keys.
  static int64_t floats_of_keys(const plan& p, int64_t keys) {
    return keys * ((p.stored.k.differs() ? p.dim : 0) + (p.stored.v.differs() ? p.v_dim : 0));
  }

 protected:
  using of_run::in_panels_;
  using of_run::k_;
  using of_run::p_;
  using of_run::q_;
  using of_run::s_;
  using of_run::stretched_;
  using of_run::v_;

  float *loaded_, *all_loaded_; // a few keys or values of another type as floats, and those of a head
  size_t room_;                 // floats for the latter
  int32_t kv_head_ = 0;

  row_of_head(const plan& p, float* scratch, size_t room)
      : of_run(p, scratch, scratch + p.dim, scratch + p.dim + block_keys,
               scratch + p.dim + block_keys + p.v_dim),
        loaded_(of_run::o_[1] + p.v_dim),
        all_loaded_(scratch + floats_of(p)),
        room_(room) {
    in_panels_ = p_.packed_keys || (p_.stored.k.differs() && p_.stored.k.panels);
  }

  int32_t first_key() const { return static_cast<int32_t>(p_.see.first_key); }

  void place_head() {
    const int32_t first = first_key();
    k_ = {p_.k.data ? p_.k.data + kv_head_ * p_.k.head : nullptr, p_.packed_keys ? p_.dim : p_.k.token,
          first};
    v_ = {p_.v.data ? p_.v.data + kv_head_ * p_.v.head : nullptr, p_.v.token, first};
  }
  // Several rows share keys and values of another type that became floats, if there is room for all of those.
  __attribute__((noinline)) void load_head(ptrdiff_t row, ptrdiff_t end) {
    const seen begins = seen_by(p_.see, row / p_.group), ends = seen_by(p_.see, (end - 1) / p_.group);
    const bool kept = ends.head > first_key(), window = ends.to > begins.from;
    const int32_t first = (kept ? first_key() : begins.from) & -loaded_keys;
    const int64_t past = int64_t{window ? ends.to : ends.head} + loaded_keys;
    if (!(kept || window) || floats_of_keys(p_, past - first) > static_cast<int64_t>(room_)) return;
    float* free = all_loaded_;
    head_of_floats to = {first, nullptr, nullptr};
    if (p_.stored.k.differs()) {
      to.keys = free;
      k_ = {free, p_.dim, first};
      free += static_cast<ptrdiff_t>(past - first) * p_.dim;
    }
    if (p_.stored.v.differs()) {
      to.values = free;
      v_ = {free, p_.v_dim, first};
    }
    if (kept) load_run(first_key(), ends.head, to); // between both runs there may be no memory
    if (window) load_run(begins.from, ends.to, to);
  }

  // Scores of all keys before anything else: those of a panel are computed all at once, also keys of the
  // other run.
  void score(const block_of_row& b) {
    for (int run = b.first_run; run < 2; ++run)
      if (b.from[run] < b.to[run]) score_keys(b.first, b.from[run], b.to[run]);
    if (p_.stored.k.scaled()) scale(b, true);
    for (int run = b.first_run; stretched_ && run < 2; ++run)
      steps::stretch_scores(p_, s_, b.from[run], b.to[run]);
  }
  void scale(const block_of_row& b, bool by_keys) const {
    for (int run = b.first_run; run < 2; ++run)
      p_.stored.as.rows->scale(p_, by_keys, kv_head_, b.first, b.from[run], b.to[run], s_);
  }

  struct values { // rows of V, `stride` floats apart, up to key `end`
    const float* at;
    ptrdiff_t stride;
    int end;
  };
  values values_from(int32_t block, int from, int to, int column, int columns) const {
    const int64_t key = int64_t{block} + from;
    if (!(features::types || features::segments) || v_.at)
      return {v_.row(block + from) + column, v_.stride, to};
    if (p_.stored.v.differs()) {
      const int end = end_of_loaded(from, to);
      p_.stored.as.rows->load_values(p_, kv_head_, key, end - from, {column, columns}, loaded_, loaded_keys);
      return {loaded_, loaded_keys, end};
    }
    const void* at = value_in_segment(*p_.segments, kv_head_, key, p_.v_dim, sizeof(float));
    return {static_cast<const float*>(at) + column, p_.v_dim,
            from + static_cast<int>(values_side_by_side(*p_.segments, key, int64_t{block} + to))};
  }

 private:
  struct head_of_floats { // null: of this type already
    int32_t first;
    float *keys, *values;
  };
  void load_run(int32_t key, int32_t end, const head_of_floats& to) const {
    const stored_by_row& stored = *p_.stored.as.rows;
    for (int32_t next; key < end; key = next) {
      next = end_of_loaded(key, end);
      const ptrdiff_t at = key - to.first, at_key = in_panels_ ? at & -loaded_keys : at;
      if (to.keys) stored.load_keys(p_, kv_head_, key, next - key, to.keys + at_key * p_.dim);
      if (to.values)
        stored.load_values(p_, kv_head_, key, next - key, {0, p_.v_dim}, to.values + at * p_.v_dim, p_.v_dim);
    }
  }
  static int32_t end_of_loaded(int32_t key, int32_t to) {
    const int32_t last = key | (loaded_keys - 1);
    return last < to ? last + 1 : to;
  }

  void score_keys(int32_t block, int from, int to) {
    if (features::segments && !k_.at && p_.packed_keys) return score_segments(block, from, to);
    if (features::types && !k_.at) return score_stored(block, from, to);
    if (in_panels_)
      steps::score_panels(q_, p_.dim, k_.row(block + (from & -16)), s_, from, to);
    else
      steps::score_rows(q_, p_.dim, k_.row(block + from), k_.stride, s_ + from, to - from);
  }
  __attribute__((noinline)) void score_segments(int32_t block, int from, int to) const {
    for (int end; from < to; from = end) {
      const key_piece piece = keys_in_segment(p_, kv_head_, block + (from & -16));
      end = static_cast<int>(smaller(piece.end - block, to));
      steps::score_panels(q_, p_.dim, piece.at, s_, from, end);
    }
  }
  __attribute__((noinline)) void score_stored(int32_t block, int from, int to) const {
    for (int end; from < to; from = end) {
      end = end_of_loaded(from, to);
      p_.stored.as.rows->load_keys(p_, kv_head_, int64_t{block} + from, end - from, loaded_);
      if (in_panels_)
        steps::score_panels(q_, p_.dim, loaded_, s_, from, end);
      else
        steps::score_rows(q_, p_.dim, loaded_, p_.dim, s_ + from, end - from);
    }
  }
};

} // namespace fovea::f32
