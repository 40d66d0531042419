// Integer attention for microcontrollers: one query or two over all keys, a block of 64 at a time, in little memory.
// Both products are the dot's: lanes of a panel times rows of a. Scores: lanes are keys. Output: lanes are elements of values.
// What runs once a row or once a block is cold: compilers make it small. The dots are hot.
#pragma once
#include "fixed/finish.hpp"
#include "fixed/panels.hpp"

#define FOVEA_COMPACT inline __attribute__((always_inline))
#define FOVEA_COMPACT_INLINE __attribute__((always_inline))
#define FOVEA_COLD __attribute__((noinline, cold))
#define FOVEA_HOT __attribute__((noinline, hot)) // else what only cold functions call is cold

namespace fovea {

// From scores to octaves: the high word of (s << up) * multiplier. By itself it leaves octaves as they are.
struct to_octaves {
  int32_t multiplier = 1 << 30;
  int up = 2;
  int32_t operator()(int32_t s) const { return high_product(left_shift(s, up), multiplier); }
};

template <class Dot>
class compact_rows {
  using element = typename Dot::element;
  using mapping = typename Dot::mapping; // of the scores that the dot weighs

 public:
  static size_t scratch(const fixed_plan& p, int32_t rows) {
    const size_t depth = static_cast<size_t>(p.depth), width = static_cast<size_t>(p.width);
    const size_t row = 4 * width + 4 * fixed_block + sizeof(element) * depth + sizeof(element) * Dot::planes * fixed_block;
    return (static_cast<size_t>(rows) * row + 63) / 64 * 64;
  }

  explicit compact_rows(const fixed_job& job) : job_(job), p_(*job.p), rows_(job.rows) {
    acc_ = reinterpret_cast<int32_t*>(job.scratch);
    s_ = acc_ + rows() * p_.width;
    q_ = reinterpret_cast<element*>(s_ + rows() * fixed_block);
    weights_ = q_ + rows() * p_.depth;
  }

  FOVEA_COLD void attend() {
    int32_t last = 0;
    for (int g = 0; g < rows(); ++g) {
      begin(g);
      if (row_[g].to > last) last = row_[g].to;
    }
    Dot::fill(acc_, rows() * p_.width, 0);
    for (int32_t block = static_cast<int32_t>(p_.see.first_key) / fixed_block; block * fixed_block < last; ++block) visit(block);
    for (int g = 0; g < rows(); ++g) finish(row_[g], acc_ + g * p_.width, sum_[g]);
  }

 private:
  int rows() const { return Dot::most_rows == 1 ? 1 : rows_; }

  FOVEA_COLD void begin(int g) {
    row_[g] = make_row(p_, job_.kv_head, job_.row + g);
    sum_[g] = 0;
    const int8_t* q = reinterpret_cast<const int8_t*>(row_[g].q);
    const int whole = p_.dim & ~15;
    for (int c = 0; c < whole; c += 16) Dot::put_query(q_, rows(), g, c, q + c);
    if (whole != p_.depth) {
      int8_t last[16] = {};
      for (int c = whole; c < p_.dim; ++c) last[c - whole] = q[c];
      Dot::put_query(q_, rows(), g, whole, last);
    }
    if (p_.sinks) add_sink(g);
  }

  // A sink is a key without a value that comes before all others.
  FOVEA_COLD void add_sink(int g) {
    Dot::fill(s_, fixed_block, fixed_absent);
    s_[0] = limit_octaves(p_.sinks[row_[g].q_head]);
    weigh_scores(g, s_, mapping());
  }

  FOVEA_COLD void visit(int32_t block) {
    bool any = false;
    for (int g = 0; g < rows(); ++g) any |= look_at(block, g);
    if (!any) return;
    const int8_t* keys = job_.panels->keys(block);
    const int32_t starts[] = {row_[0].start, row_[rows() - 1].start};
    Dot::score(rows(), q_, keys, p_.depth, starts, s_);
    for (int g = 0; g < rows(); ++g) weigh(block, g);
    const int8_t* values = job_.panels->values(block);
    if (!p_.spill) return Dot::add_values(rows(), weights_, values, acc_, p_.width, p_.width);
    for (int32_t c = 0; c < p_.width; c += 16) add_spilled(values + c * fixed_block, c);
  }

  // False when the row sees nothing of the block. As seen_in, in 32 bits, which hold every key.
  FOVEA_COLD bool look_at(int32_t block, int g) {
    const fixed_row& r = row_[g];
    const int32_t at = block * fixed_block;
    const auto within = [&](int32_t key) { return key < at ? 0 : key - at > fixed_block ? fixed_block : static_cast<int>(key - at); };
    seen_[g] = {within(static_cast<int32_t>(p_.see.first_key)), within(r.head), within(r.from), within(r.to)};
    return !seen_[g].none();
  }

