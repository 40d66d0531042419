// Integer attention on 16-bit numbers: exact 64-bit scores and sums, weights of 15 or of 22 bits.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_S16
#include "fixed/fine.hpp"
#include "fixed/rows.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct weights_of_15_bits {
  static constexpr int fraction = 16;
  static int64_t weight(int64_t u) {
    return u >> fraction >= 16 ? 0
                               : shift_weight(exp2_quartic(static_cast<int32_t>(u & 65535) >> 1),
                                              static_cast<uint32_t>(u >> fraction));
  }
};

constexpr int64_t hidden = INT64_MIN;

FOVEA_ONCE int64_t shift_round_long(int64_t x, int64_t shift) {
  return shift == 0 ? x : shift > 62 ? 0 : (x >> shift) + ((x >> (shift - 1)) & 1);
}

class s16_row {
 public:
  s16_row(const fixed_job& job, int32_t row)
      : p_(*job.p),
        kv_head_(job.kv_head),
        row_(make_row(p_, job.kv_head, row)),
        acc_(reinterpret_cast<int64_t*>(job.scratch)),
        t_(acc_ + p_.width),
        fraction_(p_.fine_weights ? weights_of_22_bits::fraction : weights_of_15_bits::fraction) {}

  void attend() {
    for (int c = 0; c < p_.v_dim; ++c) acc_[c] = 0;
    begin();
    for (int32_t block = next_block(p_, row_, row_, 0); block * fixed_block < row_.to;
         block = next_block(p_, row_, row_, block + 1)) {
      const seen_of_block seen = seen_in(p_, row_, block);
      if (!seen.none()) attend_block(block, seen);
    }
    finish();
  }

 private:
  int finer() const { return fraction_ - 16; }
  FOVEA_ONCE int64_t whole_octaves(int64_t t) const {
    return (t + (int64_t{1} << fraction_) - 1) >> fraction_;
  }
  int64_t weight_of_octaves(int64_t t) const {
    const int64_t below = reference_ * (int64_t{1} << fraction_) - t;
    return p_.fine_weights ? weights_of_22_bits::weight(below) : weights_of_15_bits::weight(below);
  }

  void begin() {
    reference_ = fixed_lowest_reference;
    if (!p_.has_sinks()) return;
    const int64_t t = int64_t{limit_octaves(p_.sinks.data[row_.q_head])} * (1 << finer());
    reference_ = whole_octaves(t);
    sum_ = weight_of_octaves(t);
  }

  void attend_block(int64_t block, const seen_of_block& seen) {
    const ptrdiff_t first = static_cast<ptrdiff_t>(block * fixed_block - p_.see.first_key);
    path_in_block path;
    const int32_t* const multipliers = numbers_from(p_, p_.multipliers, kv_head_, block * fixed_block);
    const key_options o = options_in(p_, row_, kv_head_, block, multipliers, seen, path);
    int64_t top = hidden;
    for (int j = 0; j < fixed_block; ++j) {
      t_[j] = seen.has(j) ? octaves(o, j - seen.first, first + j) : hidden;
      top = larger(top, t_[j]);
    }
    if (top == hidden) return;
    raise_reference(whole_octaves(top));
    for (int j = 0; j < fixed_block; ++j)
      if (t_[j] != hidden) add_value(first + j, weight_of_octaves(t_[j]));
  }

