// Integer attention for microcontrollers: one query or two over all keys, a block of 64 at a time, in little memory.
// Both products are the dot's `multiply`: lanes of a panel times rows of a. Scores: lanes are keys. Output: lanes are elements of values.
#pragma once
#include "fixed/finish.hpp"
#include "fixed/panels.hpp"

#define FOVEA_COMPACT inline __attribute__((always_inline))
#define FOVEA_COMPACT_INLINE __attribute__((always_inline))

namespace fovea {

struct weighing {
  const int32_t* s;
  const int16_t* factors; // of values quantised one by one; null: none
  const fovea_fixed_scale* scale;
  int32_t reference;
  bool octaves; // s holds octaves already
};

template <class Dot>
class compact_rows {
  using element = typename Dot::element;

 public:
  static size_t scratch(const fixed_plan& p, int32_t rows) {
    const size_t n = static_cast<size_t>(rows), depth = static_cast<size_t>(p.depth), width = static_cast<size_t>(p.width);
    const size_t bytes = n * (4 * width + 4 * fixed_block + sizeof(element) * depth + sizeof(element) * Dot::planes * fixed_block);
    return (bytes + (p.value_weights.data ? 2 * fixed_block : 0) + 63) / 64 * 64;
  }

  explicit compact_rows(const fixed_job& job) : job_(job), p_(*job.p), rows_(job.rows) {
    acc_ = reinterpret_cast<int32_t*>(job.scratch);
    s_ = acc_ + rows_ * p_.width;
    q_ = reinterpret_cast<element*>(s_ + rows_ * fixed_block);
    weights_ = q_ + rows_ * p_.depth;
    value_weights_ = reinterpret_cast<int16_t*>(weights_ + rows_ * Dot::planes * fixed_block);
  }

  void attend() {
    int32_t last = 0;
    for (int g = 0; g < rows_; ++g) {
      row_[g] = make_row(p_, job_.kv_head, job_.row + g);
      sum_[g] = begin_with_sink(p_, row_[g]);
      spread_query(g);
      if (row_[g].to > last) last = row_[g].to;
    }
    for (int32_t i = 0; i < rows_ * p_.width; i += 4) Dot::clear(acc_ + i);
    for (int32_t at = static_cast<int32_t>(p_.see.first_key) & -fixed_block; at < last; at += fixed_block) visit(at / fixed_block);
    for (int g = 0; g < rows_; ++g) finish_row_by<typename Dot::writer>(p_, row_[g], acc_ + g * p_.width, sum_[g]);
  }

 private:
  void spread_query(int g) {
    const int8_t* q = reinterpret_cast<const int8_t*>(row_[g].q);
    const int whole = p_.dim & ~15;
    for (int c = 0; c < whole; c += 16) Dot::put_query(q_, rows_, g, c, q + c);
    if (whole == p_.depth) return;
    int8_t last[16] = {};
    for (int c = whole; c < p_.dim; ++c) last[c - whole] = q[c];
    Dot::put_query(q_, rows_, g, whole, last);
  }

  void visit(int32_t block) {
    seen_of_block seen[2];
    bool any = false;
    for (int g = 0; g < rows_; ++g) {
      seen[g] = seen_in(p_, row_[g], block);
      any |= !seen[g].none();
    }
    if (!any) return;
    const int8_t* keys = job_.panels->keys(block);
    if (rows_ == 2)
      Dot::template score<2>(q_, keys, p_.depth, row_[0].start, row_[1].start, s_);
    else
      Dot::template score<1>(q_, keys, p_.depth, row_[0].start, 0, s_);
    for (int g = 0; g < rows_; ++g) weigh(block, seen[g], g);
    const int8_t* values = job_.panels->values(block);
    if (rows_ == 2)
      Dot::template add_values<2>(weights_, values, p_.width, p_.spill, acc_);
    else
      Dot::template add_values<1>(weights_, values, p_.width, p_.spill, acc_);
  }

  // Weights of a row. When a key lies above the reference, that rises first.
  void weigh(int32_t block, const seen_of_block& seen, int g) {
    fixed_row& r = row_[g];
    int32_t* s = s_ + g * fixed_block;
    if (r.by_key)
      octaves_by_key(p_, r, job_.kv_head, block, seen, s);
    else if (!seen.all())
      hide(seen, -(1 << (r.scale->score_shift - 1)), s);
    const int16_t* factors = p_.value_weights.data ? value_weights(block) : nullptr;
    if (r.reference == fixed_lowest_reference || !weigh_once(s, factors, g)) {
      raise(g, s);
      weigh_once(s, factors, g);
    }
  }

  bool weigh_once(const int32_t* s, const int16_t* factors, int g) {
    const fixed_row& r = row_[g];
    const weighing w = {s, factors, r.scale, r.reference, r.by_key};
    return Dot::weigh(w, rows_, g, weights_, sum_[g]);
  }

  // An unseen key gets the score whose octaves are -multiplier / 2: weight 0, like every absent one.
  static void hide(const seen_of_block& seen, int32_t absent, int32_t* s) {
    for (int j = 0; j < fixed_block; ++j)
      if (!seen.has(j)) s[j] = absent;
  }

  __attribute__((noinline)) void raise(int g, const int32_t* s) {
    fixed_row& r = row_[g];
    int32_t top = s[0];
    for (int j = 1; j < fixed_block; ++j) top = top < s[j] ? s[j] : top;
    const int32_t t = r.by_key ? top : high_product(left_shift(top, 32 - r.scale->score_shift), r.scale->score_multiplier);
    const int32_t wanted = reference_of(t), by = wanted - r.reference;
    const bool first = r.reference == fixed_lowest_reference; // nothing to shift yet
    r.reference = wanted;
    if (first) return;
    sum_[g] = shift_round_sum(sum_[g], by);
    int32_t* acc = acc_ + g * p_.width;
    for (int32_t c = 0; c < p_.width; ++c) acc[c] = shift_round(acc[c], by);
  }

  // Weights of unseen keys are 0, but the memory behind their numbers must not be read.
  const int16_t* value_weights(int32_t block) {
    const int16_t* all = value_weights_of(p_, job_.kv_head, block);
    const int64_t at = static_cast<int64_t>(block) * fixed_block;
    for (int j = 0; j < fixed_block; ++j) value_weights_[j] = p_.see.first_key <= at + j && at + j < p_.see.end ? all[j] : int16_t{0};
    return value_weights_;
  }

  const fixed_job& job_;
  const fixed_plan& p_;
  int rows_;
  fixed_row row_[2];
  uint32_t sum_[2];
  int32_t *acc_, *s_; // [rows][width], [rows][64]
  element *q_, *weights_;
  int16_t* value_weights_;
};

template <class Dot>
void attend_compact(const fixed_job& job) {
  compact_rows<Dot>(job).attend();
}

template <class Dot>
constexpr fixed_kernel compact_kernel_of(int32_t isa) {
  return {isa, 2, compact_rows<Dot>::scratch, attend_compact<Dot>, nullptr, 1};
}

} // namespace fovea
