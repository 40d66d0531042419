// Integers with SSE4.1: sixteen registers; 5 rows x 8 lanes of bytes take ten, and so do 5 rows x 4 lanes
// four deep in halves.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_SSE41
#include "fixed/attend.hpp"
#include "fixed/dot/sse41_weights.hpp"
#include "fixed/dot/vnni.hpp"
#include "fixed/multiply.hpp"
#include "fixed/nibbles.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct stored : sse41_registers {
  using writer = register_writer<stored>;
  using weigher = sse41_weigher;
  using key_byte = int8_t;
  using value_byte = int8_t;
  using keys_dot = sse41_keys;
  using values_dot = sse41_quads;
  using shapes = fixed_shapes<fixed_shape<5, 1, 5, 1>, fixed_shape<4, 1, 4, 1>, fixed_shape<2, 2, 2, 2>,
                              fixed_shape<1, 2, 1, 4>>;
};

struct nibble_dot : vnni_keys<sse41_registers> {};
using nibbles = nibble_product<nibble_dot, fixed_shape<2, 1, 1, 1>, fixed_shape<1, 1, 1, 1>>;

} // namespace
// Panels are not widened once: sixteen lanes two deep take four registers for each row of sums, and three
// rows of them spill.
const fixed_kernel fixed_sse41_kernel = fixed_kernel_of<stored, stored>(FOVEA_FIXED_SSE41, {}, {}, 0);
const fixed_product fixed_sse41_product = form_product<stored>::exact(FOVEA_FIXED_SSE41);
const fixed_layer fixed_sse41_layer = layer_of<form_product<stored>>::at(FOVEA_FIXED_SSE41);
const fixed_scaling fixed_sse41_scaling = fixed_scaling_of<nibbles>(FOVEA_FIXED_SSE41);
} // namespace fovea::fixed
#endif
