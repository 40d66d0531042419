// Steps of attention row by row, for small cores: little code, and the arithmetic of docs/numerics.md to the
// bit. row_run.hpp and row_of_blocks.hpp make rows of them.
#pragma once
#include <type_traits>

#include "common/bits.hpp"
#include "common/hot.hpp"
#include "f32/kernel/exp2.hpp"
#include "f32/plan.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {

template <class Isa>
struct row_steps {
  // What a row has gathered in some keys.
  struct gathered {
    float top;
    float* o;
    float sum[16];
  };

  static float sum_of_lanes(float* x) {
    if constexpr (Isa::sums_lanes) return Isa::sum_of_sixteen(x);
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

  template <bool AddsZero>
  static __attribute__((noinline)) void multiply(const float* from, float by, int count, float* to) {
    if constexpr (Isa::loads_eight)
      for (; count >= 8; count -= 8) Isa::template multiply_eight<AddsZero>(from, by, to);
    by_fours(count, [&]() FOVEA_LAMBDA_INLINE {
      *to++ = AddsZero ? Isa::fma(by, *from, 0) : Isa::mul(*from, by);
      ++from;
    });
  }
  // A row of q times the scale. Where a finite q times the scale overflows, the row takes its scale in two
  // parts, and true is returned: its scores are to be stretched.
  template <class Steps = row_steps>
  static FOVEA_INLINE bool scale_query(const plan& p, const float* q, float* to) {
    Steps::template multiply<false>(q, p.scale, p.dim, to);
    return p.stretch != 0 && stretches<Steps>(p, q, to);
  }
  template <class Steps>
  static __attribute__((noinline)) bool stretches(const plan& p, const float* q, float* to) {
    bool stretched = false;
    for (int c = 0; c < p.dim; ++c) stretched |= !is_finite(to[c]) && is_finite(q[c]);
    if (stretched) Steps::template multiply<false>(q, p.shrunk, p.dim, to);
    return stretched;
  }
  static void stretch_scores(const plan& p, float* s, int from, int to) {
    for (int j = from; j < to; ++j) s[j] = Isa::mul(s[j] + s[j], p.stretch);
  }
  static void write_output(const float* o, float factor, int count, float* out) {
    multiply<true>(o, factor, count, out);
  }

  static constexpr bool writes_rows = false; // sums of values become output without being stored before

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

  // Sums of later keys join those of the keys before them.
  static void join(gathered& all, const gathered& next, int v_dim) {
    const factors f = raise_top(all.top, next.top);
    join_floats(all.sum, next.sum, 16, f);
    join_floats(all.o, next.o, v_dim, f);
  }
  static __attribute__((noinline)) void join_floats(float* all, const float* next, int count,
                                                    const factors& f) {
    const factors by = f;
    by_fours(count, [&]() FOVEA_LAMBDA_INLINE {
      *all = joined(*all, *next++, by);
      ++all;
    });
  }

  // The sums of a block are those of its span, or join them.
  static FOVEA_INLINE factors join_block(gathered& span, float reference, const float* of_block, bool opens) {
    if (!opens) return join_later(span, reference, of_block);
    span.top = reference;
    return {0, 1};
  }
  static __attribute__((noinline)) factors join_later(gathered& span, float reference,
                                                      const float* of_block) {
    const factors f = raise_top(span.top, reference);
    join_floats(span.sum, of_block, 16, f);
    return f;
  }

  // Four keys at a time: a number of q is loaded once for all of them.
  static FOVEA_HOT void score_rows(const float* q, int dim, const float* k, ptrdiff_t stride, float* s,
                                   int count) {
    for (; count >= 4; count -= 4, k += 4 * stride, s += 4) score_keys<4>(q, dim, k, stride, s);
    for (; count > 0; --count, k += stride, ++s) score_keys<1>(q, dim, k, stride, s);
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
      if constexpr (Isa::loads_eight)
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

  // Panels of keys from the one that holds key `from` on, which stands at `k`. Scores of a panel are all
  // computed, also of keys before `from` and from `to` on.
  static FOVEA_HOT void score_panels(const float* q, int dim, const float* k, float* s, int from, int to) {
    const float *const end = q + dim, *const last = s + to;
    s += from & -16;
    if constexpr (Isa::multiplies_panels) {
      while (s < last) Isa::multiply_panel(q, end, k, s);
      return;
    }
    for (; s < last; s += 16) {
      float x[16];
#pragma GCC unroll 16
      for (int n = 0; n < 16; ++n) x[n] = 0;
      for (const float* number = q; number < end; k += 16) {
        const float factor = *number++;
        add_products<16>(factor, k, x);
      }
#pragma GCC unroll 16
      for (int n = 0; n < 16; ++n) s[n] = x[n];
    }
  }

  static float largest(const float* s, const float* end, float peak) {
    if constexpr (Isa::compares_fours) {
      if (end - s >= 4) peak = Isa::largest_of_fours(s, s + ((end - s) & -4), peak);
      for (; s < end; ++s) peak = Isa::max(*s, peak);
    } else {
      by_fours(static_cast<int>(end - s), [&]() FOVEA_LAMBDA_INLINE { peak = Isa::max(*s++, peak); });
    }
    return peak;
  }
  // What weights are relative to: the even number nearest to the largest score.
  static float reference_of(float peak) { return nearest_even(one_register<Isa>{{peak}}).r[0]; }
  // Where an exponent would not be exact, the reference is first subtracted from the scores, which are then
  // weighed relative to 0.
  static bool is_exact(float reference) { return reference < exact_limit && reference > -exact_limit; }
  static void move_scores(float* s, const float* end, float reference) {
    for (; s < end; ++s) *s = Isa::sub(*s, reference);
  }

  // Scores from .. to-1 become weights relative to `base`, and are added up by their places in a vector of
  // sixteen.
  static FOVEA_HOT void weigh(float* scores, int from, int to, float base, float* sum) {
    const float shift = shift_of<Isa> - base, floor = base + deepest;
    float *s = scores + from, *const end = scores + to;
    for (int lane = from & 15; s < end; lane = 0) { // a vector of sixteen, or what there is of it
      float *at = sum + lane, *const last = end - s < 16 - lane ? at + (end - s) : sum + 16;
      do {
        int count = static_cast<int>(last - at);
        if constexpr (Isa::weighs_fours) {
          if (count >= 4) Isa::weigh_fours(s, s + (count & -4), at, shift, slope_terms);
          count = last - at < 4 ? static_cast<int>(last - at) : 4; // the last ones, or four that it leaves
        }
        for (; count > 0; --count) {
          const float w = exp2_reg<Isa>(*s, shift, floor);
          *s++ = w;
          *at++ += w;
        }
      } while (at < last);
    }
  }

  static FOVEA_INLINE void clear_sum(float* sum) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) sum[i] = 0;
  }
  // Scores of one run of keys become weights, all of them, and `sum` theirs. Returns their reference.
  static FOVEA_HOT float weigh_run(float* scores, int from, int to, float* sum) {
    return weigh_by<row_steps>(scores, from, to, sum);
  }
  template <class Steps>
  static FOVEA_INLINE float weigh_by(float* scores, int from, int to, float* sum) {
    float *s = scores + from, *const end = scores + to;
    const float reference = reference_of(Steps::largest(s, end, lowest));
    float base = reference;
    if (!is_exact(reference)) {
      move_scores(s, end, reference);
      base = 0;
    }
    Steps::clear_sum(sum);
    Steps::weigh(scores, from, to, base, sum);
    return reference;
  }

