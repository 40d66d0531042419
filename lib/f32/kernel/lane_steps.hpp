// Steps of attention row by row on a core with vectors: lanes are keys in scores and weights, columns in
// values. What is rare, and what is left of a vector, takes the steps of plain floats.
#pragma once
#include "f32/kernel/row_steps.hpp"

namespace fovea::f32 {

template <class Isa>
struct lane_steps : row_steps<plain_of<Isa>> {
  using plain_steps = row_steps<plain_of<Isa>>;
  using factors = typename plain_steps::factors;
  using reg = typename Isa::reg;
  static constexpr int lanes = Isa::lanes;

  template <class Use>
  static FOVEA_INLINE void map(const float* from, int count, float* to, Use use) {
    for (; count > 0; count -= lanes, from += lanes, to += lanes)
      Isa::store_first(to, use(Isa::load_first(from, count)), count);
  }

  static float sum_of_lanes(const float* x) { return sum_tree(f32x16<Isa>::load(x)); }
  static void clear_sum(float* sum) {
    f32x16<Isa>::each([](int) FOVEA_LAMBDA_INLINE { return Isa::zero(); }).store(sum);
  }
  template <bool AddsZero>
  static void multiply(const float* from, float by, int count, float* to) {
    map(from, count, to, [&](reg x) FOVEA_LAMBDA_INLINE {
      return AddsZero ? Isa::fma(x, Isa::spread(by), Isa::spread(0)) : Isa::mul(x, Isa::spread(by));
    });
  }
  static bool scale_query(const plan& p, const float* q, float* to) {
    return plain_steps::template scale_query<lane_steps>(p, q, to);
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
    for (int count = static_cast<int>(end - s); count > 0; count -= lanes, s += lanes)
      most = Isa::larger_first(most, Isa::load_first(s, count), count);
    return Isa::largest(most);
  }
  static FOVEA_HOT void weigh(float* s, int from, int to, float reference, float* sum) {
    Isa::weigh(s + from, to - from, sum, from & 15, shift_of<Isa> - reference, reference + deepest,
               slope_terms);
  }
  static FOVEA_HOT float weigh_run(float* scores, int from, int to, float* sum) {
    return plain_steps::template weigh_by<lane_steps>(scores, from, to, sum);
  }

  // Of the last register the row may have fewer columns.
  template <class Use>
  static FOVEA_INLINE void by_columns(int v_dim, Use use) {
    plain_steps::template by_columns<lanes>(v_dim, use);
  }
  template <int Columns>
  static FOVEA_INLINE int columns_from(int c, int v_dim) {
    return Columns > lanes || v_dim - c >= Columns ? Columns : v_dim - c;
  }

  // What sums of values are: the first ones of a row, later ones, or all, which times f->now are its output.
  enum class sums { first, later, all };

  template <int Columns, class Add>
  static FOVEA_INLINE void gather_columns(float* o, int columns, const factors* f, Add add) {
    gather_columns<Columns>(o, columns, f ? sums::later : sums::first, f, add);
  }
  template <int Columns, class Add>
  static FOVEA_INLINE void gather_columns(float* o, int columns, sums what, const factors* f, Add add) {
    using vector = floats<Isa, Columns>;
    const auto zeros = []() FOVEA_LAMBDA_INLINE {
      return vector::each([](int) FOVEA_LAMBDA_INLINE { return Isa::zero(); });
    };
    auto x = zeros();
    add(x.r);
    const auto load = [&](const float* p) FOVEA_LAMBDA_INLINE {
      if constexpr (Columns == lanes)
        return vector{{Isa::load_first(p, columns)}};
      else
        return vector::load(p);
    };
    if (what == sums::later) x = fma(load(o), vector::all(f->before), x * vector::all(f->now));
    if (what == sums::all) x = fma(x, vector::all(f->now), zeros());
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
  static void add_rows(const float* weights, int count, const float* v, ptrdiff_t stride, int v_dim, float* o,
                       const factors* f) {
    sum_rows(weights, count, v, stride, v_dim, o, f ? sums::later : sums::first, f);
  }
  static constexpr bool writes_rows = true;
  static void write_rows(const float* weights, int count, const float* v, ptrdiff_t stride, int v_dim,
                         float* out, float factor) {
    const factors f = {0, factor};
    sum_rows(weights, count, v, stride, v_dim, out, sums::all, &f);
  }
  static FOVEA_HOT void sum_rows(const float* weights, int count, const float* v, ptrdiff_t stride, int v_dim,
                                 float* o, sums what, const factors* f) {
    by_columns(v_dim, [&](auto columns, int c) FOVEA_LAMBDA_INLINE {
      constexpr int most = decltype(columns)::value;
      const int n = columns_from<most>(c, v_dim);
      gather_columns<most>(o + c, n, what, f, [&](auto& x) FOVEA_LAMBDA_INLINE {
        add_keys<most>(weights, count, v + c, stride, n, x);
      });
    });
  }
};

template <class Isa>
using steps_of = std::conditional_t<Isa::lanes == 1, row_steps<Isa>, lane_steps<Isa>>;

} // namespace fovea::f32
