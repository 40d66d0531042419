// Attention row by row, for small cores: little code, little scratch, and the arithmetic of docs/numerics.md
// to the bit.
#pragma once
#include <type_traits>

#include "common/bits.hpp"
#include "f32/kernel/exp2.hpp"
#include "f32/plain.hpp"

namespace fovea::f32 {

template <class Isa>
class plain_attention {
 public:
  explicit plain_attention(const plain_job& job) : p_(*job.p), q_(job.q), s_(job.s), o_{job.o, job.all_o} {}

  void attend() {
    const int32_t queries = static_cast<int32_t>(p_.rows / p_.group);
    for (int32_t query = 0; query < queries; ++query) {
      const seen keys = seen_by(p_.see, query);
      for (int32_t kv_head = 0, head = 0; kv_head < p_.kv_heads; ++kv_head)
        for (int32_t end = head + p_.group; head < end; ++head) attend_row(kv_head, head, query, keys);
    }
  }

 private:
  // What a row has gathered in some keys.
  struct gathered {
    float top;
    float* o;
    float sum[16];
  };

  const plan& p_;
  float *q_, *s_, *o_[2];
  bool stretched_ = false;

  void attend_row(int32_t kv_head, int32_t head, int32_t query, const seen& keys) {
    float* out = p_.out.data + head * p_.out.head + query * p_.out.token;
    if (keys.from >= keys.to) {
      for (int c = 0; c < p_.v_dim; ++c) out[c] = 0;
      return;
    }
    scale_query(p_.q.data + head * p_.q.head + query * p_.q.token);
    gathered all = add_span(kv_head, keys, keys.from, o_[0]);
    for (int32_t from = (keys.from | (span_keys - 1)) + 1; from < keys.to; from += span_keys)
      join(all, add_span(kv_head, keys, from, o_[1]));
    const float total = sum_of_lanes(all.sum),
                factor = Isa::inside(total, 1e-33f, __builtin_inff(), 1 / total, 0);
    const float* o = all.o;
    by_fours(p_.v_dim, [&]() FOVEA_LAMBDA_INLINE { *out++ = Isa::fma(factor, *o++, 0); });
  }

  static float sum_of_lanes(float* x) {
#pragma GCC unroll 4
    for (int half = 8; half > 0; half /= 2)
#pragma GCC unroll 8
      for (int i = 0; i < half; ++i) x[i] += x[i + half];
    return x[0];
  }
  // Small loops cost as much as what they do, also where code is optimised for size.
  template <class Each>
  static FOVEA_INLINE void by_fours(int count, Each each) {
    for (; count >= 4; count -= 4) {
      each();
      each();
      each();
      each();
    }
    for (; count > 0; --count) each();
  }

  // Where a finite q times the scale overflows, the row takes its scale in two parts.
  void scale_query(const float* q) {
    multiply_query(q, p_.scale);
    stretched_ = false;
    for (int c = 0; p_.stretch != 0 && c < p_.dim; ++c) stretched_ |= !is_finite(q_[c]) && is_finite(q[c]);
    if (stretched_) multiply_query(q, p_.shrunk);
  }
  void multiply_query(const float* q, float by) {
    float* to = q_;
    by_fours(p_.dim, [&]() FOVEA_LAMBDA_INLINE { *to++ = Isa::mul(*q++, by); });
  }

  // Powers of two that the sums of earlier and of later keys are multiplied by, to meet at the larger top.
  struct factors {
    float before, now;
  };
  static factors raise_top(float& top, float next) {
    const float old = top;
    top = Isa::max(next, old);
    return {power_below(old - top), power_below(next - top)};
  }
  static float power_below(float x) { return exp2_reg<Isa>(x, shift_of<Isa>, deepest); }
  static FOVEA_INLINE float joined(float before, float now, const factors& f) {
    return Isa::fma(f.before, before, Isa::mul(now, f.now));
  }

