// Plain floats for cores without fused multiply-add: Arm before VFPv4, x86 before SSE4.1, cores without FPU.
// Every product is rounded before it is added, so this ISA carries no bit promise. fmaf of a C library would
// keep it, and be 5 to 17 times slower.
#include "common/build.hpp"

#if FOVEA_WITH_SCALAR_NO_FMA
#include "isa/operations.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {
namespace {
struct scalar_no_fma : no_fma_isa {
  static constexpr bool by_row = true;
};
} // namespace

template <>
struct registers_of<isa::scalar_no_fma> {
  using type = scalar_no_fma;
};
template struct operations<isa::scalar_no_fma>;

} // namespace fovea::f32
#endif
