// Cortex-M55 and M85 with Helium's floats. The other files of floats are compiled without them.
#include "common/build.hpp"

#if FOVEA_WITH_HELIUM
#include "isa/helium_isa.hpp"
#include "isa/operations.hpp"

namespace fovea::f32 {
namespace {
struct helium : helium_isa {};
} // namespace

template <>
struct registers_of<isa::helium> {
  using type = helium;
};
template struct operations<isa::helium>;

} // namespace fovea::f32
#endif
