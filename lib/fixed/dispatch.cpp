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
#if FOVEA_WITH_FIXED_SCALAR
    &fixed_scalar_kernel,
#endif
#if FOVEA_WITH_FIXED_CORTEX_M
    &fixed_cortex_m_kernel,
#endif
#if FOVEA_WITH_FIXED_AVX2
    &fixed_avx2_kernel,
#endif
#if FOVEA_WITH_FIXED_AVXVNNI
    &fixed_avxvnni_kernel,
#endif
#if FOVEA_WITH_FIXED_AVX512VNNI
    &fixed_avx512vnni_kernel,
#endif
#if FOVEA_WITH_FIXED_NEON
    &fixed_neon_kernel,
#endif
#if FOVEA_WITH_FIXED_DOTPROD
    &fixed_dotprod_kernel,
#endif
#if FOVEA_WITH_FIXED_I8MM
    &fixed_i8mm_kernel,
#endif
};

const char* const names[] = {"best",    "scalar", "avx2",  "avxvnni", "avx512vnni", "neon",
                             "dotprod", "i8mm",   "thumb", "dsp",     "helium"};
static_assert(sizeof names / sizeof *names == FOVEA_FIXED_ISA_END);

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
  return isa >= 0 && isa < FOVEA_FIXED_ISA_END ? fovea::fixed::names[isa] : "unknown";
}
