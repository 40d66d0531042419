// From floats to integers, and what smooths keys before: loops over rows of floats, sixteen numbers at a
// time. The arithmetic is that of one number after another, so every ISA gives the same bits.
#pragma once
#include <cstring>
#include <type_traits>

#include "f32/row_jobs.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {

// An ISA that flushes denormals takes one number at a time.
template <class Isa>
using exact_isa = std::conditional_t<Isa::keeps_denormals, Isa, plain_floats<Isa>>;

template <class Isa>
using row_vector = floats<Isa, numbers_at_once<Isa>>;

template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> operator/(const floats<Isa, N>& a, const floats<Isa, N>& b) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::div(a.r[i], b.r[i]); });
}
template <class Isa, int N>
FOVEA_INLINE floats<Isa, N> abs(const floats<Isa, N>& x) {
  return floats<Isa, N>::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::abs(x.r[i]); });
}

// Calls whole(c) for each vector of a row, and part(c, n) for the n numbers that are left.
template <class Isa, class Whole, class Part>
FOVEA_INLINE void along_row(ptrdiff_t columns, Whole whole, Part part) {
  constexpr int lanes = numbers_at_once<Isa>;
  ptrdiff_t c = 0;
  for (; c + lanes <= columns; c += lanes) whole(c);
  if (lanes > 1 && c < columns) part(c, static_cast<int>(columns - c));
}

// Rows without a gap are one row.
static inline float_rows joined(float_rows in) {
  if (in.stride != in.columns || in.rows < 2) return in;
  in.columns *= in.rows;
  in.stride = in.columns;
  in.rows = 1;
  return in;
}

// Signed, the bits of positive floats have the order of floats, and those of negative ones are below them;
// unsigned, it is the other way round and by size.
template <class Isa>
void find_range_of_rows(const range_job& job) {
  using vec = row_vector<Isa>;
  const float_rows in = joined(job.in);
  vec high = vec::all(0), low = vec::all(-0.0f);
  const auto take = [&](const vec& x) FOVEA_LAMBDA_INLINE {
    high = vec::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::max_signed(high.r[i], x.r[i]); });
    low = vec::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::max_unsigned(low.r[i], x.r[i]); });
  };
  for (int32_t r = 0; r < in.rows; ++r) {
    const float* row = in.x + r * in.stride;
    along_row<Isa>(
        in.columns, [&](ptrdiff_t c) FOVEA_LAMBDA_INLINE { take(vec::load(row + c)); },
        [&](ptrdiff_t c, int n) FOVEA_LAMBDA_INLINE { take(load_first(row + c, n, vec())); });
  }
  constexpr int lanes = numbers_at_once<Isa>;
  float highs[lanes], lows[lanes];
  high.store(highs);
  low.store(lows);
  float_range all = {0, 0x80000000u};
  for (int i = 0; i < lanes; ++i) {
    int32_t above;
    uint32_t below;
    std::memcpy(&above, highs + i, sizeof above);
    std::memcpy(&below, lows + i, sizeof below);
    all.high = above > all.high ? above : all.high;
    all.low = below > all.low ? below : all.low;
  }
  *job.found = all;
}

// x / scale as it is written, clipped to what the output holds.
template <class Isa>
struct clipped_quotient {
  typename Isa::reg scale, low, high;
  FOVEA_INLINE void operator()(const typename Isa::reg* x, typename Isa::reg* y, int regs) const {
#pragma GCC unroll 8
    for (int i = 0; i < regs; ++i) y[i] = Isa::min(Isa::max(Isa::div(x[i], scale), low), high);
  }
};

