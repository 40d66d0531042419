// From a call to the kernels of one ISA.
#pragma once
#include <cstdint>

#include "common/validate.hpp"

namespace fovea::f32 {

// Which of the ISAs that this build holds serves a call: its place in all tables of kernels, the best last.
// Negative: this machine or this build has it not.
int32_t find_isa(int32_t isa);

// Runs a job on the ISA at a place. isa/table.hpp has the kinds of jobs; each links its own kernels only.
template <class Job>
void run_at(int32_t place, const Job& job);

// The last step of a public call: runs its job on the ISA that it names, or refuses it.
template <class Job>
inline int32_t run_on(int32_t isa, const Job& job) {
  const int32_t place = find_isa(isa);
  if (place < 0) return refusal(FOVEA_UNSUPPORTED, FOVEA_ARG_ISA);
  run_at(place, job);
  return FOVEA_OK;
}

} // namespace fovea::f32
