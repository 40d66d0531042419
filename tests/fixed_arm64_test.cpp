// Which integer kernels a 64-bit Arm core gets, from what systems say of it. The systems are played: this
// runs on any machine.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "platforms/arm64/fixed_isas.hpp"

namespace {

struct core {
  const char* why;
  bool dotprod, i8mm;
  int32_t best;
};
const core cores[] = {
    {"Cortex-A53, A72: NEON only", false, false, FOVEA_FIXED_NEON},
    {"Cortex-A76, Apple M1: dot products, and no i8mm", true, false, FOVEA_FIXED_DOTPROD},
    {"Apple M2, Neoverse V1: both", true, true, FOVEA_FIXED_I8MM},
    {"a virtual machine that hides dot products: the kernel of i8mm needs them", false, true,
     FOVEA_FIXED_NEON},
};

void check(uint32_t isas, const core& c) {
  const auto has = [&](int32_t isa) { return (isas >> isa & 1) == 1; };
  CHECK(has(FOVEA_FIXED_SCALAR));
  CHECK(has(FOVEA_FIXED_NEON));
  CHECK(has(FOVEA_FIXED_DOTPROD) == (c.best >= FOVEA_FIXED_DOTPROD));
  CHECK(has(FOVEA_FIXED_I8MM) == (c.best == FOVEA_FIXED_I8MM));
  const uint32_t known = 1u << FOVEA_FIXED_SCALAR | 1u << FOVEA_FIXED_NEON | 1u << FOVEA_FIXED_DOTPROD |
                         1u << FOVEA_FIXED_I8MM;
  CHECK((isas & ~known) == 0);
}

} // namespace

TEST_CASE("64-bit Arm: no kernel is chosen that the core lacks") {
  for (const core& c : cores) {
    INFO(std::string(c.why));
    const unsigned long other_bits = ~(1ul << 20 | 1ul << 13);
    check(fovea::fixed_isas_of_hwcaps(c.dotprod ? 1ul << 20 : 0, c.i8mm ? 1ul << 13 : 0), c);
    check(fovea::fixed_isas_of_hwcaps((c.dotprod ? 1ul << 20 : 0) | other_bits,
                                      (c.i8mm ? 1ul << 13 : 0) | other_bits),
          c);
    check(fovea::fixed_isas_of_sysctl([&](const char* name) {
            if (std::strcmp(name, "hw.optional.arm.FEAT_DotProd") == 0) return int{c.dotprod};
            if (std::strcmp(name, "hw.optional.arm.FEAT_I8MM") == 0) return int{c.i8mm};
            return 1;
          }),
          c);
    check(fovea::fixed_isas_of_windows([&](unsigned long feature) {
            const unsigned long dotprod = 43, i8mm = 66;
            return int{feature == dotprod ? c.dotprod : feature == i8mm ? c.i8mm : true};
          }),
          c);
  }
}

TEST_CASE("64-bit Arm: a system that knows no names leaves NEON") {
  check(fovea::fixed_isas_of_sysctl([](const char*) { return 0; }), cores[0]);
  check(fovea::fixed_isas_of_windows([](unsigned long) { return 0; }), cores[0]);
}
