// Integer attention as docs/fixed_point.md specifies it: one row, one block, one key after the other. All
// other kernels must give the same bits.
#pragma once
#include "fixed/finish.hpp"
#include "fixed/panels.hpp"

namespace fovea::fixed {

class scalar_row {
 public:
  scalar_row(const fixed_job& job, int32_t row, unsigned char* scratch)
      : p_(*job.p), panels_(*job.panels), kv_head_(job.kv_head), row_(make_row(p_, job.kv_head, row)) {
    acc_ = reinterpret_cast<int32_t*>(scratch);
    block_ = acc_ + p_.width;
    t_ = block_ + p_.width;
  }
  static size_t scratch(const fixed_plan& p) {
    return sizeof(int32_t) * static_cast<size_t>(2 * p.width + fixed_block);
  }

  void attend() {
    sum_ = weigh_sink(p_, row_);
    for (int c = 0; c < p_.width; ++c) acc_[c] = 0;
    for (int32_t block = next_block(p_, row_, row_, 0); block * fixed_block < row_.to;
         block = next_block(p_, row_, row_, block + 1)) {
      const seen_of_block seen = seen_in(p_, row_, block);
      if (!seen.none()) attend_block(block, seen);
    }
    finish_row(p_, row_, acc_, sum_);
  }

 private:
  void attend_block(int32_t block, const seen_of_block& seen) {
    const int8_t* keys = panels_.keys(block);
    path_in_block path;
    const key_options o = options_in(p_, row_, kv_head_, block, panels_.multipliers(block), seen, path);
    for (int j = 0; j < fixed_block; ++j)
      t_[j] = seen.has(j) ? octaves_with(o, p_, row_, j - seen.first, score(keys, j)) : fixed_absent;
    raise_reference();
    add_values(panels_.values(block), panels_.value_weights(block), seen);
  }

  int32_t score(const int8_t* keys, int j) const {
    const int8_t* q = reinterpret_cast<const int8_t*>(row_.q);
    int32_t s = row_.start;
    for (int c = 0; c < p_.dim; ++c) s += q[c] * keys[key_at(j, c, p_.depth)];
    return s;
  }

  void raise_reference() {
    int32_t top = t_[0];
    for (int j = 1; j < fixed_block; ++j) top = top < t_[j] ? t_[j] : top;
    const int32_t wanted = reference_of(top), by = wanted - row_.reference;
    if (by <= 0) return;
    row_.reference = wanted;
    sum_ = shift_round_sum(sum_, by);
    for (int c = 0; c < p_.width; ++c) acc_[c] = shift_round(acc_[c], by);
  }

  void add_values(const int8_t* values, const int16_t* value_weights, const seen_of_block& seen) {
    for (int c = 0; c < p_.width; ++c) block_[c] = 0;
    for (int j = 0; j < fixed_block; ++j) {
      if (!seen.has(j)) continue;
      int32_t weight = weight_of(static_cast<uint32_t>(below(row_.reference, t_[j])));
      sum_ += static_cast<uint32_t>(weight);
      if (value_weights) weight = multiply_round(weight, value_weights[j]);
      for (int c = 0; c < p_.v_dim; ++c) block_[c] += weight * values[value_at(j, c, p_.width)];
    }
    for (int c = 0; c < p_.v_dim; ++c) acc_[c] += shift_round(block_[c], p_.spill);
  }

  const fixed_plan& p_;
  fixed_panels& panels_;
  int32_t kv_head_;
  fixed_row row_;
  uint32_t sum_ = 0;
  int32_t *acc_, *block_, *t_;
};

} // namespace fovea::fixed
