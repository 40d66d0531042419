// Integer attention with Arm dot products: 32 registers; 4 rows x 16 keys take sixteen, and so do 2 rows x 16
// values in two bytes.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_DOTPROD
#include "fixed/attend.hpp"
#include "fixed/dot/dotprod.hpp"
#include "fixed/dot/neon_writer.hpp"
#include "fixed/multiply.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct dotprod : neon_registers {
  using key_byte = int8_t;
  using value_byte = int8_t;
  using weigher = dotprod_weigher;
  using writer = neon_writer;
  using keys_dot = dotprod_keys;
  using values_dot = dotprod_values;
  using shapes = fixed_shapes<fixed_shape<4, 1, 2, 1>, fixed_shape<2, 2, 2, 1>, fixed_shape<1, 4, 1, 2>>;
};

} // namespace
const fixed_kernel fixed_dotprod_kernel = fixed_kernel_of<dotprod, dotprod>(FOVEA_FIXED_DOTPROD, {}, {}, 0);
const fixed_product fixed_dotprod_product = form_product<dotprod>::exact(FOVEA_FIXED_DOTPROD);
const fixed_layer fixed_dotprod_layer = layer_of<form_product<dotprod>>::at(FOVEA_FIXED_DOTPROD);
const fixed_scaling fixed_dotprod_scaling = fixed_scaling_of<group_product<form_product<dotprod>>>(
    FOVEA_FIXED_DOTPROD);
} // namespace fovea::fixed
#endif