  void join(gathered& all, const gathered& next) const {
    const factors f = raise_top(all.top, next.top);
    for (int i = 0; i < 16; ++i) all.sum[i] = joined(all.sum[i], next.sum[i], f);
    for (int c = 0; c < p_.v_dim; ++c) all.o[c] = joined(all.o[c], next.o[c], f);
  }

  // The keys of a span from `from` on, which the row sees.
  __attribute__((noinline)) gathered add_span(int32_t kv_head, const seen& keys, int32_t from, float* o) {
    gathered span;
    span.o = o;
    add_block(kv_head, keys, from & -block_keys, span, true);
    for (int32_t first = (from | (block_keys - 1)) + 1; first < keys.to && first % span_keys;
         first += block_keys)
      add_block(kv_head, keys, first, span, false);
    return span;
  }

  // The keys of a block join the sums of its span.
  void add_block(int32_t kv_head, const seen& keys, int32_t first, gathered& span, bool opens) {
    const int from = keys.from > first ? keys.from - first : 0,
              to = keys.to - first < block_keys ? keys.to - first : block_keys;
    const float* k = p_.k.data + kv_head * p_.k.head;
    const ptrdiff_t key = first + from - static_cast<ptrdiff_t>(p_.see.first_key);
    if (p_.packed_keys)
      score_panels(k + (key & ~ptrdiff_t{15}) * p_.dim, from, to);
    else
      score_rows(k + key * p_.k.token, from, to);
    for (int j = from; stretched_ && j < to; ++j) s_[j] = Isa::mul(s_[j] + s_[j], p_.stretch);
    float of_block[16];
    const float reference = weigh(from, to, opens ? span.sum : of_block);
    factors f = {0, 1};
    if (opens) {
      span.top = reference;
    } else {
      f = raise_top(span.top, reference);
      for (int i = 0; i < 16; ++i) span.sum[i] = joined(span.sum[i], of_block[i], f);
    }
    const float* v = p_.v.data + kv_head * p_.v.head + key * p_.v.token;
    int c = 0;
    for (; c + 16 <= p_.v_dim; c += 16) add_values<16>(v + c, from, to, span.o + c, opens, f);
    if (c + 8 <= p_.v_dim) {
      add_values<8>(v + c, from, to, span.o + c, opens, f);
      c += 8;
    }
    for (; c < p_.v_dim; ++c) add_values<1>(v + c, from, to, span.o + c, opens, f);
  }

  // Four keys at a time: a number of q is loaded once for all of them.
  __attribute__((noinline)) void score_rows(const float* k, int from, int to) const {
    const ptrdiff_t stride = p_.k.token;
    const float* const q = q_;
    const int dim = p_.dim;
    float* s = s_ + from;
    int left = to - from;
    for (; left >= 4; left -= 4, k += 4 * stride, s += 4) score_keys<4>(q, dim, k, stride, s);
    for (; left > 0; --left, k += stride, ++s) score_keys<1>(q, dim, k, stride, s);
  }
  template <int Keys>
  static FOVEA_INLINE void score_keys(const float* q, int dim, const float* k, ptrdiff_t stride, float* s) {
    const float* row[Keys];
    float x[Keys];
#pragma GCC unroll 4
    for (int n = 0; n < Keys; ++n) {
      row[n] = k + n * stride;
      x[n] = 0;
    }
    const auto add_columns = [&](auto columns) FOVEA_LAMBDA_INLINE {
      constexpr int count = decltype(columns)::value;
#pragma GCC unroll 8
      for (int c = 0; c < count; ++c)
#pragma GCC unroll 4
        for (int n = 0; n < Keys; ++n) x[n] = Isa::fma(q[c], row[n][c], x[n]);
      q += count;
#pragma GCC unroll 4
      for (int n = 0; n < Keys; ++n) row[n] += count;
    };
    for (int eights = dim >> 3; eights > 0; --eights)
      if constexpr (Keys == 4 && Isa::loads_eight)
        Isa::add_eight_products(q, row, x);
      else
        add_columns(std::integral_constant<int, 8>{});
    for (int rest = dim & 7; rest > 0; --rest) add_columns(std::integral_constant<int, 1>{});
#pragma GCC unroll 4
    for (int n = 0; n < Keys; ++n) s[n] = x[n];
  }