  // The sums of a block are shifted before they are added; they wait where the scores were.
  FOVEA_COLD void add_spilled(const int8_t* values, int32_t from) {
    Dot::fill(s_, rows() * 16, 1 << (p_.spill - 1));
    Dot::add_values(rows(), weights_, values, s_, 16, 16);
    for (int g = 0; g < rows(); ++g)
      for (int c = 0; c < 16; ++c) acc_[g * p_.width + from + c] += s_[g * 16 + c] >> p_.spill;
  }

  // Weights of a row. When a key lies above the reference, that rises first.
  FOVEA_COLD void weigh(int32_t block, int g) {
    const fixed_row& r = row_[g];
    int32_t* s = s_ + g * fixed_block;
    if (r.by_key) {
      octaves_by_key(p_, r, job_.kv_head, block, seen_[g], s);
      weigh_scores(g, s, mapping());
    } else {
      if (!seen_[g].all()) hide(seen_[g], -(1 << (r.scale->score_shift - 1)), s);
      weigh_scores(g, s, Dot::prepare(s, {r.scale->score_multiplier, 32 - r.scale->score_shift}));
    }
    if (p_.value_weights.data) scale_weights(block, g);
  }

  // An unseen key gets the score whose octaves are -multiplier / 2: weight 0, like every absent one.
  FOVEA_COLD static void hide(const seen_of_block& seen, int32_t absent, int32_t* s) {
    const int runs[][2] = {{0, seen.first}, {seen.head, seen.from}, {seen.to, fixed_block}};
    for (const int(&run)[2] : runs)
      for (int j = run[0]; j < run[1]; ++j) s[j] = absent;
  }

  FOVEA_COLD void weigh_scores(int g, const int32_t* s, mapping by) {
    const int32_t& reference = row_[g].reference;
    if (reference == fixed_lowest_reference) raise(g, s, by);
    while (!Dot::weigh(s, by, left_shift(reference, 16), rows(), g, weights_, sum_[g])) raise(g, s, by);
  }

  FOVEA_COLD void raise(int g, const int32_t* s, mapping by_scale) {
    fixed_row& r = row_[g];
    const int32_t wanted = reference_of(by_scale(Dot::largest(s))), by = wanted - r.reference;
    if (by <= 0) return;                                      // nothing is seen yet
    const bool first = r.reference == fixed_lowest_reference; // nothing to shift
    r.reference = wanted;
    if (first) return;
    sum_[g] = shift_round_sum(sum_[g], by);
    int32_t* acc = acc_ + g * p_.width;
    for (int32_t c = 0; c < p_.width; ++c) acc[c] = shift_round(acc[c], by);
  }

  // For values that were quantised one by one. Beside the keys that are given there are no numbers to read.
  FOVEA_COLD void scale_weights(int32_t block, int g) {
    const int16_t* by = value_weights_of(p_, job_.kv_head, block);
    const int32_t first = static_cast<int32_t>(p_.see.first_key), end = static_cast<int32_t>(p_.see.end);
    for (int32_t j = 0, key = block * fixed_block; j < fixed_block; ++j, ++key)
      if (first <= key && key < end) Dot::scale_weight(weights_, rows(), g, j, by[j]);
  }

  FOVEA_COLD void finish(const fixed_row& r, int32_t* acc, uint32_t sum) {
    if (sum == 0) return write_nothing(p_, r.out);
    if (p_.out_type == FOVEA_FIXED_F32) return write_floats(acc, sum, *r.scale, p_, reinterpret_cast<uint32_t*>(r.out));
    const output_factor f = factor_of(p_, *r.scale, sum);
    if (p_.out_type == FOVEA_FIXED_S16) return Dot::write(acc, f, p_.zero_out, p_.v_dim, reinterpret_cast<int16_t*>(r.out));
    Dot::write(acc, f, p_.zero_out, p_.v_dim, reinterpret_cast<int8_t*>(r.out));
  }

  const fixed_job& job_;
  const fixed_plan& p_;
  int rows_;
  fixed_row row_[2];
  seen_of_block seen_[2];
  uint32_t sum_[2];
  int32_t *acc_, *s_; // [rows][width], [rows][64]
  element *q_, *weights_;
};

template <class Dot>
FOVEA_COLD void attend_compact(const fixed_job& job) {
  compact_rows<Dot>(job).attend();
}

template <class Dot>
constexpr fixed_kernel compact_kernel_of(int32_t isa) {
  return {isa, Dot::most_rows, compact_rows<Dot>::scratch, attend_compact<Dot>, nullptr, 1};
}

} // namespace fovea
