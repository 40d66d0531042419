// The mean of rows: four chains by the number of the row. docs/numerics.md, section 11.
#pragma once
#include "f32/kernel/floats.hpp"
#include "f32/row_jobs.hpp"

namespace fovea::f32 {

// The means of N columns over `count` rows; load(row) gives the N numbers of a row.
template <class Isa, int N, class Load>
FOVEA_INLINE floats<Isa, N> mean_of_rows(const float* rows, ptrdiff_t stride, int32_t count, Load load) {
  using vector = floats<Isa, N>;
  vector chain[4] = {vector::all(0), vector::all(0), vector::all(0), vector::all(0)};
  int32_t r = 0;
  for (; r <= count - 4; r += 4, rows += 4 * stride)
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) chain[k] = chain[k] + load(rows + k * stride);
#pragma GCC unroll 3
  for (int k = 0; k < 3; ++k)
    if (r + k < count) chain[k] = chain[k] + load(rows + k * stride);
  const auto sum = (chain[0] + chain[2]) + (chain[1] + chain[3]), n = vector::all(static_cast<float>(count));
  return vector::each([&](int i) FOVEA_LAMBDA_INLINE { return Isa::div(sum.r[i], n.r[i]); });
}

template <class Isa>
void pool_rows(const pool_job& job) {
  constexpr int n = Isa::lanes > 1 ? 16 : 4;
  using vector = floats<Isa, n>;
  for (int32_t s = 0; s < job.sequences; ++s) {
    const ptrdiff_t first = job.starts ? job.starts[s] : s * static_cast<ptrdiff_t>(job.tokens);
    const int32_t given = job.starts ? job.starts[s + 1] - job.starts[s] : job.tokens,
                  count = job.lengths ? job.lengths[s] : given;
    const float* rows = job.in + first * job.in_stride;
    float* out = job.out + s * job.out_stride;
    int c = 0;
    if (count == 0) {
      for (; c < job.columns; ++c) out[c] = 0;
      continue;
    }
    for (; c + n <= job.columns; c += n)
      mean_of_rows<Isa, n>(rows + c, job.in_stride, count, [](const float* p) FOVEA_LAMBDA_INLINE {
        return vector::load(p);
      }).store(out + c);
    const int left = job.columns - c;
    if (left)
      store_first(out + c,
                  mean_of_rows<Isa, n>(rows + c, job.in_stride, count,
                                       [&](const float* p)
                                           FOVEA_LAMBDA_INLINE { return load_first(p, left, vector{}); }),
                  left);
  }
}

} // namespace fovea::f32
