// From ISA to kernel: what this build holds and this CPU can run.
#include "common/build.hpp"

#include "f32/kernel.hpp"
#include "f32/plan.hpp"
#include "isa/table.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include "platforms/x86/cpu.hpp"
#elif defined(__linux__) && defined(__arm__)
#include "platforms/linux-arm/cpu.hpp"
#elif defined(__linux__) && defined(__riscv)
#include "platforms/linux-riscv/cpu.hpp"
#else
namespace fovea::f32 {
static bool cpu_runs(int32_t) { return true; } // what was compiled is what the core has
} // namespace fovea::f32
#endif

namespace fovea::f32 {
namespace {

// All tables have the order of the list, the best ISA last.
constexpr int32_t isas[] = {
#define FOVEA_ISA(name, constant, text) constant,
#include "isa/list.hpp"
};
constexpr int32_t isa_count = sizeof isas / sizeof *isas;

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

int32_t find_isa(int32_t isa) {
  if (!products_are_rounded()) return -1;
  for (int32_t place = isa_count - 1; place >= 0; --place)
    if ((isa == FOVEA_ISA_BEST || isas[place] == isa) && cpu_runs(isas[place])) return place;
  return -1;
}

// One table for attention, and one for each kind of job: a program that does not run such jobs links neither
// the table nor its kernels.
const attention_kernel& attention_at(int32_t place) {
  static const attention_kernel* const kernels[] = {
#define FOVEA_ISA(name, constant, text) &operations<isa::name>::attention,
#include "isa/list.hpp"
  };
  return *kernels[place];
}

const tile_kernel& tiles_at(int32_t place) {
  static const tile_kernel* const kernels[] = {
#define FOVEA_ISA(name, constant, text) &operations<isa::name>::tiles,
#include "isa/list.hpp"
  };
  return *kernels[place];
}

static const stored_forms& stored_forms_at(int32_t place) {
  static const stored_forms* const forms[] = {
#define FOVEA_ISA(name, constant, text) &operations<isa::name>::stored,
#include "isa/list.hpp"
  };
  return *forms[place];
}

const stored_forms& stored_forms_of(const plan& p) {
#if defined(__x86_64__) || defined(__i386__)
  const bool halves = p.stored.k.dtype != FOVEA_I8 && p.stored.v.dtype != FOVEA_I8;
  if (p.core.halves_by_avx2 && halves && p.rows <= 2 && isas[p.isa] == FOVEA_AVX512) {
    const int32_t avx2 = find_isa(FOVEA_AVX2);
    if (avx2 >= 0) return stored_forms_at(avx2);
  }
#endif
  return stored_forms_at(p.isa);
}

template <class Job>
void run_at(int32_t place, const Job& job) {
  static void (*const kernels[])(const Job&) = {
#define FOVEA_ISA(name, constant, text) operations<isa::name>::run,
#include "isa/list.hpp"
  };
  kernels[place](job);
}
template void run_at(int32_t place, const merge_job& job);
template void run_at(int32_t place, const pack_job& job);
template void run_at(int32_t place, const softmax_job& job);
template void run_at(int32_t place, const matvec_job& job);
template void run_at(int32_t place, const norm_job& job);
template void run_at(int32_t place, const activate_job& job);
template void run_at(int32_t place, const pool_job& job);
template void run_at(int32_t place, const rotate_job& job);
template void run_at(int32_t place, const product_job& job);
template void run_at(int32_t place, const finish_job& job);
template void run_at(int32_t place, const range_job& job);
template void run_at(int32_t place, const quantize_job& job);
template void run_at(int32_t place, const columns_job& job);
template void run_at(int32_t place, const plain_job& job);

#if defined(__x86_64__) || defined(__i386__)
core_profile profile_of_this_core() {
  if (cpu_has<read_cpu>(cpu_is_zen5)) return zen5_profile;
  if (cpu_has<read_cpu>(cpu_is_zen4)) return zen4_profile;
  if (cpu_has<read_cpu>(cpu_of_amd)) return amd_profile;
  return other_profile;
}
#endif

} // namespace fovea::f32

int32_t fovea_isa() {
  const int32_t place = fovea::f32::find_isa(FOVEA_ISA_BEST);
  return place < 0 ? 0 : fovea::f32::isas[place];
}

int32_t fovea_has_isa(int32_t isa) { return fovea::f32::find_isa(isa) >= 0; }