  // Weights times columns of V, keys ascending. `add` gets as many sums as columns, and adds to them. With
  // factors, the sums of earlier keys are included.
  template <int Columns, class Add>
  static FOVEA_INLINE void gather_columns(float* o, int, const factors* f, Add add) {
    float x[Columns];
#pragma GCC unroll 16
    for (int n = 0; n < Columns; ++n) x[n] = 0;
    add(x);
    float later[Columns], *const to = f ? later : o;
#pragma GCC unroll 16
    for (int n = 0; n < Columns; ++n) to[n] = x[n];
    if (f) join_floats(o, later, Columns, *f);
  }
  template <int Columns>
  static FOVEA_INLINE void add_keys(const float* weights, int count, const float* v, ptrdiff_t stride, int,
                                    float* x) {
    const auto add_key = [&]() FOVEA_LAMBDA_INLINE {
      const float weight = *weights++;
      add_products<Columns>(weight, v, x);
      v += stride;
    };
    for (; count >= 2; count -= 2) {
      add_key();
      add_key();
    }
    if (count) add_key();
  }
  // Of values that stand in rows of floats.
  template <int Columns>
  static FOVEA_HOT void add_rows(const float* weights, int count, const float* v, ptrdiff_t stride, float* o,
                                 const factors* f) {
    if constexpr (Isa::sums_columns && Columns > 1) {
      float later[Columns];
      Isa::template sum_columns<Columns>(weights, count, v, stride, f ? later : o);
      if (f) join_floats(o, later, Columns, *f);
    } else {
      gather_columns<Columns>(o, Columns, f, [&](auto& x) FOVEA_LAMBDA_INLINE {
        add_keys<Columns>(weights, count, v, stride, Columns, x);
      });
    }
  }
  static FOVEA_INLINE void add_rows(const float* weights, int count, const float* v, ptrdiff_t stride,
                                    int v_dim, float* o, const factors* f) {
    by_columns(v_dim, [&](auto columns, int c) FOVEA_LAMBDA_INLINE {
      add_rows<decltype(columns)::value>(weights, count, v + c, stride, o + c, f);
    });
  }
  // Calls use(columns, c) for columns 0 .. v_dim-1: sixteen at a time, eight, then `Least`.
  template <int Least = 1, class Use>
  static FOVEA_INLINE void by_columns(int v_dim, Use use) {
    int c = 0;
    for (; c + 16 <= v_dim; c += 16) use(std::integral_constant<int, 16>{}, c);
    if (c + 8 <= v_dim) {
      use(std::integral_constant<int, 8>{}, c);
      c += 8;
    }
    for (; c < v_dim; c += Least) use(std::integral_constant<int, Least>{}, c);
  }
  // How many of these the row has.
  template <int Columns>
  static FOVEA_INLINE int columns_from(int, int) {
    return Columns;
  }
};

} // namespace fovea::f32
