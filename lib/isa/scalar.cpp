// Plain floats. On x86 this file is compiled for fma, and chosen only where the CPU has it.
#include "common/build.hpp"

#if FOVEA_WITH_SCALAR
#include "isa/operations.hpp"
#include "isa/scalar_isa.hpp"

namespace fovea::f32 {
namespace {
struct scalar : scalar_isa {
  static constexpr bool by_row = !FOVEA_HAS_SYSTEM;
};
} // namespace

template <>
struct registers_of<isa::scalar> {
  using type = scalar;
};
template struct operations<isa::scalar>;

} // namespace fovea::f32
#endif
