// Integer attention for microcontrollers: one or two queries over all keys, a block of 64 at a time, in
// little memory. The dot of the core computes both products, lanes of a panel times rows of a: for scores the
// lanes are keys, for the output they are elements of values. Functions that run once per row or per block
// are marked cold, so compilers make them small. The dots are hot.
#pragma once
#include <cstring>
#include <new>

#include "common/hot.hpp"
#include "fixed/finish.hpp"
#include "fixed/panels.hpp"

#define FOVEA_COMPACT inline __attribute__((always_inline))
#define FOVEA_COMPACT_INLINE __attribute__((always_inline))
#define FOVEA_COLD FOVEA_ONCE

namespace fovea::fixed {

// From scores to octaves: the high word of (s << up) * multiplier. The default leaves octaves as they are.
struct to_octaves {
  int32_t multiplier = 1 << 30;
  int up = 2;
  int32_t operator()(int32_t s) const { return high_product(left_shift(s, up), multiplier); }
  bool flat() const { return multiplier < 1 << 30; } // does not carry an absent key's score far enough down
  // A score whose octaves are -multiplier / 2 or less: weight 0.
  int32_t absent() const { return -(1 << (31 - up)); }
};

namespace { // compilers inline functions that are called once

template <class Dot>
class compact_rows {
  using element = typename Dot::element;
  using mapping = typename Dot::mapping; // of the scores that the dot weighs

  struct row : fixed_row {
    uint32_t sum;
    int place;          // among the rows of this job
    seen_of_block seen; // of this block
    int last;           // keys seen.first .. last - 1 hold all that it sees
  };

 public:
  static size_t scratch(const fixed_plan& p, int32_t rows) {
    const size_t depth = static_cast<size_t>(p.depth), width = static_cast<size_t>(p.width);
    const size_t row = 4 * width + 4 * fixed_block + sizeof(element) * depth +
                       sizeof(element) * Dot::planes * fixed_block;
    return (static_cast<size_t>(rows) * row + 63) / 64 * 64;
  }

  explicit compact_rows(const fixed_job& job)
      : job_(job), p_(*job.p), panels_(*job.panels), count_(job.rows) {
    acc_ = reinterpret_cast<int32_t*>(job.scratch);
    s_ = acc_ + count() * p_.width;
    q_ = reinterpret_cast<element*>(s_ + count() * fixed_block);
    weights_ = q_ + count() * p_.depth;
  }

  FOVEA_COMPACT void attend() {
    // Some dots begin sums with the first values. Even then sums begin with zeros where a call has sinks,
    // because a row may have a sink but no values, and where block sums are shifted before they are added.
    if (Dot::begins_sums) first_ = true;
    if (!Dot::begins_sums || p_.spill || p_.has_sinks()) Dot::fill(acc_, count() * p_.width, 0);
    row* const end = rows_ + count();
    int32_t g = 0;
    row* r = rows_; // one at least, as compilers should see
    do begin(*r, g++);
    while (++r != end);
    // Later queries see later keys.
    for (int32_t block = 0; (block = next_block(p_, rows_[0], end[-1], block)) * fixed_block < end[-1].to;
         ++block)
      attend_block(block, end);
    r = rows_;
    do finish(*r);
    while (++r != end);
  }

 private:
  int count() const { return Dot::most_rows == 1 ? 1 : count_; } // as a constant, if it is one
  int keys() const { return Dot::key_step == fixed_block ? fixed_block : keys_; }
  static int place_of(const row& r) { return Dot::most_rows == 1 ? 0 : r.place; }
  int32_t* sums_of(const row& r) const { return acc_ + place_of(r) * p_.width; }
  int32_t* scores_of(const row& r) const { return s_ + place_of(r) * fixed_block; }

  void begin(row& r, int g) {
    ::new (static_cast<fixed_row*>(&r)) fixed_row(make_row(p_, job_.kv_head, job_.row + g));
    r.sum = weight_of_sink(r);
    r.place = g;
    const int8_t* q = reinterpret_cast<const int8_t*>(r.q);
    if constexpr (Dot::takes_queries) // a single one as it stands; it is only read
      if (count() == 1 && p_.dim == p_.depth) return static_cast<void>(q_ = const_cast<int8_t*>(q));
    constexpr int step = Dot::query_step;
    alignas(4) int8_t piece[step];
    for (int left = p_.dim, c = 0, depth = depth_of_products(); c < depth; left -= step, c += step, q += step)
      Dot::put_query(q_, count(), g, c, left < step || !aligned(q) ? copied(q, left, piece) : q);
  }

  FOVEA_COMPACT uint32_t weight_of_sink(row& r) const {
    return p_.has_sinks() ? p_.offer->weigh_sink(p_, r, s_, weights_) : 0;
  }

  static bool aligned(const int8_t* q) { return reinterpret_cast<uintptr_t>(q) % Dot::query_alignment == 0; }
  // Elements and zeros behind the end, byte by byte: memcpy may load words from any address, and they may
  // trap.
  static const int8_t* copied(const int8_t* q, int left, int8_t (&to)[Dot::query_step]) {
    for (int i = 0; i < Dot::query_step; ++i) to[i] = i < left ? q[i] : int8_t{0};
    return to;
  }

  int depth_of_products() const { return up_to(p_.dim, Dot::depth_step); }

