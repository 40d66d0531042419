// The least of integer attention: bytes, K and V in panels, integer output, no tables. A program that calls
// it links nothing else.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "fixed/calls.hpp"

namespace fovea::fixed {
static constexpr fixed_offer plain{};
} // namespace fovea::fixed

int32_t fovea_fixed_attend_plain(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  return fovea::fixed::attend_fixed<fovea::fixed::plain>(call, scratch, scratch_size);
}