// The same number from four products: `inverse` is 1 / scale rounded, `rest` what is missing. The first
// quotient is less than an ulp off, what it leaves of x is exact, and so the second is x / scale rounded once
// (Markstein). Storing clips it. Step by step for all registers, because each step waits for the one before.
template <class Isa>
struct quotient_of_products {
  using reg = typename Isa::reg;
  reg minus_scale, inverse, rest;
  explicit FOVEA_INLINE quotient_of_products(float scale)
      : minus_scale(Isa::spread(-scale)), inverse(Isa::div(Isa::spread(1), Isa::spread(scale))) {
    rest = Isa::mul(Isa::fma(inverse, minus_scale, Isa::spread(1)), inverse);
  }
  FOVEA_INLINE void operator()(const reg* x, reg* y, int regs) const {
#pragma GCC unroll 8
    for (int i = 0; i < regs; ++i) y[i] = Isa::mul(x[i], rest);
#pragma GCC unroll 8
    for (int i = 0; i < regs; ++i) y[i] = Isa::fma(x[i], inverse, y[i]);
    reg left[8];
#pragma GCC unroll 8
    for (int i = 0; i < regs; ++i) left[i] = Isa::fma(y[i], minus_scale, x[i]);
#pragma GCC unroll 8
    for (int i = 0; i < regs; ++i) y[i] = Isa::fma(left[i], inverse, y[i]);
  }
};

// Nothing on the way to a quotient above 1/4 is denormal, and nothing is too large for 32 bits; below 1/4
// any error leaves 0.
static inline bool products_divide(float scale, float largest) {
  return scale >= 0x1p-100f && scale <= 0x1p100f && largest <= scale * 0x1p20f;
}

template <class Isa, class T, class Quotient>
FOVEA_INLINE void store_quotients(const float_rows& in, const Quotient& quotient, int32_t zero, T* out) {
  using vec = row_vector<Isa>;
  constexpr int lanes = numbers_at_once<Isa>, regs = vec::regs;
  const auto store = [&](const vec& x, T* to) FOVEA_LAMBDA_INLINE {
    typename Isa::reg y[regs];
    quotient(x.r, y, regs);
    Isa::store_nearest(to, y, zero);
  };
  for (int32_t r = 0; r < in.rows; ++r, out += in.columns) {
    const float* row = in.x + r * in.stride;
    ptrdiff_t c = 0;
    if constexpr (lanes > 1) // more at once, so that steps that wait for each other are farther apart
      for (; c + 2 * lanes <= in.columns; c += 2 * lanes) {
        const auto x = floats<Isa, 2 * lanes>::load(row + c);
        if constexpr (Isa::narrows_32) {
          typename Isa::reg y[2 * regs];
          quotient(x.r, y, 2 * regs);
          Isa::store_nearest(out + c, y, zero);
        } else {
          typename Isa::reg y[2][regs];
          quotient(x.r, y[0], 2 * regs);
          Isa::store_nearest(out + c, y[0], zero);
          Isa::store_nearest(out + c + lanes, y[1], zero);
        }
      }
    for (; c + lanes <= in.columns; c += lanes) store(vec::load(row + c), out + c);
    if (lanes == 1 || c == in.columns) continue;
    const int n = static_cast<int>(in.columns - c);
    T last[lanes];
    store(load_first(row + c, n, vec()), last);
    for (int i = 0; i < n; ++i) out[c + i] = last[i];
  }
}

// A row needs so many numbers before an inverse and its rest pay.
constexpr ptrdiff_t enough_for_products = 256;

template <class Isa, class T>
FOVEA_INLINE void quantize_by(const float_rows& in, float scale, float largest, int32_t zero, T* out) {
  if constexpr (Isa::divides_by_products)
    if (in.rows * in.columns >= enough_for_products && products_divide(scale, largest))
      return store_quotients<Isa>(in, quotient_of_products<Isa>(scale), zero, out);
  constexpr int32_t low = sizeof(T) == 1 ? -128 : -32768, high = sizeof(T) == 1 ? 127 : 32767;
  const clipped_quotient<Isa> quotient = {Isa::spread(scale), Isa::spread(static_cast<float>(low - zero)),
                                          Isa::spread(static_cast<float>(high - zero))};
  store_quotients<Isa>(in, quotient, zero, out);
}

