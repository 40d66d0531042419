// Integer attention with AVX-512 VNNI: 32 registers; 12 rows x 32 keys take 24, and so do 3 rows x 64 values
// with weights of two bytes. Two and three rows read two panels at a time: memory answers two streams sooner
// than four.
#include "common/build.hpp"

#if FOVEA_WITH_FIXED_AVX512VNNI
#include "fixed/attend.hpp"
#include "fixed/dot/avx512vnni.hpp"
#include "fixed/dot/pack_avx2.hpp"
#include "fixed/multiply.hpp"
#include "fixed/nibbles.hpp"
#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

struct stored : avx512_registers {
  using writer = register_writer<stored>;
  using weigher = avx512_weigher;
  using key_byte = int8_t;
  using value_byte = int8_t;
  using keys_dot = avx512vnni_keys;
  using values_dot = avx512vnni_values;
  using shapes = fixed_shapes<fixed_shape<12, 2, 3, 4>, fixed_shape<8, 2, 4, 2>,
                              fixed_shape<4, 4, 4, 2, 8192>, fixed_shape<3, 2, 3, 2, 8192>,
                              fixed_shape<2, 2, 2, 2, 8192>, fixed_shape<1, 4, 1, 4, 8192>>;
};

// Linear layers: up to eight rows read the weights once.
struct linear : stored {
  using shapes = fixed_shapes<fixed_shape<12, 2, 1, 1>, fixed_shape<8, 2, 1, 1>, fixed_shape<7, 2, 1, 1>,
                              fixed_shape<6, 4, 1, 1>, fixed_shape<5, 4, 1, 1>, fixed_shape<4, 4, 1, 1>,
                              fixed_shape<3, 4, 1, 1>, fixed_shape<2, 4, 1, 1>, fixed_shape<1, 4, 1, 1>>;
};

struct arranged : stored {
  using value_byte = two_deep;
  using values_dot = word_pairs<avx512_registers>;
  using shapes = fixed_shapes<fixed_shape<12, 2, 6, 4>, fixed_shape<8, 2, 4, 4>, fixed_shape<4, 4, 4, 4>,
                              fixed_shape<2, 4, 2, 4>, fixed_shape<1, 4, 1, 4>>;
};

struct nibble_dot : avx512vnni_keys {};
using nibbles = nibble_product<nibble_dot, fixed_shape<8, 1, 1, 1>, fixed_shape<6, 1, 1, 1>,
                               fixed_shape<5, 1, 1, 1>, fixed_shape<4, 1, 1, 1>, fixed_shape<3, 1, 1, 1>,
                               fixed_shape<2, 1, 1, 1>, fixed_shape<1, 1, 1, 1>>;

} // namespace
const fixed_kernel fixed_avx512vnni_kernel = fixed_kernel_of<stored, arranged>(
    FOVEA_FIXED_AVX512VNNI, {avx2_panels::pack_keys, avx2_panels::pack_values},
    {avx2_panels::pack_keys, avx2_panels::pack_value_words, 1, sizeof(two_deep)}, 4);
const fixed_product fixed_avx512vnni_product = form_product<linear, 4>::exact(FOVEA_FIXED_AVX512VNNI);
const fixed_layer fixed_avx512vnni_layer = layer_of<form_product<linear, 4>>::at(FOVEA_FIXED_AVX512VNNI);
const fixed_scaling fixed_avx512vnni_scaling = fixed_scaling_of<nibbles>(FOVEA_FIXED_AVX512VNNI);
} // namespace fovea::fixed
#endif
