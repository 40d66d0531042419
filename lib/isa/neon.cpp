// 32-bit Arm with NEON and fma: sixteen registers of four lanes.
#include "common/build.hpp"

#if FOVEA_WITH_NEON
#include "f32/kernel/attend.hpp"
#include "isa/neon_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
struct neon : neon_isa {
  using shapes = shape_list<shape<2, 1>, shape<1, 2>>;
  static constexpr int rows = 24, batched_rows = 32;
};
} // namespace
const kernel neon_kernel = kernel_of<neon>(FOVEA_NEON);
} // namespace fovea::f32
#endif
