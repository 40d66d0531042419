// Transposing copies: rows of q or k become panels, in which lanes are rows.
#pragma once
#include <type_traits>

#include "kernel/floats.hpp"

namespace fovea {

FOVEA_INLINE void prefetch(const float* p, int n) {
#pragma GCC unroll 4
  for (int i = 0; i < n; i += 16) __builtin_prefetch(p + i);
}
FOVEA_INLINE void prefetch_to_write(const float* p, int n) {
#pragma GCC unroll 4
  for (int i = 0; i < n; i += 16) __builtin_prefetch(p + i, 1);
}

struct unscaled {
  template <class T>
  FOVEA_INLINE T operator()(T x) const {
    return x;
  }
};
template <class Isa>
struct scaled {
  float by;
  template <class T>
  FOVEA_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, float>)
      return x * by;
    else
      return Isa::mul(x, Isa::spread(by));
  }
};

// out[c * lead + l] = by(row(l)[c]) for as many rows as a register has lanes; the last four columns may overlap those before them.
template <class Isa, class Row, class Scale>
FOVEA_INLINE void pack_lanes(Row row, int dim, Scale by, float* out, ptrdiff_t lead) {
  constexpr int lanes = Isa::lanes;
  const float* at[lanes];
  for (int l = 0; l < lanes; ++l) at[l] = row(l);
  if (dim < 4) {
    for (int c = 0; c < dim; ++c)
      for (int l = 0; l < lanes; ++l) out[c * lead + l] = by(at[l][c]);
    return;
  }
  for (int from = 0; from < dim; from += 4) {
    const int c = from < dim - 4 ? from : dim - 4;
    typename Isa::reg t[4];
    Isa::columns([&](int l) FOVEA_LAMBDA_INLINE { return at[l] + c; }, t);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) Isa::store(out + (c + i) * lead, by(t[i]));
  }
}

// One panel: sixteen lanes, lane l is the row of key `first + l`. Lanes outside first_key .. end-1 repeat the nearest row given.
template <class Isa>
inline void pack_panel(const float* rows, ptrdiff_t stride, int64_t first, int64_t first_key, int64_t end, int dim, float* panel) {
  const auto row = [&](int l) {
    const int64_t key = first + l < first_key ? first_key : first + l < end ? first + l : end - 1;
    return rows + static_cast<ptrdiff_t>(key - first_key) * stride;
  };
  using packing = typename Isa::packing;
  for (int l = 0; l < 16; l += packing::lanes) {
    for (int64_t ahead = first + l + packing::lanes; ahead < first + l + 2 * packing::lanes && ahead < end; ++ahead)
      prefetch(row(static_cast<int>(ahead - first)), dim);
    pack_lanes<packing>([&](int i) { return row(l + i); }, dim, unscaled{}, panel + l, 16);
  }
}

} // namespace fovea