  void attend_block(int32_t block, row* end) {
    by_key_ = p_.offer->by_key && p_.offer->by_key(p_, block);
    int seen = 0;
    row* r = rows_;
    do {
      const int n = look_at(block, *r);
      seen = seen < n ? n : seen;
    } while (++r != end);
    if (!seen) return;
    keys_ = up_to(seen, Dot::key_step);
    panels_.find(block);
    r = rows_;
    do Dot::begin_scores(scores_of(*r), keys(), r->start);
    while (++r != end);
    Dot::score(count(), q_, panels_.found_keys(block), depth_of_products(), p_.depth, keys(), rows_[0].start,
               s_);
    r = rows_;
    do weigh(block, *r);
    while (++r != end);
    add_values(panels_.found_values(block));
    if (Dot::begins_sums) first_ = false;
  }

  // Where sums of a block are shifted before they are added, they are made for sixteen elements at a time, in
  // the place of the scores.
  FOVEA_COMPACT void add_values(const int8_t* values) {
    if (!p_.spill) { // a row that never comes here has no sums to write
      const bool first = Dot::begins_sums && first_;
      return Dot::add_values(first, count(), weights_, keys(), values, acc_, p_.width,
                             up_to(p_.v_dim, Dot::lane_step));
    }
    for (int32_t c = 0; c < p_.width; c += 16) {
      Dot::add_values(true, count(), weights_, keys(), values + c * fixed_block, s_, 16, 16);
      for (int g = 0; g < count(); ++g) Dot::add_shifted(acc_ + g * p_.width + c, s_ + g * 16, p_.spill);
    }
  }

  // So many keys hold all that the row sees of the block.
  int look_at(int32_t block, row& r) {
    const int32_t at = block * fixed_block;
    r.seen.first = in_block(p_.see.first_key, at);
    const int32_t* key = &r.head; // then from, and to
    int* seen = &r.seen.head;
#pragma GCC unroll 1
    do *seen++ = in_block(*key++, at);
    while (key <= &r.to);
    return r.last = r.seen.from < r.seen.to ? r.seen.to : r.seen.head;
  }

  // Weights of a row. If a key lies above the reference, the reference rises first.
  void weigh(int32_t block, row& r) {
    int32_t* const s = scores_of(r);
    mapping by{};
    if (by_key_)
      p_.offer->octaves_by_key(panels_, r, block, r.seen.first, r.last, s);
    else
      by = Dot::prepare(s, keys(), {r.scale->score_multiplier, 32 - r.scale->score_shift});
    Dot::hide_unseen(s, r.seen, keys(), by.absent());
    bool raised = r.reference > fixed_lowest_reference; // even then a key may lie above it
    while (!raised ||
           !Dot::weigh(s, keys(), by, left_shift(r.reference, 16), count(), place_of(r), weights_, r.sum)) {
      raise(r, by);
      raised = true;
    }
    if (p_.value_weights.data)
      p_.offer->scale_weights(weights_, count(), place_of(r), panels_.found_value_weights(block),
                              r.seen.first, r.last);
  }

  FOVEA_COLD void raise(row& r, mapping by_scale) {
    const int32_t wanted = reference_of(by_scale(Dot::largest(scores_of(r), keys()))),
                  by = wanted - r.reference;
    if (by <= 0) return; // nothing is seen yet
    r.reference = wanted;
    if (r.sum == 0) return; // nothing to shift
    int32_t* acc = sums_of(r);
    if (by > 30) { // as in shift_round, and for the first keys of a row
      r.sum = 0;
      return Dot::fill(acc, p_.width, 0);
    }
    r.sum = ((r.sum >> (by - 1)) + 1) >> 1;
    int32_t* const end = acc + p_.width;
    do *acc = ((*acc >> (by - 1)) + 1) >> 1;
    while (++acc != end);
  }

  void finish(row& r) {
    int32_t* const acc = sums_of(r);
    if (Dot::begins_sums && r.sum == 0) Dot::fill(acc, p_.width, 0); // it saw nothing
    const int32_t zero = p_.zero_v ? zero_sum(p_, r.sum, weight_of_sink(r)) : 0;
    if (p_.out_type == FOVEA_FIXED_F32)
      return p_.offer->write_floats(acc, r.sum, zero, *r.scale, p_.v_dim, reinterpret_cast<uint32_t*>(r.out));
    const output_factor f = r.sum ? factor_of(*r.scale, r.sum, zero) : output_factor{0, 0, 1, 0};
    Dot::write(acc, f, p_, r.out);
  }

  const fixed_job& job_;
  const fixed_plan& p_;
  fixed_panels& panels_;
  int count_;
  int32_t *acc_, *s_; // [rows][width], [rows][64]
  element *q_, *weights_;
  row rows_[Dot::most_rows];
  int keys_;    // of the block that are computed
  bool by_key_; // options touch single keys of the block
  bool first_;  // block that is visited; only where sums begin with values
};

template <class Dot>
FOVEA_COLD FOVEA_FOR_SIZE void attend_compact(const fixed_job& job) {
  compact_rows<Dot>(job).attend();
}

template <class Dot>
constexpr fixed_kernel compact_kernel_of(int32_t isa) {
  return {isa, Dot::most_rows, compact_rows<Dot>::scratch, attend_compact<Dot>};
}

} // namespace
} // namespace fovea::fixed
