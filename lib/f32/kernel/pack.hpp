// Copies on the way to a product: rows of q are scaled, rows of k become panels, in which lanes are rows.
#pragma once
#include "f32/kernel/tile.hpp"

namespace fovea::f32 {

FOVEA_INLINE void prefetch(const float* p, int n) {
  for (const float* end = p + n; p < end; p += 32) __builtin_prefetch(p), __builtin_prefetch(p + 16);
}
FOVEA_INLINE void prefetch_to_write(const float* p, int n) {
  for (const float* end = p + n; p < end; p += 32) __builtin_prefetch(p, 1), __builtin_prefetch(p + 16, 1);
}

// A row of q times the scale; the last sixteen may overlap those before them.
template <class Isa>
FOVEA_INLINE void scale_row(const float* row, int dim, float scale, float* out) {
  const auto sixteen = [&](int c) FOVEA_LAMBDA_INLINE {
    (f32x16<Isa>::load(row + c) * f32x16<Isa>::all(scale)).store(out + c);
  };
  for (int c = 0; c <= dim - 16; c += 16) sixteen(c);
  if (dim % 16 == 0) return;
  if (dim > 16) return sixteen(dim - 16);
  for (int c = 0; c < dim; ++c) out[c] = row[c] * scale;
}

// Whether none of n numbers is infinite or NaN: zero times such a number is NaN.
template <class Isa>
FOVEA_INLINE bool all_finite(const float* x, ptrdiff_t n) {
  auto sum = Isa::spread(0);
  ptrdiff_t i = 0;
  for (; i + Isa::lanes <= n; i += Isa::lanes) sum = Isa::fma(Isa::load(x + i), Isa::spread(0), sum);
  float rest = 0;
  for (; i < n; ++i) rest += x[i] * 0;
  return !Isa::any_nan(sum) && rest == 0;
}

// Rows of keys that stand one after another: as many pointers as addresses need, not one for each row.
template <class Isa>
struct rows_apart {
  const float* at;
  ptrdiff_t stride;
  template <class Use>
  FOVEA_INLINE void at_column(int c, Use use) const {
    const float* four[4] = {at + c};
#pragma GCC unroll 4
    for (int i = 1; i < Isa::lanes / 4; ++i) four[i] = forget_origin(four[i - 1] + 4 * stride);
    use([&](int l) FOVEA_LAMBDA_INLINE { return four[l / 4] + l % 4 * stride; });
  }
};
// Rows that may repeat.
template <class Isa>
struct rows_in_places {
  const float* row[Isa::lanes];
  template <class Use>
  FOVEA_INLINE void at_column(int c, Use use) const {
    use([&](int l) FOVEA_LAMBDA_INLINE { return row[l] + c; });
  }
};

// out[c * lead + l] = row(l)[c] for as many rows as a register has lanes; the last four columns may overlap
// those before them.
template <class Isa, class Rows>
FOVEA_INLINE void pack_lanes(const Rows& rows, int dim, float* out, ptrdiff_t lead) {
  const auto four = [&](int c, float* to) FOVEA_LAMBDA_INLINE {
    typename Isa::reg t[4];
    if constexpr (Isa::loads_columns && std::is_same_v<Rows, rows_apart<Isa>>)
      Isa::columns_apart(rows.at + c, rows.stride, t);
    else
      rows.at_column(c, [&](auto row) FOVEA_LAMBDA_INLINE { Isa::columns(row, t); });
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Isa::store(to + i * lead, t[i]);
  };
  float* to = out;
  int c = 0;
  if constexpr (Isa::columns_at_once == 8)
    for (; c <= dim - 8; c += 8, to += 8 * lead) {
      typename Isa::reg t[8];
      rows.at_column(c, [&](auto row) FOVEA_LAMBDA_INLINE { Isa::columns(row, t); });
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) Isa::store(to + i * lead, Isa::column(t, i));
    }
  for (; c <= dim - 4; c += 4, to += 4 * lead) four(c, to);
  if (dim % 4 == 0) return;
  if (dim > 4) return four(dim - 4, out + (dim - 4) * lead);
  for (; c < dim; ++c)
    rows.at_column(c, [&](auto row) FOVEA_LAMBDA_INLINE {
      for (int l = 0; l < Isa::lanes; ++l) out[c * lead + l] = *row(l);
    });
}

// One panel: sixteen lanes, lane l is the row of key `first + l`. Lanes outside first_key .. end-1 repeat the
// nearest row given; `row` is the first of those that are given.
template <class Isa>
inline void pack_panel(const float* row, ptrdiff_t stride, int64_t first, int64_t first_key, int64_t end,
                       int dim, float* panel) {
  if (first >= first_key && first + 16 <= end) {
    for (int l = 0; l < 16; l += Isa::lanes)
      pack_lanes<Isa>(rows_apart<Isa>{row + l * stride, stride}, dim, panel + l, 16);
    return;
  }
  rows_in_places<Isa> rows;
  for (int l = 0; l < 16; l += Isa::lanes) {
    for (int i = 0; i < Isa::lanes; ++i) {
      rows.row[i] = row;
      const int64_t next = first + l + i + 1;
      if (next > first_key && next < end) row += stride;
    }
    pack_lanes<Isa>(rows, dim, panel + l, 16);
  }
}

} // namespace fovea::f32