  int64_t octaves(const key_options& o, int i, ptrdiff_t key) const {
    if ((o.mask && !o.mask[i]) || (o.bias && o.bias[i] == INT32_MIN)) return hidden;
    const fovea_fixed_scale& scale = *row_.scale;
    const int64_t s = score(key) >> scale.score_pre_shift;
    // Both summands are clamped so that they fit 64 bits in finer units. With score_multiplier a product
    // never exceeds the limit of octaves (octaves_fit), so the clamped part of `more` cannot change the
    // result. Key multipliers are not checked: there products beyond 2^55 are clamped before the bias is
    // added.
    constexpr int64_t far = int64_t{1} << 55;
    const int64_t product = s * (o.multipliers ? o.multipliers[i] : scale.score_multiplier);
    const int down = scale.score_shift - finer();
    const int64_t t = down >= 0 ? product >> down : clamp(product, -far, far) * (1 << -down);
    int64_t more = o.bias ? o.bias[i] : 0;
    if (o.slope) more -= o.slope * distance_of(o, i);
    const int64_t limit = (int64_t{fixed_octave_limit} << finer()) - 1;
    return clamp(t + clamp(more, -far, far) * (1 << finer()), -limit, limit);
  }

  int64_t score(ptrdiff_t key) const {
    const int16_t* q = reinterpret_cast<const int16_t*>(row_.q);
    const int16_t* k = reinterpret_cast<const int16_t*>(p_.k().row(kv_head_, key));
    int64_t s = 0;
    for (int c = 0; c < p_.dim; ++c) s += q[c] * k[c];
    return s;
  }

  void raise_reference(int64_t wanted) {
    const int64_t by = wanted - reference_;
    if (by <= 0) return;
    reference_ = wanted;
    sum_ = shift_round_long(sum_, by);
    for (int c = 0; c < p_.v_dim; ++c) acc_[c] = shift_round_long(acc_[c], by);
  }

  void add_value(ptrdiff_t key, int64_t weight) {
    sum_ += weight;
    if (p_.value_weights.data)
      weight = (weight * p_.value_weights.data[kv_head_ * p_.value_weights.head + key] + (1 << 14)) >> 15;
    const int16_t* v = reinterpret_cast<const int16_t*>(p_.v().row(kv_head_, key));
    for (int c = 0; c < p_.v_dim; ++c) acc_[c] += weight * v[c];
  }

  void finish() const {
    if (p_.out_type == FOVEA_FIXED_F32) return finish_floats();
    int16_t* out = reinterpret_cast<int16_t*>(row_.out);
    const int length = length_of(sum_);
    const int64_t multiplier = sum_ ? (inverse_of(sum_, length) * row_.scale->out_multiplier) >> 31 : 0;
    // The product keeps the bits that a shift to the left would bring back.
    const int wanted = 14 - row_.scale->out_shift, shift = wanted < 0 ? 0 : wanted,
              dropped = wanted < 0 ? 32 + wanted : 32;
    for (int c = 0; c < p_.v_dim; ++c) {
      const int64_t a = length > 16 ? shift_round_long(acc_[c], length - 16) : acc_[c] * (1 << (16 - length));
      const int64_t y = shift_round_long((a * multiplier) >> dropped, shift) + p_.zero_out;
      out[c] = static_cast<int16_t>(clamp(y, -32768, 32767));
    }
  }

  void finish_floats() const {
    uint32_t* out = reinterpret_cast<uint32_t*>(row_.out);
    const uint32_t by = sum_ ? fixed_float_factor(*row_.scale, sum_) : 0;
    for (int c = 0; c < p_.v_dim; ++c) out[c] = fixed_float_product(acc_[c], by);
  }

  const fixed_plan& p_;
  int32_t kv_head_;
  fixed_row row_;
  int64_t reference_ = 0, sum_ = 0;
  int64_t *acc_, *t_;
  int fraction_; // bits of an octave
};

void attend_s16(const fixed_job& job) {
  for (int32_t r = 0; r < job.rows; ++r) s16_row(job, job.row + r).attend();
}
size_t s16_scratch(const fixed_plan& p, int32_t) {
  return sizeof(int64_t) * static_cast<size_t>(p.width + fixed_block);
}

} // namespace
const fixed_kernel fixed_s16_kernel = {FOVEA_FIXED_SCALAR, 1, s16_scratch, attend_s16};
} // namespace fovea::fixed
#endif
