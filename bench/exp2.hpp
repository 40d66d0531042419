// The power of two of the attention kernels, alone: 2^x of many numbers. CMake makes a file of exp2.cpp.in
// for each ISA.
#pragma once
#include <cstdint>

namespace bench {

struct exp2_kernel {
  int32_t isa;
  void (*run)(const float* in, float* out,
              int32_t count); // count is a multiple of 16, no number is above 127
};
extern const exp2_kernel exp2_kernels[]; // the last one has isa 0

} // namespace bench
