// Integer attention on bytes only: a program that calls it links no 16-bit attention.
#include "build.hpp"

#include "fixed/calls.hpp"

namespace fovea {
static constexpr fixed_offer bytes = fixed_offer_of_bytes(nullptr);
} // namespace fovea

int32_t fovea_fixed_attend_s8(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  return fovea::attend_fixed<fovea::bytes>(call, scratch, scratch_size);
}
