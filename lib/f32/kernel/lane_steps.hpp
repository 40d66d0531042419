// Steps of attention row by row on a core with vectors: lanes are keys in scores and weights, columns in
// values. What is rare, and what is left of a vector, takes the steps of plain floats.
#pragma once
#include "f32/kernel/row_steps.hpp"

namespace fovea::f32 {

template <class Isa>
struct lane_steps : row_steps<plain_of<Isa>> {
  using base = row_steps<plain_of<Isa>>;
  using factors = typename base::factors;
  using reg = typename Isa::reg;
  static constexpr int lanes = Isa::lanes;

  template <class Use>
  static FOVEA_INLINE void map(const float* from, int count, float* to, Use use) {
    for (; count >= lanes; count -= lanes, from += lanes, to += lanes) Isa::store(to, use(Isa::load(from)));
    if (count > 0) Isa::store_first(to, use(Isa::load_first(from, count)), count);
  }

  static float sum_of_lanes(const float* x) { return sum_tree(f32x16<Isa>::load(x)); }
  static void clear_sum(float* sum) {
    float zero = 0;
    __asm__("" : "+r"(zero)); // else compilers call memset
    f32x16<Isa>::all(zero).store(sum);
  }
  template <bool AddsZero>
  static void multiply(const float* from, float by, int count, float* to) {
    map(from, count, to, [&](reg x) FOVEA_LAMBDA_INLINE {
      return AddsZero ? Isa::fma(x, Isa::spread(by), Isa::spread(0)) : Isa::mul(x, Isa::spread(by));
    });
  }
  static bool scale_query(const plan& p, const float* q, float* to) {
    return base::template scale_query<lane_steps>(p, q, to);
  }
  static void write_output(const float* o, float factor, int count, float* out) {
    multiply<true>(o, factor, count, out);
  }

  static FOVEA_HOT void score_rows(const float* q, int dim, const float* k, ptrdiff_t stride, float* s,
                                   int count) {
    Isa::multiply_rows(q, dim, k, stride, s, count);
  }
  static FOVEA_HOT void score_panels(const float* q, int dim, const float* k, float* s, int from, int to) {
    for (int at = from & -16; at < to; at += 16, k += 16 * static_cast<ptrdiff_t>(dim)) {
      auto x = f32x16<Isa>::all(0);
      Isa::add_sixteens(q, dim, k, 16, x.r);
      x.store(s + at);
    }
  }

  static float largest(const float* s, const float* end, float peak) {
    reg most = Isa::spread(peak);
    for (ptrdiff_t count = (end - s) / lanes; count > 0; --count, s += lanes)
      most = Isa::larger(most, Isa::load(s));
    peak = Isa::largest(most);
    for (; s < end; ++s) peak = plain_of<Isa>::max(*s, peak);
    return peak;
  }
  static FOVEA_HOT void weigh(float* s, int from, int to, float reference, float* sum) {
    for (; from < to && from % lanes; ++from) weigh_one(s, from, reference, sum);
    if (to - from >= lanes) {
      const int whole = (to - from) & -lanes;
      Isa::weigh(s + from, whole / lanes, sum, from & 15, shift_of<Isa> - reference, reference + deepest,
                 slope_terms);
      from += whole;
    }
    for (; from < to; ++from) weigh_one(s, from, reference, sum);
  }
  static FOVEA_HOT void weigh_one(float* s, int j, float reference, float* sum) {
    const float w = exp2_reg<plain_of<Isa>>(s[j], shift_of<plain_of<Isa>> - reference, reference + deepest);
    s[j] = w;
    sum[j & 15] += w;
  }
  static FOVEA_HOT float weigh_run(float* scores, int from, int to, float* sum) {
    return base::template weigh_by<lane_steps>(scores, from, to, sum);
  }

  // Of the last register the row may have fewer columns.
  template <class Use>
  static FOVEA_INLINE void by_columns(int v_dim, Use use) {
    base::template by_columns<lanes>(v_dim, use);
  }
  template <int Columns>
  static FOVEA_INLINE int columns_from(int c, int v_dim) {
    return Columns > lanes || v_dim - c >= Columns ? Columns : v_dim - c;
  }

  template <int Columns, class Add>
  static FOVEA_INLINE void gather_columns(float* o, int columns, bool opens, const factors& f, Add add) {
    using vector = floats<Isa, Columns>;
    auto x = vector::all(0);
    add(x.r);
    const auto load = [&](const float* p) FOVEA_LAMBDA_INLINE {
      if constexpr (Columns == lanes)
        return vector{{Isa::load_first(p, columns)}};
      else
        return vector::load(p);
    };
    if (!opens) x = fma(load(o), vector::all(f.before), x * vector::all(f.now));
    if constexpr (Columns == lanes)
      Isa::store_first(o, x.r[0], columns);
    else
      x.store(o);
  }
  template <int Columns>
  static FOVEA_INLINE void add_keys(const float* weights, int count, const float* v, ptrdiff_t stride,
                                    int columns, reg (&x)[Columns / lanes]) {
    if constexpr (Columns == 16) return Isa::add_sixteens(weights, count, v, stride, x);
    for (; count > 0; --count, ++weights, v += stride)
      if constexpr (Columns == lanes)
        x[0] = Isa::fma(Isa::load_first(v, columns), Isa::spread(*weights), x[0]);
      else
#pragma GCC unroll 4
        for (int i = 0; i < Columns / lanes; ++i)
          x[i] = Isa::fma(Isa::load(v + i * lanes), Isa::spread(*weights), x[i]);
  }
  static FOVEA_HOT void add_rows(const float* weights, int count, const float* v, ptrdiff_t stride, int v_dim,
                                 float* o, bool opens, const factors& f) {
    by_columns(v_dim, [&](auto columns, int c) FOVEA_LAMBDA_INLINE {
      constexpr int most = decltype(columns)::value;
      const int n = columns_from<most>(c, v_dim);
      gather_columns<most>(o + c, n, opens, f, [&](auto& x) FOVEA_LAMBDA_INLINE {
        add_keys<most>(weights, count, v + c, stride, n, x);
      });
    });
  }
};

template <class Isa>
using steps_of = std::conditional_t<Isa::lanes == 1, row_steps<Isa>, lane_steps<Isa>>;

} // namespace fovea::f32
