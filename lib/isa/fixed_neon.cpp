// Integer attention on every 64-bit Arm: 32 registers; one row x 16 lanes takes sixteen, since each lane has a register.
#include "dot/neon.hpp"
#include "fixed/arrange.hpp"
#include "fixed/attend.hpp"
#include "isa/fixed_table.hpp"

namespace fovea {
namespace {

template <class Byte>
struct neon : neon_registers {
  using byte = Byte;
  using weigher = neon_word_weigher;
  using keys_dot = neon_dot;
  using values_dot = neon_dot;
  using shapes = fixed_shapes<fixed_shape<1, 1, 1, 1>>;
};

} // namespace
// A widening load costs as much as a product: panels are arranged as 16 bits.
const fixed_kernel fixed_neon_kernel = fixed_kernel_of<neon<int8_t>, neon<int16_t>>(FOVEA_FIXED_NEON, widen);
} // namespace fovea
