// Static layers of microcontrollers: one row at a time, 64 outputs at a time.
#pragma once
#include "fixed/compact.hpp"
#include "fixed/product.hpp"
#include "fixed/requantize.hpp"

namespace fovea::fixed {

// A Core takes a row (row_bytes, take_row), multiplies it by panels in the order of linear.hpp
// (multiply_panels: `outputs` is a multiple of 16), and makes bytes of the sums of a gentle layer
// (requantize). doubles_sums: sums are twice as large between these two, modulo 2^32.
template <class Core>
struct row_layer {
  static constexpr int32_t block = 64;

  static size_t scratch(int32_t, int32_t depth) { return sizeof(int32_t) * block + Core::row_bytes(depth); }
  FOVEA_COLD static void run(const layer_job& job) {
    int32_t* const sums = reinterpret_cast<int32_t*>(job.scratch);
    const auto* const x = Core::take_row(job.x, job.in, job.depth, job.scratch + sizeof(int32_t) * block);
    const int8_t* panels = job.panels;
    const requantize_numbers* numbers = job.numbers;
    int8_t* y = job.y;
    for (int32_t left = job.outputs; left > 0; left -= block) {
      const int32_t count = left < block ? left : block;
      Core::multiply_panels(x, panels, job.depth, (count + 15) & -16, sums);
      job.gentle ? Core::requantize(sums, numbers, *job.range, count, y)
                 : requantize_any(sums, numbers, *job.range, count, y);
      panels += block * job.depth;
      numbers += block / 4;
      y += block;
    }
  }
  FOVEA_COLD static void requantize_any(int32_t* sums, const requantize_numbers* numbers,
                                        const output_range& range, int32_t count, int8_t* y) {
    if (Core::doubles_sums)
      for (int32_t i = 0; i < count; ++i) {
        const uint32_t bias = static_cast<uint32_t>(numbers[i / 4].bias[i % 4]);
        const int32_t twice = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + 2 * bias);
        sums[i] = static_cast<int32_t>(static_cast<uint32_t>(twice >> 1) - bias);
      }
    requantize_sums(sums, numbers, range, count, y);
  }
  static constexpr fixed_layer at(int32_t isa) { return {isa, 1, scratch, run}; }
};

} // namespace fovea::fixed
