// Integer attention on every 64-bit Arm: 32 registers; one row x 16 lanes takes sixteen, since each lane has a register.
#include "dot/neon.hpp"
#include "fixed/attend.hpp"
#include "fixed/widen.hpp"
#include "isa/fixed_table.hpp"

namespace fovea {
namespace {

struct neon : neon_registers {
  using arranged = int16_t; // a widening load costs as much as a product
  static constexpr auto arrange = widen;
  using keys_dot = neon_dot;
  using values_dot = neon_dot;
  using shapes = fixed_shapes<fixed_shape<1, 1, 1, 1>>;

  template <bool Octaves>
  static FOVEA_INLINE bool weigh(const int32_t* s, const fovea_fixed_scale& scale, int32_t reference, int16_t* p, int32_t* sum,
                                 const int16_t* by) {
    return neon_weights::weigh<Octaves>(s, scale, reference, sum, by, [&](int j, int16x8_t y0, int16x8_t y1) FOVEA_LAMBDA_INLINE {
      vst1q_s16(p + j, y0);
      vst1q_s16(p + j + 8, y1);
    });
  }
};

} // namespace
const fixed_kernel fixed_neon_kernel = fixed_kernel_of<neon>(FOVEA_FIXED_NEON, fixed_unit_rows);
} // namespace fovea
