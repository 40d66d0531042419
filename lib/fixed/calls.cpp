// The calls of integer attention that offer everything.
#define FOVEA_SOURCE_FOR_SIZE 1
#include "common/build.hpp"

#include "fixed/calls.hpp"

#include "isa/fixed_table.hpp"

namespace fovea::fixed {
namespace {

#if FOVEA_WITH_FIXED_S16
constexpr const fixed_kernel* s16 = &fixed_s16_kernel;
#else
constexpr const fixed_kernel* s16 = nullptr;
#endif
constexpr fixed_offer all = fixed_offer_of_bytes(s16);

} // namespace
} // namespace fovea::fixed

int32_t fovea_fixed_attend(const fovea_fixed_attention* call, void* scratch, size_t scratch_size) {
  return fovea::fixed::attend_fixed<fovea::fixed::all>(call, scratch, scratch_size);
}

int32_t fovea_fixed_check(const fovea_fixed_attention* call) {
  fovea::fixed::fixed_plan p;
  return fovea::fixed::make_fixed_plan<fovea::fixed::all>(call, p);
}

size_t fovea_fixed_scratch(const fovea_fixed_attention* call) {
  return fovea::scratch_of(call, fovea::fixed::make_fixed_plan<fovea::fixed::all>,
                           fovea::fixed::least_fixed_scratch<fovea::fixed::all>);
}
size_t fovea_fixed_scratch_best(const fovea_fixed_attention* call) {
  return fovea::scratch_of(call, fovea::fixed::make_fixed_plan<fovea::fixed::all>,
                           fovea::fixed::best_fixed_scratch<fovea::fixed::all>);
}
