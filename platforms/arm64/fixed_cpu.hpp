// Which integer ISAs this 64-bit Arm core can run, as its system tells it. The kernels' own files are
// compiled for more than every core has; this one is not.
#pragma once
#include "platforms/arm64/fixed_isas.hpp"
#include "platforms/cpu_has.hpp"

#if defined(__linux__)
#include <sys/auxv.h>
#elif defined(__APPLE__)
extern "C" int sysctlbyname(const char* name, void* value, size_t* size, void* new_value, size_t new_size);
#elif defined(_WIN32)
extern "C" __declspec(dllimport) int __stdcall IsProcessorFeaturePresent(unsigned long feature);
#elif (defined(__FreeBSD__) || defined(__OpenBSD__)) && __has_include(<sys/auxv.h>)
#include <sys/auxv.h>
#define FOVEA_ASKS_ELF_AUX_INFO 1
#endif

namespace fovea {

inline uint32_t read_fixed_cpu() {
#if defined(__linux__)
  return fixed_isas_of_hwcaps(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#elif defined(__APPLE__)
  const auto ask = [](const char* name) {
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;
  };
  return fixed_isas_of_sysctl(ask) | fixed_isas_of_compiler();
#elif defined(_WIN32)
  return fixed_isas_of_windows([](unsigned long feature) { return IsProcessorFeaturePresent(feature); }) |
         fixed_isas_of_compiler();
#elif FOVEA_ASKS_ELF_AUX_INFO
  unsigned long hwcap = 0, hwcap2 = 0;
  if (elf_aux_info(AT_HWCAP, &hwcap, sizeof hwcap) != 0) hwcap = 0;
  if (elf_aux_info(AT_HWCAP2, &hwcap2, sizeof hwcap2) != 0) hwcap2 = 0;
  return fixed_isas_of_hwcaps(hwcap, hwcap2) | fixed_isas_of_compiler();
#else
  return fixed_isas_of_compiler();
#endif
}

inline bool cpu_runs_fixed(int32_t isa) { return cpu_has<read_fixed_cpu>(isa); }

} // namespace fovea
