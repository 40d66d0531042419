// The seams of linear layers in integers: what an ISA offers to multiply rows of bytes by panels of weights.
// Panels are those of keys (panels.hpp): sixteen outputs side by side.
#pragma once
#include <cstddef>
#include <cstdint>

namespace fovea::fixed {

struct requantize_numbers;
struct output_range;

constexpr int32_t product_rows = 48;  // of a tile at most
constexpr int32_t product_panels = 4; // that one call takes at most
constexpr int32_t sums_step = 80;     // of a row of sums; a power of two would fold rows onto few cache sets

// One of two streams of weights that one row reads, far from each other: memory answers two sooner than one.
// y = float(sum) * (row_scale * scale of the output) + bias + residual, sixteen outputs for each panel.
struct output_stream {
  const unsigned char* panels;
  const float *bias, *residual; // null: none
  float* y;                     // may be residual
};

// Exact sums. A tile holds rows of bytes as the ISA multiplies them; `depth` is `dim`, rounded up to 16.
struct fixed_product {
  int32_t isa;
  size_t (*tile_bytes)(int32_t rows, int32_t depth); // a multiple of 16
  void (*take)(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile);
  // sums[row][sums_step] of `count` panels that lie `apart` bytes from each other.
  void (*multiply)(const void* tile, int32_t rows, int32_t depth, const int8_t* panels, ptrdiff_t apart,
                   int32_t count, int32_t* sums);
  // `count` panels of each stream for one row; null: this ISA reads one stream. Scales of outputs are read
  // with their panel and sums never leave registers, so that reading does not stop between panels.
  void (*multiply_two)(const void* tile, int32_t depth, float row_scale, ptrdiff_t apart, int32_t count,
                       const output_stream& first, const output_stream& second) = nullptr;
};

// Outputs of one row, by fours: y = float(sum) * (row_scale * scale of the output).
struct row_outputs {
  const unsigned char* panels;
  int32_t first, count; // multiples of 4; `first` in the panels
  float* y;
};

// Weights of int8 in the order FOVEA_LINEAR_SMLAD: rows of floats become outputs, one row at a time. A row is
// taken as fixed_scaling::quantize does, but in an order of its own.
struct arranged_product {
  size_t (*row_bytes)(int32_t depth); // a multiple of 4
  float (*quantize)(const float* x, int32_t dim, int32_t depth, void* row);
  void (*multiply)(const void* row, int32_t depth, float row_scale, const row_outputs& to);
};

// Weights of four bits, in panels that lie `apart`: a scale of 16 bits for each group and output, then the
// groups (groups.hpp). One tile for each group of 32 elements, `tile_step` apart.
struct group_job {
  const unsigned char *tiles, *panels;
  ptrdiff_t tile_step, apart;
  int32_t rows, groups, count;
  const float* scales; // [rows][groups]
};

// Exact sums become floats: z = float(sum) * (row_scale * scale of the output) + bias. The first `skipped`
// sums are left out; scales of sixteen outputs each lie `apart`.
struct scale_job {
  const int32_t* sums; // [rows][sums_step]
  const float* row_scales;
  const unsigned char* scales;
  ptrdiff_t apart;
  int32_t rows, skipped, columns;
  const float* bias; // of the first column; null = zeros
  float* z;          // [rows][columns]
  ptrdiff_t z_stride;
};

// What stands between floats and exact sums. No step is a fused one, so each ISA has the same bits.
struct fixed_scaling {
  int32_t isa;
  // Returns the scale; NaN, and zeros, if a number is not finite.
  float (*quantize)(const float* x, int32_t count, int8_t* to);
  void (*scale)(const scale_job& job);
  // Groups of 32 elements of rows, as multiply_groups takes them.
  size_t (*group_bytes)(int32_t rows);
  void (*take_group)(const int8_t* x, ptrdiff_t step, int32_t rows, void* tile);
  // z[row][sums_step]: the same from weights of four bits, without bias. Products of groups join a sum.
  void (*multiply_groups)(const group_job& job, float* z);
  // As fixed_product::multiply_two. The panels of the job are not looked at; null: this ISA reads one stream.
  void (*multiply_two)(const group_job& job, const output_stream& first,
                       const output_stream& second) = nullptr;
};

// A static layer: rows of x times outputs 0 .. outputs-1 of `panels`, requantised.
struct layer_job {
  const int8_t* x;
  ptrdiff_t x_step;
  int32_t rows, in, depth, outputs;
  const int8_t* panels;
  const requantize_numbers* numbers; // of four outputs each
  const output_range* range;
  bool gentle; // requantize.hpp
  int8_t* y;
  ptrdiff_t y_step;
  unsigned char* scratch; // aligned to 16
};

struct fixed_layer {
  int32_t isa;
  int32_t rows; // of one call at most
  size_t (*scratch)(int32_t rows, int32_t depth);
  void (*run)(const layer_job& job);
};

const fixed_layer* find_fixed_layer(int32_t isa);
const fixed_product* find_fixed_product(int32_t isa); // null: this machine or this build has it not
const arranged_product* find_arranged_product(int32_t isa);
const fixed_scaling* find_fixed_scaling(int32_t isa);

} // namespace fovea::fixed
