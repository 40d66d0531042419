// From ISA to integer kernel: what this build holds and this CPU can run.
#include "common/build.hpp"

#include "isa/fixed_table.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include "platforms/x86/fixed_cpu.hpp"
#elif defined(__aarch64__)
#include "platforms/arm64/fixed_cpu.hpp"
#elif defined(__linux__) && defined(__arm__)
#include "platforms/linux-arm/fixed_cpu.hpp"
#else
namespace fovea::fixed {
static bool cpu_runs_fixed(int32_t) { return true; } // what was compiled is what the core has
} // namespace fovea::fixed
#endif

namespace fovea::fixed {
namespace {

const fixed_kernel* const kernels[] = {
// the best last
#define FOVEA_FIXED_ISA(name, constant, text) &fixed_##name##_kernel,
#include "isa/list.hpp"
};

} // namespace

const fixed_kernel* find_fixed_kernel(int32_t isa) {
  for (int i = static_cast<int>(sizeof kernels / sizeof *kernels) - 1; i >= 0; --i)
    if ((isa == FOVEA_FIXED_BEST || kernels[i]->isa == isa) && cpu_runs_fixed(kernels[i]->isa))
      return kernels[i];
  return nullptr;
}

} // namespace fovea::fixed

int32_t fovea_fixed_isa() {
  const fovea::fixed::fixed_kernel* k = fovea::fixed::find_fixed_kernel(FOVEA_FIXED_BEST);
  return k ? k->isa : 0;
}

int32_t fovea_fixed_has_isa(int32_t isa) { return fovea::fixed::find_fixed_kernel(isa) != nullptr; }

const char* fovea_fixed_isa_name(int32_t isa) {
  switch (isa) {
    case FOVEA_FIXED_BEST:
      return "best";
#define FOVEA_FIXED_ISA(name, constant, text) \
  case constant:                              \
    return text;
#define FOVEA_ALL_ISAS 1
#include "isa/list.hpp"
    default:
      return "unknown";
  }
}
