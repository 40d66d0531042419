// From a call to the kernels of one ISA.
#pragma once
#include <cstdint>

namespace fovea::f32 {

// Which of the ISAs that this build holds serves a call: its place in all tables of kernels, the best last.
// Negative: this machine or this build has it not.
int32_t find_isa(int32_t isa);

// Runs a job on the ISA at a place. isa/table.hpp has the kinds of jobs; each links its own kernels only.
template <class Job>
void run_at(int32_t place, const Job& job);

} // namespace fovea::f32
