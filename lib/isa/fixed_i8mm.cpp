// Integer attention with Arm 8-bit matrix products: 32 registers; 4 rows x 16 keys take sixteen, and so do 2
// rows x 16 values in two bytes. One row alone leaves half of each product empty: dot products serve it
// better.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_I8MM
#include "fixed/attend.hpp"
#include "fixed/dot/i8mm.hpp"
#include "fixed/dot/neon_writer.hpp"
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
  using product_shapes = shapes;
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

} // namespace
const fixed_kernel fixed_i8mm_kernel = {FOVEA_FIXED_I8MM, fixed_unit_rows,  scratch,
                                        attend,           {pair_groups, 1}, {pair_groups, 1}};
} // namespace fovea::fixed
#endif
