// The choice of ISA in fovea_tests.
#include <cstdio>
#include <cstring>

#include "isa_choice.hpp"
#include "isas.hpp"
#include "report.hpp"

void isa_choice::list() {
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa) == 1) std::printf("%s\n", fovea_isa_name(isa));
}

bool isa_choice::choose(const char* name) {
  for (int32_t isa = FOVEA_SCALAR; isa < FOVEA_ISA_END; ++isa)
    if (fovea_has_isa(isa) == 1 && std::strcmp(name, fovea_isa_name(isa)) == 0) isas::only() = isa;
  return isas::only() != FOVEA_ISA_BEST;
}

const char* isa_choice::name() {
  return isas::only() == FOVEA_ISA_BEST ? "all" : fovea_isa_name(isas::only());
}

void report::digest(int32_t isa, uint64_t value) {
  digest(fovea_isa_name(isa), isas::promises_bits(isa), value);
}
