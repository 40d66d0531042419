// Integer attention on Arm with NEON and no dot products: 64-bit cores have 32 registers, 32-bit ones
// sixteen; 4 rows x 8 keys or 4 rows x 16 values take half of them.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_NEON
#include "fixed/attend.hpp"
#include "fixed/dot/neon.hpp"
#include "fixed/dot/neon_writer.hpp"
#include "fixed/multiply.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct neon : neon_registers {
  using key_byte = int8_t;
  using value_byte = int8_t;
  using weigher = neon_word_weigher;
  using writer = neon_writer;
#if defined(__aarch64__)
  using keys_dot = neon_keys<2>;
  using values_dot = neon_values<1>;
  using shapes = fixed_shapes<fixed_shape<4, 1, 4, 1>, fixed_shape<2, 2, 2, 1>, fixed_shape<1, 2, 1, 1>>;
#else
  using keys_dot = neon_keys<4>;
  using values_dot = neon_values<2>;
  using shapes = fixed_shapes<fixed_shape<4, 1, 4, 1>, fixed_shape<1, 4, 1, 1>>;
#endif
};

} // namespace
const fixed_kernel fixed_neon_kernel = fixed_kernel_of<neon, neon>(FOVEA_FIXED_NEON, {}, {}, 0);
const fixed_product fixed_neon_product = form_product<neon>::exact(FOVEA_FIXED_NEON);
const fixed_layer fixed_neon_layer = layer_of<form_product<neon>>::at(FOVEA_FIXED_NEON);
const fixed_scaling fixed_neon_scaling = fixed_scaling_of<group_product<form_product<neon>>>(
    FOVEA_FIXED_NEON);
} // namespace fovea::fixed
#endif
