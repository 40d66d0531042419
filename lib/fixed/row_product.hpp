// Linear layers where one row is multiplied at a time: microcontrollers, and the scalar ISA of systems.
#pragma once
#include "fixed/layer.hpp"
#include "fixed/scaling.hpp"

namespace fovea::fixed {

// A Core names its `element`, takes sixteen bytes of a row at a time (put), and multiplies a row by a panel.
template <class Core>
struct row_product {
  using element = typename Core::element;

  static size_t tile_bytes(int32_t rows, int32_t depth) {
    return (static_cast<size_t>(rows) * static_cast<size_t>(depth) * sizeof(element) + 15) / 16 * 16;
  }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile) {
    element* to = static_cast<element*>(tile);
    for (int32_t r = 0; r < rows; ++r, x += step, to += depth)
      for (int32_t c = 0; c < depth; c += 16) {
        alignas(4) int8_t piece[16];
        for (int i = 0; i < 16; ++i) piece[i] = c + i < dim ? x[c + i] : int8_t{0};
        Core::put(piece, to + c);
      }
  }
  static void multiply(const void* tile, int32_t rows, int32_t depth, const int8_t* panels, ptrdiff_t apart,
                       int32_t count, int32_t* sums) {
    const element* x = static_cast<const element*>(tile);
    for (int32_t r = 0; r < rows; ++r, x += depth, sums += sums_step)
      for (int32_t n = 0; n < count; ++n) Core::multiply(x, panels + n * apart, depth, sums + 16 * n);
  }
  static void add_group(const void* tile, int32_t rows, const int8_t* panel, const float* by,
                        const float* row_scales, ptrdiff_t step, float* z) {
    const element* x = static_cast<const element*>(tile);
    for (int32_t r = 0; r < rows; ++r, x += group_depth, row_scales += step, z += sums_step) {
      alignas(8) int32_t sums[16];
      Core::multiply(x, panel, group_depth, sums);
      add_scaled(sums, *row_scales, by, z);
    }
  }
  static constexpr fixed_product exact(int32_t isa) { return {isa, tile_bytes, take, multiply}; }
};

} // namespace fovea::fixed