  template <int Count>
  static FOVEA_INLINE void add_products(float by, const float* p, float* x) {
    if constexpr (Count % 8 == 0 && Isa::loads_eight) {
#pragma GCC unroll 2
      for (int n = 0; n < Count; n += 8) Isa::add_eight(by, p + n, x + n);
    } else {
#pragma GCC unroll 16
      for (int n = 0; n < Count; ++n) x[n] = Isa::fma(by, p[n], x[n]);
    }
  }

  // A panel at a time. `k`: the one that holds key `from`.
  __attribute__((noinline)) void score_panels(const float* k, int from, int to) const {
    const float* const end = q_ + p_.dim;
    float* s = s_ + (from & -16);
    for (const float* const last = s_ + to; s < last; s += 16) {
      float x[16];
#pragma GCC unroll 16
      for (int n = 0; n < 16; ++n) x[n] = 0;
      for (const float* q = q_; q < end; k += 16) {
        const float factor = *q++;
        add_products<16>(factor, k, x);
      }
#pragma GCC unroll 16
      for (int n = 0; n < 16; ++n) s[n] = x[n];
    }
  }

  // Scores become weights, and are added up by their places in a vector of sixteen. Returns their reference.
  float weigh(int from, int to, float* sum) const {
    float *s = s_ + from, *const end = s_ + to;
    float peak = lowest;
    for (const float* x = s; x < end; ++x) peak = Isa::max(*x, peak);
    const float reference = nearest_even(one_register<Isa>{{peak}}).r[0];
    float base = reference;
    if (!(reference < exact_limit && reference > -exact_limit)) {
      for (float* x = s; x < end; ++x) *x = Isa::sub(*x, reference);
      base = 0;
    }
    const float shift = shift_of<Isa> - base, floor = base + deepest;
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sum[i] = 0;
    for (int lane = from & 15; s < end; lane = 0) { // a vector of sixteen, or what there is of it
      float *at = sum + lane, *const last = end - s < 16 - lane ? at + (end - s) : sum + 16;
      for (; at < last; ++at, ++s) {
        const float w = exp2_reg<Isa>(*s, shift, floor);
        *s = w;
        *at += w;
      }
    }
    return reference;
  }

  // Weights times columns of V, keys ascending.
  template <int Columns>
  __attribute__((noinline)) void add_values(const float* v, int from, int to, float* o, bool opens,
                                            factors f) const {
    const ptrdiff_t stride = p_.v.token;
    const float* s = s_ + from;
    float x[Columns];
#pragma GCC unroll 16
    for (int n = 0; n < Columns; ++n) x[n] = 0;
    const auto add_key = [&]() FOVEA_LAMBDA_INLINE {
      const float weight = *s++;
      add_products<Columns>(weight, v, x);
      v += stride;
    };
    int left = to - from;
    for (; left >= 2; left -= 2) {
      add_key();
      add_key();
    }
    if (left) add_key();
    if (!opens)
#pragma GCC unroll 16
      for (int n = 0; n < Columns; ++n) x[n] = joined(o[n], x[n], f);
#pragma GCC unroll 16
    for (int n = 0; n < Columns; ++n) o[n] = x[n];
  }
};

// Only for plain floats: where there are vectors, fovea_attend's kernels serve these calls.
template <class Isa>
void attend_plain(const plain_job& job) {
  if constexpr (Isa::lanes == 1) plain_attention<Isa>(job).attend();
}

} // namespace fovea::f32
