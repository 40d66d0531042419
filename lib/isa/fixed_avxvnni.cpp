// Integer attention with AVX-VNNI: sixteen registers; 6 rows x 16 keys take twelve, and so do 6 rows x 8
// values in halves.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_AVXVNNI
#include "fixed/attend.hpp"
#include "fixed/dot/avxvnni.hpp"
#include "fixed/dot/pack_avx2.hpp"
#include "fixed/multiply.hpp"
#include "fixed/nibbles.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct stored : avxvnni_registers {
  using writer = register_writer<stored>;
  using weigher = avx2_weigher;
  using key_byte = int8_t;
  using value_byte = int8_t;
  using keys_dot = avxvnni_keys;
  using values_dot = avxvnni_values;
  using shapes = fixed_shapes<fixed_shape<6, 1, 6, 1>, fixed_shape<4, 1, 4, 1>, fixed_shape<2, 2, 2, 2>,
                              fixed_shape<1, 2, 1, 2>>;
};

struct arranged : stored {
  using value_byte = two_deep;
  using values_dot = word_pairs<avxvnni_registers>;
};

struct nibble_dot : avxvnni_keys {};
using nibbles =
    nibble_product<nibble_dot, fixed_shape<4, 1, 1, 1>, fixed_shape<2, 1, 1, 1>, fixed_shape<1, 1, 1, 1>>;

} // namespace
const fixed_kernel fixed_avxvnni_kernel = fixed_kernel_of<stored, arranged>(
    FOVEA_FIXED_AVXVNNI, {avx2_panels::pack_keys, avx2_panels::pack_values},
    {avx2_panels::pack_keys, avx2_panels::pack_value_words, 1, sizeof(two_deep)}, 4);
const fixed_product fixed_avxvnni_product = form_product<stored>::exact(FOVEA_FIXED_AVXVNNI);
const fixed_layer fixed_avxvnni_layer = layer_of<form_product<stored>>::at(FOVEA_FIXED_AVXVNNI);
const fixed_scaling fixed_avxvnni_scaling = fixed_scaling_of<nibbles>(FOVEA_FIXED_AVXVNNI);
} // namespace fovea::fixed
#endif
