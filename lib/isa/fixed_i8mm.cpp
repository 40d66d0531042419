// Integer attention with Arm 8-bit matrix products: 32 registers; 4 rows x 16 keys take sixteen, and so do 2 rows x 16 values in two
// bytes. One row alone leaves half of each product empty: dot products serve it better.
#include "dot/i8mm.hpp"
#include "fixed/attend.hpp"
#include "isa/fixed_table.hpp"

namespace fovea {
namespace {

struct i8mm : i8mm_weights {
  using arranged = eight_deep;
  static constexpr auto arrange = pair_groups;
  using keys_dot = i8mm_keys;
  using values_dot = i8mm_values;
  using shapes = fixed_shapes<fixed_shape<4, 1, 2, 1>, fixed_shape<2, 1, 2, 1>, fixed_shape<1, 1, 1, 1>>;
};

void attend(const fixed_job& job) {
  if (job.rows == 1 && !job.panels->arranged()) return fixed_dotprod_kernel.attend(job);
  attend_fixed_tile<i8mm>(job);
}

size_t scratch(const fixed_plan& p, int32_t rows) {
  const size_t own = fixed_tile<i8mm>::scratch(p, rows), other = fixed_dotprod_kernel.scratch(p, rows);
  return own < other ? other : own;
}

} // namespace
const fixed_kernel fixed_i8mm_kernel = {FOVEA_FIXED_I8MM, fixed_unit_rows, scratch, attend, i8mm::arrange, 1};
} // namespace fovea
