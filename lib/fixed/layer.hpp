// Static layers of systems: exact sums of a block of outputs, then their bytes.
#pragma once
#include "fixed/product.hpp"
#include "fixed/requantize.hpp"

namespace fovea::fixed {

template <class Product>
struct layer_of {
  static constexpr size_t sums_bytes(int32_t rows) {
    return sizeof(int32_t) * static_cast<size_t>(rows) * static_cast<size_t>(sums_step);
  }
  static size_t scratch(int32_t rows, int32_t depth) {
    return sums_bytes(rows) + Product::tile_bytes(rows, depth);
  }
  static void run(const layer_job& job) {
    constexpr int32_t block = 16 * product_panels;
    int32_t* const sums = reinterpret_cast<int32_t*>(job.scratch);
    void* const tile = job.scratch + sums_bytes(job.rows);
    const ptrdiff_t panel = 16 * static_cast<ptrdiff_t>(job.depth);
    Product::take(job.x, job.x_step, job.rows, job.in, job.depth, tile);
    for (int32_t o = 0; o < job.outputs; o += block) {
      const int32_t left = job.outputs - o, count = left < block ? left : block;
      Product::multiply(tile, job.rows, job.depth, job.panels + o / 16 * panel, panel, (count + 15) / 16,
                        sums);
      for (int32_t r = 0; r < job.rows; ++r)
        requantize_sums(sums + r * sums_step, job.numbers + o / 4, *job.range, count,
                        job.y + r * job.y_step + o);
    }
  }
  static constexpr fixed_layer at(int32_t isa) { return {isa, product_rows, scratch, run}; }
};

} // namespace fovea::fixed
