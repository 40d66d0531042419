// Integer attention with AVX2: sixteen registers; 6 rows x 16 lanes of bytes or two deep take twelve, and so
// do 6 rows x 8 lanes four deep in halves.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_AVX2
#include "fixed/attend.hpp"
#include "fixed/dot/avx2_bytes.hpp"
#include "fixed/dot/avx2_weights.hpp"
#include "fixed/dot/pack_avx2.hpp"
#include "fixed/multiply.hpp"
#include "fixed/nibbles.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct stored : avx2_registers {
  using writer = register_writer<stored>;
  using weigher = avx2_weigher;
  using key_byte = int8_t;
  using value_byte = int8_t;
  using keys_dot = avx2_keys;
  using values_dot = avx2_quads;
  using shapes = fixed_shapes<fixed_shape<6, 1, 6, 1>, fixed_shape<4, 1, 4, 1>, fixed_shape<3, 1, 3, 1, 8192>,
                              fixed_shape<2, 1, 2, 2, 8192>, fixed_shape<1, 2, 1, 2>>;
};

// Linear layers: weights are one stream, which cores prefetch by themselves.
struct linear : stored {
  using shapes = fixed_shapes<fixed_shape<6, 1, 6, 1>, fixed_shape<4, 1, 4, 1>, fixed_shape<3, 1, 3, 1>,
                              fixed_shape<2, 1, 2, 2>, fixed_shape<1, 2, 1, 2>>;
};

struct arranged : avx2_registers {
  using writer = register_writer<arranged>;
  using weigher = avx2_weigher;
  using key_byte = two_deep;
  using value_byte = two_deep;
  using keys_dot = avx2_pairs;
  using values_dot = avx2_pairs;
  using shapes = fixed_shapes<fixed_shape<6, 1, 6, 1>, fixed_shape<4, 1, 4, 1>, fixed_shape<2, 2, 2, 2>,
                              fixed_shape<1, 4, 1, 4>>;
};

struct nibble_dot : vnni_keys<avx2_byte_registers> {};
using nibbles =
    nibble_product<nibble_dot, fixed_shape<4, 1, 1, 1>, fixed_shape<2, 1, 1, 1>, fixed_shape<1, 1, 1, 1>>;

} // namespace
// Prefill widens all panels once: a widening load of values has an instruction more than a plain one, and
// products of bytes need a register more, which six rows do not leave.
const fixed_kernel fixed_avx2_kernel = fixed_kernel_of<stored, arranged>(
    FOVEA_FIXED_AVX2, {avx2_panels::pack_keys, avx2_panels::pack_values},
    {avx2_panels::pack_key_words, avx2_panels::pack_value_words, sizeof(two_deep), sizeof(two_deep)}, 4);
const fixed_product fixed_avx2_product = form_product<linear>::exact(FOVEA_FIXED_AVX2);
const fixed_layer fixed_avx2_layer = layer_of<form_product<linear>>::at(FOVEA_FIXED_AVX2);
const fixed_scaling fixed_avx2_scaling = fixed_scaling_of<nibbles>(FOVEA_FIXED_AVX2);
} // namespace fovea::fixed
#endif