template <class Isa>
FOVEA_INLINE float largest_of_row(const float* row, ptrdiff_t columns) {
  using vec = row_vector<Isa>;
  vec top = vec::all(0);
  along_row<Isa>(
      columns, [&](ptrdiff_t c) FOVEA_LAMBDA_INLINE { top = max(top, abs(vec::load(row + c))); },
      [&](ptrdiff_t c, int n) FOVEA_LAMBDA_INLINE { top = max(top, abs(load_first(row + c, n, vec()))); });
  if constexpr (numbers_at_once<Isa> == 1)
    return top.r[0];
  else
    return largest(top);
}

// Scales of many rows come first: a row alone would wait for its largest number, and that for its scale.
template <class Isa>
FOVEA_INLINE void quantize_tokens(const quantize_job& job) {
  constexpr int32_t rows_together = 32; // they stay in the nearest cache
  float_rows row = job.in;
  row.rows = 1;
  for (int32_t first = 0; first < job.in.rows; first += rows_together) {
    const int32_t left = job.in.rows - first, end = first + (left < rows_together ? left : rows_together);
    for (int32_t r = first; r < end; ++r)
      job.scales[r] = scale_of(largest_of_row<Isa>(job.in.x + r * row.stride, row.columns), 127);
    for (int32_t r = first; r < end; ++r) {
      row.x = job.in.x + r * row.stride;
      quantize_by<Isa>(row, job.scales[r], 0, 0, job.s8 + r * row.columns); // no quotient is above 128
    }
  }
}

template <class Isa>
void quantize_rows(const quantize_job& job) {
  const float_rows in = joined(job.in);
  if (job.scales) return quantize_tokens<Isa>(job);
  job.s8 ? quantize_by<Isa>(in, job.scale, job.largest, job.zero, job.s8)
         : quantize_by<Isa>(in, job.scale, job.largest, job.zero, job.s16);
}

// out = f(number, what its column has). Where the output has columns only, both are the output's.
template <class Isa, class F>
FOVEA_INLINE void map_columns(const float_rows& in, const float* columns, float* out, ptrdiff_t out_stride,
                              F f) {
  using vec = row_vector<Isa>;
  for (int32_t r = 0; r < in.rows; ++r, out += out_stride) {
    const float* row = in.x + r * in.stride;
    along_row<Isa>(
        in.columns,
        [&](ptrdiff_t c)
            FOVEA_LAMBDA_INLINE { f(vec::load(row + c), vec::load(columns + c)).store(out + c); },
        [&](ptrdiff_t c, int n) FOVEA_LAMBDA_INLINE {
          store_first(out + c, f(load_first(row + c, n, vec()), load_first(columns + c, n, vec())), n);
        });
  }
}

template <class Isa>
void by_columns(const columns_job& job) {
  using vec = row_vector<Isa>;
  const vec rows = vec::all(static_cast<float>(job.in.rows));
  const auto sums = [&](auto f) FOVEA_LAMBDA_INLINE { map_columns<Isa>(job.in, job.out, job.out, 0, f); };
  const auto rows_by = [&](auto f) FOVEA_LAMBDA_INLINE {
    map_columns<Isa>(job.in, job.columns, job.out, job.in.columns, f);
  };
  switch (job.what) {
    case columns_job::sizes:
      return sums([](const vec& x, const vec& size) FOVEA_LAMBDA_INLINE { return max(size, abs(x)); });
    case columns_job::means:
      return sums([&](const vec& x, const vec& mean) FOVEA_LAMBDA_INLINE { return mean + x / rows; });
    case columns_job::difference:
      return rows_by([](const vec& x, const vec& mean) FOVEA_LAMBDA_INLINE { return x - mean; });
    case columns_job::quotient:
      return rows_by([](const vec& x, const vec& scale) FOVEA_LAMBDA_INLINE { return x / scale; });
    case columns_job::product:
      return rows_by([](const vec& x, const vec& scale) FOVEA_LAMBDA_INLINE { return x * scale; });
  }
}

} // namespace fovea::f32
