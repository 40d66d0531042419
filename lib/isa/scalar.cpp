// Plain floats. On x86 this file is compiled for fma, and chosen only where the CPU has it.
// Who compiles without our CMake is told of two dangers on cores with Helium, which tools/cmake/isas.cmake averts.
#if defined(__ARM_FEATURE_MVE)
#if (__ARM_FEATURE_MVE & 2) && !defined(FOVEA_NO_FLOAT_VECTORS)
#error "Helium's floats flush denormals and lose NaN: compile fovea with -mcpu=cortex-m55+nomve.fp, or see FOVEA_EXACT in isas.cmake"
#endif
#if defined(__GNUC__) && !defined(__clang__) && !defined(FOVEA_NO_COUNTED_LOOPS)
#error "gcc loses conditions behind loops on this core: compile fovea with -fno-branch-count-reg -DFOVEA_NO_COUNTED_LOOPS=1, or with clang"
#endif
#endif
#include "isa/table.hpp"
#include "kernel/attend.hpp"
#include "kernel/scalar_isa.hpp"

namespace fovea {
namespace {
// A core with 32 registers holds 4 rows x 4 lanes; a tile walks the sixteen lanes of a panel in groups, and the chains stay the same.
struct scalar : scalar_isa {
  using shapes = shape_list<shape<4, 1, 4>, shape<2, 1, 8>, shape<1, 1, 8>>;
  static constexpr int rows = 24, rows_beside = 0;
};
} // namespace
const kernel scalar_kernel = kernel_of<scalar>(FOVEA_SCALAR);
} // namespace fovea
