// Prefetching of rows that are far apart, where the hardware cannot follow.
#pragma once
#include "common/build.hpp"

#include <cstddef>

namespace fovea::f32 {

// Prefetches rows, line after line in the order of memory.
class lines_of_rows {
 public:
  lines_of_rows(const float* row, ptrdiff_t stride, int dim) : row_(row), stride_(stride), dim_(dim) {}
  template <int Lines>
  FOVEA_INLINE void fetch() {
#pragma GCC unroll 8
    for (int i = 0; i < Lines; ++i) {
      __builtin_prefetch(row_ + column_);
      column_ += 16;
      if (column_ < dim_) continue;
      column_ = 0;
      row_ += stride_;
    }
  }

 private:
  const float* row_;
  ptrdiff_t stride_;
  int dim_, column_ = 0;
};

} // namespace fovea::f32
