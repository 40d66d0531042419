// Integer attention with Arm 8-bit matrix products: 32 registers; 4 rows x 16 keys take sixteen, and so do 2
// rows x 16 values in two bytes. One row alone leaves half of each product empty: dot products serve it
// better.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_I8MM
#include "fixed/attend.hpp"
#include "fixed/dot/i8mm.hpp"
#include "fixed/dot/neon_writer.hpp"
#include "fixed/multiply.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

template <class Byte, int PieceStep>
struct i8mm : neon_registers {
  using key_byte = Byte;
  using value_byte = Byte;
  using weigher = i8mm_weigher;
  using writer = neon_writer;
  using keys_dot = i8mm_keys<PieceStep>;
  using values_dot = i8mm_values<PieceStep>;
  using shapes = fixed_shapes<fixed_shape<4, 1, 2, 1>, fixed_shape<2, 1, 2, 1>, fixed_shape<1, 1, 1, 1>>;
};
using stored = i8mm<int8_t, 16>;
using arranged = i8mm<eight_deep, 32>;

void attend(const fixed_job& job) {
  job.rows == 1 && !job.panels->arranged() ? fixed_dotprod_kernel.attend(job)
                                           : attend_by_form<stored, arranged>(job);
}

size_t scratch(const fixed_plan& p, int32_t rows) {
  const size_t own = tile_scratch<stored, arranged>(p, rows), other = fixed_dotprod_kernel.scratch(p, rows);
  return own < other ? other : own;
}

// A linear layer has no panels in scratch. Rows that come alone go to dot products here, too.
struct products : form_product<stored> {
  using many = form_product<stored>;
  static size_t tile_bytes(int32_t rows, int32_t depth) {
    return rows == 1 ? fixed_dotprod_product.tile_bytes(rows, depth) : many::tile_bytes(rows, depth);
  }
  static void take(const int8_t* x, ptrdiff_t step, int32_t rows, int32_t dim, int32_t depth, void* tile) {
    (rows == 1 ? fixed_dotprod_product.take : many::take)(x, step, rows, dim, depth, tile);
  }
  static void multiply(const void* tile, int32_t rows, int32_t depth, const int8_t* panels, ptrdiff_t apart,
                       int32_t count, int32_t* sums) {
    (rows == 1 ? fixed_dotprod_product.multiply : many::multiply)(tile, rows, depth, panels, apart, count,
                                                                  sums);
  }
  static void add_group(const void* tile, int32_t rows, const int8_t* panel, const float* by,
                        const float* row_scales, ptrdiff_t step, float* z) {
    if (rows > 1) return many::add_group(tile, rows, panel, by, row_scales, step, z);
    int32_t sums[16];
    fixed_dotprod_product.multiply(tile, 1, group_depth, panel, 0, 1, sums);
    add_scaled(sums, *row_scales, by, z);
  }
};

} // namespace
const fixed_kernel fixed_i8mm_kernel = {
    FOVEA_FIXED_I8MM, fixed_tile_rows, scratch, attend, {}, {pack_key_pairs, pack_value_pairs}, 2};
const fixed_product fixed_i8mm_product = {FOVEA_FIXED_I8MM, products::tile_bytes, products::take,
                                          products::multiply};
const fixed_layer fixed_i8mm_layer = layer_of<products>::at(FOVEA_FIXED_I8MM);
const fixed_scaling fixed_i8mm_scaling = fixed_scaling_of<group_product<products>>(FOVEA_FIXED_I8MM);
} // namespace fovea::fixed
#endif
