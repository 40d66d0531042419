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

const fixed_product* const products[] = {
#define FOVEA_FIXED_ISA(name, constant, text) &fixed_##name##_product,
#include "isa/list.hpp"
};

const fixed_layer* const layers[] = {
#define FOVEA_FIXED_ISA(name, constant, text) &fixed_##name##_layer,
#include "isa/list.hpp"
};

const fixed_scaling* const scalings[] = {
#define FOVEA_FIXED_ISA(name, constant, text) &fixed_##name##_scaling,
#include "isa/list.hpp"
};

// The best that this machine runs, or exactly that one.
template <class T, size_t Count>
const T* find_in(const T* const (&table)[Count], int32_t isa) {
  for (size_t i = Count; i-- > 0;)
    if ((isa == FOVEA_FIXED_BEST || table[i]->isa == isa) && cpu_runs_fixed(table[i]->isa)) return table[i];
  return nullptr;
}

} // namespace

#if defined(__x86_64__) || defined(__i386__)
bool is_zen5() { return cpu_has<read_cpu>(cpu_is_zen5); }
#endif

const fixed_kernel* find_fixed_kernel(int32_t isa) { return find_in(kernels, isa); }
const fixed_product* find_fixed_product(int32_t isa) { return find_in(products, isa); }
const arranged_product* find_arranged_product(int32_t isa) {
#if FOVEA_WITH_FIXED_DSP
  if (find_in(products, isa)) return &fixed_dsp_arranged_product;
#endif
  static_cast<void>(isa);
  return nullptr;
}
const fixed_layer* find_fixed_layer(int32_t isa) { return find_in(layers, isa); }
const fixed_scaling* find_fixed_scaling(int32_t isa) { return find_in(scalings, isa); }

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
