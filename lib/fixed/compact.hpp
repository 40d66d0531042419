// Integer attention for microcontrollers: one query or two over all keys, a block of 64 at a time, in little memory.
// Both products are the dot's: lanes of a panel times rows of a. Scores: lanes are keys. Output: lanes are elements of values.
// What runs once a row or once a block is cold: compilers make it small. The dots are hot.
#pragma once
#include <cstring>
#include <new>

#include "fixed/finish.hpp"
#include "fixed/panels.hpp"

#define FOVEA_COMPACT inline __attribute__((always_inline))
#define FOVEA_COMPACT_INLINE __attribute__((always_inline))
#define FOVEA_COLD FOVEA_ONCE
#define FOVEA_HOT __attribute__((noinline, hot)) // else what only cold functions call is cold

namespace fovea {

// From scores to octaves: the high word of (s << up) * multiplier. By itself it leaves octaves as they are.
struct to_octaves {
  int32_t multiplier = 1 << 30;
  int up = 2;
  int32_t operator()(int32_t s) const { return high_product(left_shift(s, up), multiplier); }
  bool flat() const { return multiplier < 1 << 30; }   // does not carry an absent key's score far enough down
  int32_t absent() const { return -(1 << (31 - up)); } // a score whose octaves are -multiplier / 2 or less: weight 0
};

namespace { // called once, functions join their caller

template <class Dot>
class compact_rows {
  using element = typename Dot::element;
  using mapping = typename Dot::mapping; // of the scores that the dot weighs

  struct row : fixed_row {
    seen_of_block seen;
    uint32_t sum;
    int32_t *acc, *s; // [width], [64]
    int g;
  };

 public:
  static size_t scratch(const fixed_plan& p, int32_t rows) {
    const size_t depth = static_cast<size_t>(p.depth), width = static_cast<size_t>(p.width);
    const size_t row = 4 * width + 4 * fixed_block + sizeof(element) * depth + sizeof(element) * Dot::planes * fixed_block;
    return (static_cast<size_t>(rows) * row + 63) / 64 * 64;
  }

  explicit compact_rows(const fixed_job& job) : job_(job), p_(*job.p), count_(Dot::most_rows == 1 ? 1 : job.rows) {
    acc_ = reinterpret_cast<int32_t*>(job.scratch);
    s_ = acc_ + count_ * p_.width;
    q_ = reinterpret_cast<element*>(s_ + count_ * fixed_block);
    weights_ = q_ + count_ * p_.depth;
  }

  FOVEA_COMPACT void attend() {
    for (int g = 0; g < count_; ++g) begin(g);
    Dot::fill(acc_, count_ * p_.width, 0);
    const int32_t last = rows_[count_ - 1].to; // later queries see later keys
    for (int32_t block = block_of(p_.see.first_key); block * fixed_block < last; ++block) visit(block);
    for (int g = 0; g < count_; ++g) finish(rows_[g]);
  }

 private:
  void begin(int g) {
    row& r = rows_[g];
    ::new (static_cast<fixed_row*>(&r)) fixed_row(make_row(p_, job_.kv_head, job_.row + g));
    r.sum = p_.sinks ? p_.offer->begin_with_sink(p_, r) : 0;
    r.acc = acc_ + g * p_.width, r.s = s_ + g * fixed_block, r.g = g;
    starts_[g] = r.start;
    const int8_t* q = reinterpret_cast<const int8_t*>(r.q);
    if constexpr (Dot::takes_queries) // a single one as it stands; it is only read
      if (count_ == 1 && p_.dim == p_.depth) return static_cast<void>(q_ = const_cast<int8_t*>(q));
    int8_t last[16];
    for (int left = p_.dim, c = 0; left > 0; left -= 16, c += 16) {
      if (left < 16) {
        std::memset(last, 0, sizeof last);
        q = static_cast<const int8_t*>(std::memcpy(last, q, static_cast<size_t>(left)));
      }
      Dot::put_query(q_, count_, g, c, q);
      q += 16;
    }
  }

