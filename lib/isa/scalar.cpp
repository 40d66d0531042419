// Plain floats. On x86 this file is compiled for fma, and chosen only where the CPU has it.
#include "common/build.hpp"

#include "f32/kernel/attend.hpp"
#include "isa/scalar_isa.hpp"
#include "isa/table.hpp"

namespace fovea::f32 {
namespace {
// A core with 32 registers holds 4 rows x 4 lanes; a tile walks the sixteen lanes of a panel in groups, and
// the chains stay the same.
struct scalar : scalar_isa {
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  static constexpr int rows = 24, batched_rows = 0;
};
} // namespace
const kernel scalar_kernel = kernel_of<scalar>(FOVEA_SCALAR);
} // namespace fovea::f32
