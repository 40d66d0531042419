// Integers with SSE4.1: sixteen registers; 2 rows x 16 lanes two deep take eight, 4 rows x 8 lanes too.
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
  using keys_dot = sse41_quads;
  using values_dot = sse41_quads;
  using shapes = fixed_shapes<fixed_shape<4, 1, 4, 1>, fixed_shape<2, 2, 2, 2>, fixed_shape<1, 4, 1, 4>>;
};

struct arranged : sse41_registers {
  using writer = register_writer<arranged>;
  using weigher = sse41_weigher;
  using key_byte = two_deep;
  using value_byte = two_deep;
  using keys_dot = sse41_pairs;
  using values_dot = sse41_pairs;
  using shapes = fixed_shapes<fixed_shape<3, 1, 3, 1>, fixed_shape<2, 1, 2, 1>, fixed_shape<1, 2, 1, 2>>;
};

using nibbles = nibble_product<vnni_keys<sse41_registers>, fixed_shape<2, 1, 1, 1>, fixed_shape<1, 1, 1, 1>>;

} // namespace
// Prefill widens all panels once, as with AVX2.
const fixed_kernel fixed_sse41_kernel = fixed_kernel_of<stored, arranged>(
    FOVEA_FIXED_SSE41, sse41_widen_and_split, sse41_widen_and_split);
const fixed_product fixed_sse41_product = form_product<stored>::exact(FOVEA_FIXED_SSE41);
const fixed_layer fixed_sse41_layer = layer_of<form_product<stored>>::at(FOVEA_FIXED_SSE41);
const fixed_scaling fixed_sse41_scaling = fixed_scaling_of<nibbles>(FOVEA_FIXED_SSE41);
} // namespace fovea::fixed
#endif
