// Which kernels a machine may run: the best one is found, each one that the core lacks is refused. The core
// is asked anew, by cpuid.
#include <doctest/doctest.h>

#include "fovea/fixed.h"
#include "fovea/fovea.h"
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__linux__) && defined(__riscv)
#include <sys/auxv.h>
#endif

namespace {

// The kernels that the build put into the library, the best last: tests/CMakeLists.txt says which. (A
// microcontroller has one kernel of integers; this file is compiled for the same core.)
constexpr int32_t held[] = {
#define FOVEA_ISA(name, constant, text) constant,
#include "isa/list.hpp"
};
constexpr int32_t fixed_held[] = {
#define FOVEA_FIXED_ISA(name, constant, text) constant,
#include "isa/list.hpp"
};

template <size_t Count>
int32_t best_of(const int32_t (&isas)[Count], int32_t (*has)(int32_t)) {
  for (size_t i = Count; i-- > 0;)
    if (has(isas[i]) == 1) return isas[i];
  return 0;
}

template <size_t Count>
bool holds(const int32_t (&isas)[Count], int32_t isa) {
  for (int32_t each : isas)
    if (each == isa) return true;
  return false;
}

#if defined(__x86_64__)
// Bit `bit` of register 0 = eax, 1 = ebx, 2 = ecx, 3 = edx of a leaf; every core that runs these tests has an
// operating system that saves its registers.
bool cpuid_bit(unsigned leaf, unsigned part, int which, int bit) {
  unsigned r[4] = {};
  return __get_cpuid_count(leaf, part, &r[0], &r[1], &r[2], &r[3]) != 0 && (r[which] >> bit & 1) != 0;
}
#endif

} // namespace

TEST_CASE("the_best_isa_that_the_machine_has_is_found") {
  CHECK(fovea_isa() == best_of(held, fovea_has_isa));
  CHECK(fovea_fixed_isa() == best_of(fixed_held, fovea_fixed_has_isa));
  CHECK((fovea_isa() != 0 && fovea_fixed_isa() != 0));
  CHECK((fovea_has_isa(FOVEA_ISA_BEST) == 1 && fovea_fixed_has_isa(FOVEA_FIXED_BEST) == 1));
  const int32_t strays[] = {-1, INT32_MIN, INT32_MAX, FOVEA_ISA_END},
                fixed_strays[] = {-1, INT32_MIN, INT32_MAX, FOVEA_FIXED_ISA_END};
  for (int32_t isa : strays) CHECK(fovea_has_isa(isa) == 0);
  for (int32_t isa : fixed_strays) CHECK(fovea_fixed_has_isa(isa) == 0);
}

TEST_CASE("an_isa_that_the_core_lacks_is_refused") {
#if defined(__x86_64__)
  const bool fma = cpuid_bit(1, 0, 2, 12), sse41 = cpuid_bit(1, 0, 2, 19), avx2 = cpuid_bit(7, 0, 1, 5);
  const bool avx512 = cpuid_bit(7, 0, 1, 16) && cpuid_bit(7, 0, 1, 17) && cpuid_bit(7, 0, 1, 28) &&
                      cpuid_bit(7, 0, 1, 31);
  const bool avx512vnni = avx512 && cpuid_bit(7, 0, 1, 30) && cpuid_bit(7, 0, 2, 11),
             avxvnni = cpuid_bit(7, 1, 0, 4);
  CHECK((fma || fovea_isa() == FOVEA_SSE41 || fovea_isa() == FOVEA_SCALAR));
  const auto offered = [](bool of_core, int32_t isa) {
    return (fovea_has_isa(isa) == 1) == (of_core && holds(held, isa));
  };
  const auto fixed_offered = [](bool of_core, int32_t isa) {
    return (fovea_fixed_has_isa(isa) == 1) == (of_core && holds(fixed_held, isa));
  };
  CHECK(offered(sse41, FOVEA_SSE41));
  CHECK(offered(avx2, FOVEA_AVX2));
  CHECK(offered(avx512, FOVEA_AVX512));
  CHECK(fixed_offered(sse41, FOVEA_FIXED_SSE41));
  CHECK(fixed_offered(avx2, FOVEA_FIXED_AVX2));
  CHECK(fixed_offered(avxvnni, FOVEA_FIXED_AVXVNNI));
  CHECK(fixed_offered(avx512vnni, FOVEA_FIXED_AVX512VNNI));
  CHECK((!fma || fovea_has_isa(FOVEA_SCALAR) == 1));
  CHECK(fovea_fixed_has_isa(FOVEA_FIXED_SCALAR) == 1);
  const int32_t foreign = FOVEA_NEON64, fixed_foreign = FOVEA_FIXED_NEON;
#else
#if defined(__linux__) && defined(__riscv)
  const bool has_vectors = getauxval(AT_HWCAP) >> ('V' - 'A') & 1; // no emulated core has the draft of them
  CHECK((fovea_has_isa(FOVEA_RVV) == 1) == (has_vectors && holds(held, FOVEA_RVV)));
  CHECK(fovea_has_isa(FOVEA_SCALAR) == 1);
#endif
  const int32_t foreign = FOVEA_AVX2, fixed_foreign = FOVEA_FIXED_AVX2;
#endif
  CHECK((fovea_has_isa(foreign) == 0 && fovea_fixed_has_isa(fixed_foreign) == 0));
  float numbers[2] = {}, out = 7;
  fovea_attention a = {};
  a.q.data = a.k.data = a.v.data = numbers, a.out.data = &out;
  a.q_heads = a.dim = a.queries = a.keys = 1, a.isa = foreign;
  unsigned char scratch[FOVEA_SCRATCH(1, 1)];
  CHECK(fovea_attend(&a, scratch, sizeof scratch) == (FOVEA_UNSUPPORTED | FOVEA_ARG_ISA << 8));
  CHECK(out == 7);
  signed char bytes[16] = {}, result = 7;
  fovea_fixed_attention b = {};
  b.q.data = b.k.data = b.v.data = bytes, b.out.data = &result;
  b.q_heads = b.dim = b.queries = b.keys = 1, b.isa = fixed_foreign;
  b.scale = {1, 31, 0, 1, 0, 0};
  CHECK(fovea_fixed_check(&b) == (FOVEA_UNSUPPORTED | FOVEA_ARG_ISA << 8));
  b.isa = FOVEA_FIXED_BEST;
  CHECK(fovea_fixed_check(&b) == FOVEA_OK);
  CHECK(result == 7);
}