  void visit(int32_t block) {
    bool any = false;
    for (int g = 0; g < count_; ++g) any |= look_at(block, rows_[g]);
    if (!any) return;
    Dot::score(count_, q_, job_.panels->keys(block), p_.depth, starts_, s_);
    for (int g = 0; g < count_; ++g) weigh(block, rows_[g]);
    const int8_t* values = job_.panels->values(block);
    if (!p_.spill) return Dot::add_values(count_, weights_, values, acc_, p_.width, p_.width);
    for (int32_t c = 0; c < p_.width; c += 16) add_spilled(values + c * fixed_block, c);
  }

  bool look_at(int32_t block, row& r) { // false when the row sees nothing of the block
    r.seen = seen_in(p_, r, block);
    return !r.seen.none();
  }

  // The sums of a block are shifted before they are added; they wait where the scores were.
  void add_spilled(const int8_t* values, int32_t from) {
    Dot::fill(s_, count_ * 16, 1 << (p_.spill - 1));
    Dot::add_values(count_, weights_, values, s_, 16, 16);
    for (int g = 0; g < count_; ++g)
      for (int c = 0; c < 16; ++c) rows_[g].acc[from + c] += s_[g * 16 + c] >> p_.spill;
  }

  // Weights of a row. When a key lies above the reference, that rises first.
  void weigh(int32_t block, row& r) {
    mapping by;
    if (p_.octaves_by_key) {
      p_.offer->octaves_by_key(p_, r, job_.kv_head, block, r.seen, r.s);
    } else {
      by = Dot::prepare(r.s, {r.scale->score_multiplier, 32 - r.scale->score_shift});
      if (!r.seen.all()) hide(r.seen, by.absent(), r.s);
    }
    if (r.reference == fixed_lowest_reference) raise(r, by);
    while (!Dot::weigh(r.s, by, left_shift(r.reference, 16), count_, r.g, weights_, r.sum)) raise(r, by);
    if (p_.value_weights.data) scale_weights(block, r.g);
  }

  static void hide(const seen_of_block& seen, int32_t absent, int32_t* s) {
    const int runs[][2] = {{0, seen.first}, {seen.head, seen.from}, {seen.to, fixed_block}};
    for (const int(&run)[2] : runs)
      for (int j = run[0]; j < run[1]; ++j) s[j] = absent;
  }

  FOVEA_COLD void raise(row& r, mapping by_scale) {
    const int32_t wanted = reference_of(by_scale(Dot::largest(r.s))), by = wanted - r.reference;
    if (by <= 0) return;                                      // nothing is seen yet
    const bool first = r.reference == fixed_lowest_reference; // nothing to shift
    r.reference = wanted;
    if (first) return;
    r.sum = shift_round_sum(r.sum, by);
    for (int32_t c = 0; c < p_.width; ++c) r.acc[c] = shift_round(r.acc[c], by);
  }

  // For values that were quantised one by one. Beside the keys that are given there are no numbers to read.
  void scale_weights(int32_t block, int g) {
    const int16_t* by = value_weights_of(p_, job_.kv_head, block);
    for (int32_t j = 0, key = block * fixed_block; j < fixed_block; ++j, ++key)
      if (p_.see.first_key <= key && key < p_.see.end) Dot::scale_weight(weights_, count_, g, j, by[j]);
  }

  void finish(const row& r) {
    if (p_.out_type == FOVEA_FIXED_F32) return p_.offer->write_floats(r.acc, r.sum, *r.scale, p_, reinterpret_cast<uint32_t*>(r.out));
    const output_factor f = r.sum ? factor_of(p_, *r.scale, r.sum) : output_factor{0, 0, 1, 0};
    Dot::write(r.acc, f, p_, r.out);
  }

  const fixed_job& job_;
  const fixed_plan& p_;
  int count_;
  int32_t *acc_, *s_; // [rows][width], [rows][64]
  element *q_, *weights_;
  row rows_[2];
  int32_t starts_[2]; // of their scores
};

template <class Dot>
FOVEA_COLD void attend_compact(const fixed_job& job) {
  compact_rows<Dot>(job).attend();
}

template <class Dot>
constexpr fixed_kernel compact_kernel_of(int32_t isa) {
  return {isa, Dot::most_rows, compact_rows<Dot>::scratch, attend_compact<Dot>, nullptr, 1};
}

} // namespace
} // namespace fovea
