// From ISA to kernel: what this build holds and this CPU can run.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "isa/table.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include "platforms/x86/cpu.hpp"
#elif defined(__linux__) && defined(__arm__)
#include "platforms/linux-arm/cpu.hpp"
#else
namespace fovea::f32 {
static bool cpu_runs(int32_t) { return true; } // what was compiled is what the core has
} // namespace fovea::f32
#endif

namespace fovea::f32 {
namespace {

const kernel* const kernels[] = {
// the best last
#if FOVEA_WITH_SCALAR_NO_FMA
    &scalar_no_fma_kernel,
#endif
#if FOVEA_WITH_SCALAR
    &scalar_kernel,
#endif
#if FOVEA_WITH_SSE41
    &sse41_kernel,
#endif
#if FOVEA_WITH_AVX2
    &avx2_kernel,
#endif
#if FOVEA_WITH_AVX512
    &avx512_kernel,
#endif
#if FOVEA_WITH_NEON
    &neon_kernel,
#endif
#if FOVEA_WITH_NEON64
    &neon64_kernel,
#endif
};

#if defined(__clang__) && !FOVEA_EXACT_FLAGS
// No macro shows clang's -ffp-contract=fast, and no pragma undoes it. 1 + 2^-11 + 2^-24 is the exact square.
bool products_are_rounded() {
  volatile float x = 1 + 0x1p-12f, rounded = 1 + 0x1p-11f;
  const float y = x;
  return y * y - rounded == 0;
}
#else
constexpr bool products_are_rounded() { return true; }
#endif

} // namespace

const kernel* find_kernel(int32_t isa) {
  if (!products_are_rounded()) return nullptr;
  for (int i = static_cast<int>(sizeof kernels / sizeof *kernels) - 1; i >= 0; --i)
    if ((isa == FOVEA_ISA_BEST || kernels[i]->isa == isa) && cpu_runs(kernels[i]->isa)) return kernels[i];
  return nullptr;
}

core_profile profile_of_this_core() {
#if defined(__x86_64__) || defined(__i386__)
  if (cpu_has<read_cpu>(cpu_of_amd)) return amd_profile;
#endif
  return other_profile;
}

} // namespace fovea::f32

int32_t fovea_isa() {
  const fovea::f32::kernel* k = fovea::f32::find_kernel(FOVEA_ISA_BEST);
  return k ? k->isa : 0;
}

int32_t fovea_has_isa(int32_t isa) { return fovea::f32::find_kernel(isa) != nullptr; }
