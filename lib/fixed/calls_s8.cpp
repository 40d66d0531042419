// Integer attention on bytes only: a program that calls it links no 16-bit attention.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "fixed/calls.hpp"

namespace fovea::fixed {
static constexpr fixed_offer bytes = fixed_offer_of_bytes(nullptr);
} // namespace fovea::fixed

int32_t fovea_fixed_attend_s8(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  return fovea::fixed::attend_fixed<fovea::fixed::bytes>(call, scratch, scratch_size);
}
